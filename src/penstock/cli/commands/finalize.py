"""`penstock finalize`: the days and hours that are complete are declared so."""

import argparse
import sys
from datetime import UTC, datetime

from penstock.care.finalize import finalize
from penstock.cli.common import author_of, feed_named, print_rows, surroundings
from penstock.model.spec import FinalizeSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import Note, last_beat
from penstock.protocol.feed_book.reached_time import reached_s


def run(chosen: argparse.Namespace) -> int:
    """Print a row per entry that was decided."""
    _, feed, journal = feed_named(chosen, chosen.feed)
    beat = last_beat(journal.store, journal.layout)
    seen, spec = None if beat is None else beat.note, feed.finalize or FinalizeSpec()
    author = author_of(chosen)
    found = finalize(journal, surroundings(), spec, feed.time.zone, seen, author)
    rows = [
        {
            "feed": feed.name,
            "entry": each.entry,
            "days_before": each.frontier.days_before or None,
            "hours_before": each.frontier.hours_before or None,
            "datasets": len(each.datasets),
            "directories": len(each.directories),
        }
        for each in found
    ]
    print_rows(rows, chosen.output)
    if not rows:
        print(f"nothing more is complete: {_why(journal, seen, spec)}", file=sys.stderr)
    return 0


def _why(journal: FeedJournal, seen: Note | None, spec: FinalizeSpec) -> str:
    """How far the partitions are."""
    reached = reached_s(journal.open().state, seen, surroundings().now())
    if reached is None:
        return "of some partition nothing was read yet, and it is not known to be empty"
    at = datetime.fromtimestamp(reached, UTC).isoformat(timespec="seconds")
    return (
        f"every partition has passed {at}, and {spec.delay_s:.0f} s are added for late records; "
        "what is parked holds its dataset back"
    )
