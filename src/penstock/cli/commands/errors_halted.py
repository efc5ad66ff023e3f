"""`penstock errors list --halted`: what would be quarantined by the window that was refused."""

import argparse
import sys
from collections.abc import Iterable, Iterator

from penstock.cli.commands.errors_values import SAMPLE_CHARACTERS, base64_of, group_facts
from penstock.cli.common import feed_named, print_rows
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable, printable_bytes
from penstock.errors import EntryNewer
from penstock.model.broken_groups import BrokenRecord
from penstock.model.halted import Halted
from penstock.model.plural import are, number_of
from penstock.model.ranges import OffsetRange
from penstock.protocol.feed_book.acceptance import acceptance_of
from penstock.protocol.feed_book.errors import HaltedDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.halted_objects import read_halted, read_samples
from penstock.protocol.feed_book.state import FeedState

FEW_RANGES = 5

Samples = dict[str, list[BrokenRecord]]  # by fingerprint


def run_list_halted(chosen: argparse.Namespace) -> int:
    """Print the groups of the window that was refused, the largest first, with samples."""
    journal = feed_named(chosen, chosen.feed)[2]
    halted = read_halted(journal, journal.open().state)
    if halted is None:
        _tell(f"feed {chosen.feed} is not halted")
        return 0
    samples: Samples = {}
    for each in read_samples(journal, halted):
        samples.setdefault(each.fingerprint, []).append(each.record)
    as_rows = _rows_as_json if chosen.output == "json" else _rows_as_text
    print_rows(list(as_rows(halted, samples)), chosen.output)
    for line in _remarks(halted):
        _tell(line)
    return 0


def refused_ranges(feed: str, journal: FeedJournal, state: FeedState) -> tuple[OffsetRange, ...]:
    """The ranges of the window that was refused, which `errors accept` is about.

    If no window was refused, there is nothing that a person can have looked at: the decision would
    open the limit for records that nobody has seen. None are known of a halt that cannot be read.
    """
    earlier = acceptance_of(journal, state)
    if earlier is not None:
        return earlier.ranges
    try:
        halted = read_halted(journal, state)
    except (HaltedDamaged, EntryNewer):
        return ()
    if halted is None or not halted.ranges:
        cause = "is not halted" if halted is None else f"is halted with {halted.code}"
        raise UsageMistake(
            f"Feed {feed!r} {cause}: there is no window with too many broken records to accept.",
            "Nothing was changed. `penstock status` shows the state of the feed; if a run refuses "
            "its next window, look at it with `penstock errors list --halted`, then accept it.",
        )
    return halted.ranges


def ranges_as_text(ranges: Iterable[OffsetRange]) -> str:
    """Some ranges, and how many more there are."""
    every = [f"{each.topic}/{each.partition} [{each.start}, {each.end})" for each in ranges]
    more = len(every) - FEW_RANGES
    shown = ", ".join(every[:FEW_RANGES])
    return f"{shown} and {number_of(more, 'more range')}" if more > 0 else shown


def range_as_json(covered: OffsetRange) -> dict[str, object]:
    """One range for JSON."""
    return {
        "topic": covered.topic,
        "partition": covered.partition,
        "start": covered.start,
        "end": covered.end,
    }


def _rows_as_text(halted: Halted, samples: Samples) -> Iterator[dict[str, object]]:
    for group in halted.groups:
        first = next(iter(samples.get(group.fingerprint, ())), None)
        yield {
            **group_facts(group),
            "detail": printable(first.detail) if first is not None else None,
            "sample": printable_bytes(first.value, SAMPLE_CHARACTERS) if first else None,
        }


def _rows_as_json(halted: Halted, samples: Samples) -> Iterator[dict[str, object]]:
    for group in halted.groups:
        records = samples.get(group.fingerprint, [])
        yield {
            **group_facts(group),
            "dataset": [name or None for name in group.datasets],
            "detail": records[0].detail if records else None,
            "sample": printable_bytes(records[0].value, SAMPLE_CHARACTERS) if records else None,
            "records": [_record_as_json(each) for each in records],
        }


def _record_as_json(record: BrokenRecord) -> dict[str, object]:
    """A sample with its bytes; `value_bytes` is above their number when the sample is cut."""
    return {
        "topic": record.position.topic,
        "partition": record.position.partition,
        "offset": record.position.offset,
        "detail": record.detail,
        "dataset": record.dataset or None,
        "headers": record.headers,
        "key_base64": base64_of(record.key),
        "value_base64": base64_of(record.value),
        "value_bytes": record.value_bytes,
    }


def _remarks(halted: Halted) -> Iterator[str]:
    """What the groups do not say: the cause, what else is broken, and the window."""
    yield f"halted since {halted.since}: {halted.code}: {printable(halted.sentence)}"
    others = sum(halted.reasons.values()) - sum(group.count for group in halted.groups)
    if halted.groups and others > 0:
        more = number_of(others, "more record")
        yield f"{more} {are(others)} broken, in smaller groups that are not shown"
    if halted.ranges:
        yield f"window {halted.window}: {printable(ranges_as_text(halted.ranges))}"
    for place in halted.places:
        yield f"at {printable(str(place))}"


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr)
