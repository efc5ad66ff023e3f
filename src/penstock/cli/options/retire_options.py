"""The words of `penstock retire`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_approval, with_config, with_output
from penstock.config import units


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "retire",
        help="remove the days of datasets that are past retention",
        description="Remove the files of all days before a day, of a feed or of one dataset. "
        "Prints what would go, day by day, and does it only with --execute. Each removal is a "
        "journal entry with your name and the reason, and may be made beside a run. A run does it "
        "by itself where the configuration has `retain: 90d`. What comes late into a day that was "
        "removed is delivered as always, and goes with the next removal.",
        epilog='example: penstock retire events/page_view --before 2026-08-01 --reason "90 days" '
        "--execute",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    command.add_argument(
        "--before",
        required=True,
        type=_day,
        metavar="DAY",
        help="the first day that stays, such as 2026-08-01",
    )
    with_approval(command)
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.retire:run"))


def _day(word: str) -> str:
    day = units.day(word)
    if day is None:
        raise argparse.ArgumentTypeError(f"{word!r} is not {units.DAY}")
    return day
