"""The words of `penstock files`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output
from penstock.config.units import day


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "files",
        help="list the committed files of a feed",
        description="The files that are decided and visible, one per line.",
        epilog="example: penstock files events/page_view --day 2026-11-15",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    command.add_argument(
        "--day",
        type=whole_day,
        metavar="DAY",
        help="only files below the directory of this day, such as 2026-11-15",
    )
    command.add_argument(
        "--uri",
        dest="column",
        action="store_const",
        const="uri",
        default="file",
        help="print addresses that Spark, DuckDB and pyarrow take, in place of names in the lake",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.files:run"))


def whole_day(text: str) -> str:
    """A day, also as its directory is named. A day that cannot be is refused, not an empty list."""
    found = day(text.removeprefix("day="))
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-11-15")
    return found
