"""The words of `penstock run`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.serve_options import with_address
from penstock.cli.options.shared_options import with_config

GRACE_S = 10.0  # after a signal, the current window has this time before its job is cancelled


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "run",
        help="deliver the feeds",
        description="Run the feeds of the configuration, or those that are named. If "
        "another live instance owns a feed, wait for it. Ctrl-C and SIGTERM finish the current "
        f"window, or abandon it after {GRACE_S:.0f} s, and end with 0.",
        epilog="example: penstock run events --once",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    command.add_argument(
        "--once", action="store_true", help="deliver what is there at the start, then stop"
    )
    held = command.add_mutually_exclusive_group()
    held.add_argument(
        "--no-wait", action="store_true", help="end with 75 when another instance owns a feed"
    )
    held.add_argument(
        "--take-over",
        action="store_true",
        help="take the feeds from another instance, which then waits",
    )
    command.add_argument(
        "--serve", action="store_true", help="answer for metrics and health meanwhile"
    )
    with_address(command)
    command.add_argument(
        "--metrics-file",
        metavar="F",
        help="write metrics to this file every 15 s and at the end, for the node exporter",
    )
    command.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="'NAME KEY=VALUE ...'",
        help="give metrics to this plug-in every 15 s and at the end",
    )
    with_config(command)
    command.set_defaults(command=Later("penstock.cli.commands.run:run"))
