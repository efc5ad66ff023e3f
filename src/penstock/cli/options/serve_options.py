"""The words of `penstock serve`, and those that `run --serve` shares with it."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config

HOST, PORT = "127.0.0.1", 8484
DATASETS = 100


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "serve",
        help="answer for metrics and health, from the lake alone",
        description="Answer HTTP requests for metrics, health and the state of the feeds, which "
        "are read from the lake: no feed has to run here, and nothing is written. Other machines "
        "can ask only if --host lets them, which needs a token. Ctrl-C and SIGTERM end it with 0.",
        epilog="example: penstock serve --port 8484",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    with_address(command)
    with_config(command)
    command.set_defaults(command=Later("penstock.cli.commands.serve:run"))


def with_address(command: argparse.ArgumentParser) -> None:
    """Add the options that say where and how to answer."""
    command.add_argument("--host", metavar="H", help=f"the address to listen on (default: {HOST})")
    command.add_argument(
        "--port", type=int, metavar="P", help=f"the port (default: {PORT}; 0: any that is free)"
    )
    token = command.add_mutually_exclusive_group()
    token.add_argument(
        "--token-file", metavar="F", help="who asks has to show the token in this file"
    )
    token.add_argument(
        "--token", metavar="REF", help="the same, as a reference such as '${env:NAME}'"
    )
    command.add_argument(
        "--most-datasets",
        type=int,
        metavar="N",
        help=f"so many datasets of a feed have metrics of their own (default: {DATASETS})",
    )
    command.add_argument(
        "--partitions", action="store_true", help="show partitions one by one in the metrics"
    )
