"""The words of `penstock audit`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.offset_arguments import ago, at_time
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "audit",
        help="prove what was delivered",
        description="Check the journal from its first entry, that every offset is accounted for "
        "once, and that every file is there with the recorded size and no other. With --deep "
        "also read every row of every file, and compare with what Kafka still has. Prints a "
        "receipt per feed; exit code 4 if anything differs.",
        epilog="example: penstock audit events --deep --since 1d",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument(
        "--deep",
        action="store_true",
        help="read every row of every file, and Kafka again; starts Spark",
    )
    command.add_argument(
        "--since",
        type=since,
        metavar="TIME",
        help="with --deep: only what was decided since, such as 2h, 1d or 2026-11-01T00:00:00Z",
    )
    command.add_argument(
        "--dataset",
        default="",
        metavar="D",
        help="with --deep: only the files of this dataset; Kafka is not asked",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.audit:run"))


def since(text: str) -> float:
    """A time in seconds, from a duration back from now or a timestamp."""
    try:
        return ago(text).number / 1000
    except argparse.ArgumentTypeError:
        return at_time(text).number / 1000
