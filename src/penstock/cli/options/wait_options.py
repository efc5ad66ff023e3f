"""The words of `penstock wait`."""

import argparse
from typing import Any

from penstock.api.later import Later
from penstock.cli.options.shared_options import with_config, with_output
from penstock.config import units
from penstock.model.final_days import is_hour


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "wait",
        help="wait until a day is complete",
        description="Wait until a day, or an hour, of a feed or of one dataset is declared "
        "complete, and end with 0 then: for orchestrators. Ends with 75 when the time is over. "
        "Reads the lake only, every ten seconds.",
        epilog="example: penstock wait events --complete 2026-11-15 --timeout 2h",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    command.add_argument(
        "--complete",
        required=True,
        type=_day_or_hour,
        metavar="DAY",
        help="a day such as 2026-11-15, or an hour such as 2026-11-15T07",
    )
    command.add_argument(
        "--timeout",
        default=86_400.0,
        type=_duration,
        metavar="T",
        help="how long to wait at most, such as 30s, 10m or 2h (default: 24h); 0s looks once",
    )
    with_config(command)
    with_output(command)
    command.set_defaults(command=Later("penstock.cli.commands.wait:run"))


def _day_or_hour(word: str) -> str:
    if units.day(word) is None and not is_hour(word):
        raise argparse.ArgumentTypeError(f"{word!r} is not {units.DAY}, nor 2015-01-01T07")
    return word


def _duration(word: str) -> float:
    seconds = units.duration_s(word)
    if seconds is None:
        raise argparse.ArgumentTypeError(f"{word!r} is not {units.DURATION}")
    return seconds
