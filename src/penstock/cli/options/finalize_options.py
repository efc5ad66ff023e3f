"""The words of `penstock finalize`."""

from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "finalize",
        help="declare days complete of which nothing is missing",
        description="Declare the days and hours complete that all partitions have passed, less "
        "the delay, as `finalize` of the feed says; without that section days, after ten minutes. "
        "Their directories get the mark `_SUCCESS`; rows that come later leave `_LATE` beside it. "
        "A run does this by itself where the configuration has `finalize`. How far partitions are "
        "is known from the journal and from the last sign of life of the owner.",
        epilog="example: penstock finalize events",
    )
    command.add_argument("feed", metavar="FEED")
    command.add_argument("--author", default="", metavar="NAME", help="default: your login name")
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.finalize:run"))
