"""Print a feed's journal: `python -m penstock.cli.journal_dump LAKE FEED`. Only reads."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NoReturn

import msgspec

from penstock.api.store import Store
from penstock.config.location import location
from penstock.config.mistakes import Refused
from penstock.errors import PenstockError
from penstock.model.layout import Layout
from penstock.model.value import Value
from penstock.ports.store.split_store import open_both
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, Undone
from penstock.protocol.journal.book_state import sealed_to
from penstock.protocol.journal.lake_identity import LAKE_KEY, known_identity
from penstock.runtime.surroundings import Surroundings

EXAMPLE = """\
example:
  python -m penstock.cli.journal_dump ./lake events --output json

Nothing is written, so it may run while a feed runs. Exit codes: 0 fine, 1 the store does not
answer, 2 there is no such lake or feed, 5 the journal is damaged (the sentence names the file).
"""


class Report(Value, frozen=True):
    """The state of the journal. `watermarks` are the next offsets to read, by `topic/partition`.

    `sealed` is how many entries lie in segments.
    """

    feed: str
    entries: int
    epoch: int
    owner: str
    watermarks: dict[str, int]
    undone: list[Undone]
    parked: dict[str, str]
    sealed: int
    notices: list[str]


def main(arguments: Sequence[str] | None = None) -> int:
    """Open the journal as every owner does, and print its state or the error's sentence."""
    parser = _parser()
    asked = parser.parse_args(arguments)
    try:
        store = _store(asked.lake, asked.journal)
        identity = known_identity(store)
        if identity is None:
            found = f"There is no lake at {asked.lake!r}: {LAKE_KEY!r} is absent."
            parser.exit(2, f"{found} Check the address.\n")
        journal = FeedJournal(store, Layout(asked.feed), identity, _nothing_around())
        state = (journal.open_from_first() if asked.deep else journal.open()).state
    except Refused as refused:
        parser.exit(2, f"{asked.lake!r} cannot be a lake: {refused.found}.\n")
    except PenstockError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    if state.is_new:
        parser.exit(2, f"{asked.lake!r} has no feed {asked.feed!r}. Check the feed's name.\n")
    report = report_of(asked.feed, state, journal.notices)
    shown = msgspec.json.encode(report).decode() if asked.output == "json" else as_table(report)
    sys.stdout.write(f"{shown}\n")
    return 0


def _store(lake: str, journal: str | None) -> Store:
    place = None if journal is None else location(journal, Path.cwd(), "a journal")
    return open_both(location(lake, Path.cwd()), place)


def report_of(feed: str, state: FeedState, notices: list[str]) -> Report:
    """The state of a journal as a value to print."""
    watermarks = {
        f"{topic}/{partition}": known.watermark
        for topic, topic_id in sorted(state.topics.items())
        for partition, known in sorted(state.partitions.get(topic_id, {}).items())
    }
    undone = [state.undone[number] for number in sorted(state.undone)]
    heads = (state.number + 1, state.epoch, state.owner)
    sealed = sealed_to(state) + 1
    return Report(feed, *heads, watermarks, undone, state.parked, sealed, notices)


def as_table(report: Report) -> str:
    """The report as text, one fact per line."""
    lines = [
        f"feed       {report.feed}",
        f"entries    {report.entries}" + (f", {report.sealed} sealed" if report.sealed else ""),
        f"epoch      {report.epoch}, owner {report.owner or 'nobody'}",
        *(f"watermark  {place} {offset}" for place, offset in report.watermarks.items()),
        *(f"undone     {each.number}: {', '.join(each.parts)}" for each in report.undone),
        *(f"parked     {dataset}: {reason}" for dataset, reason in sorted(report.parked.items())),
        *(f"notice     {notice}" for notice in report.notices),
    ]
    return "\n".join(lines)


def _nothing_around() -> Surroundings:
    def refuse(_seconds: float = 0.0) -> NoReturn:
        raise RuntimeError("reading a journal needs no clock")  # if it is called, that is a bug

    return Surroundings(now=refuse, sleep=refuse, random=Random(0))  # noqa: S311


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m penstock.cli.journal_dump", description=__doc__)
    parser.formatter_class, parser.epilog = argparse.RawDescriptionHelpFormatter, EXAMPLE
    parser.add_argument("lake", metavar="LAKE", help="the directory or address of the lake")
    parser.add_argument("feed", metavar="FEED", help="the name of the feed")
    parser.add_argument(
        "--journal", metavar="PLACE", help="where the journal lies, if not in the lake"
    )
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument("--deep", action="store_true", help="read from entry 0, with manifests")
    return parser


if __name__ == "__main__":
    sys.exit(main())
