"""The shallow audit of one feed: journal, sums and files. Only reads, also while an owner runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.audit.corrections import correction_differences
from penstock.audit.damage import damage_difference, list_markers, stray_markers
from penstock.audit.lake_files import (
    OddNames,
    Sizes,
    file_differences,
    foreign_files,
    odd_differences,
    pending_groups,
    visible_files,
    visible_odd_names,
)
from penstock.audit.ledger import Ledger, Opened, Progress, read_ledger
from penstock.audit.receipt import Difference, GivenUp, Receipt
from penstock.audit.recorded_configs import config_differences
from penstock.audit.sealed_segments import sealed_markers, segment_differences
from penstock.audit.waiting import lost_files
from penstock.model.ranges import TopicPartition
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState


def audit(journal: FeedJournal, progress: Progress = lambda _what, _done, _of: None) -> Receipt:
    """Compare a feed's journal with itself and with the lake.

    Damage of the journal is a difference. The files are listed before the journal is read, so
    that the journal has an entry for every file that was listed.
    """
    sight = look(journal, progress)
    if not sight.opened.is_whole:
        return receipt_of(journal, sight.opened, damage_of(sight))
    state, ledger = sight.opened.state, sight.opened.ledger
    suspects = list(file_differences(journal, sight.opened, sight.listed, sight.odd, progress))
    found = [
        *journal_differences(journal, sight),
        *(still_live(journal, ledger, suspects) if suspects else ()),
        *lost_files(journal, state, sight.odd),
        *odd_differences(ledger, sight.odd),
        *foreign_files(journal, state, ledger, sight.listed),
        *correction_differences(journal.store, ledger, deep=False),
    ]
    return receipt_of(journal, sight.opened, found)


@dataclass(frozen=True, slots=True)
class Sight:
    """The listed files and markers of the lake, and the journal that was read after them.

    `listed` has the sizes of the files.
    """

    listed: Sizes
    odd: OddNames
    markers: list[str]
    opened: Opened


def look(journal: FeedJournal, progress: Progress, *, keeps_reading: bool = False) -> Sight:
    """List first, then fold: a listed file that is not in the fold belongs to no entry."""
    listed = visible_files(journal.store, journal.layout)
    odd = OddNames(visible_odd_names(journal.store, journal.layout))
    markers = list_markers(journal)
    opened = read_ledger(journal, progress, keeps_reading=keeps_reading)
    return Sight(listed, odd, markers, opened)


def damage_of(sight: Sight) -> list[Difference]:
    """The differences in the journal's own objects."""
    return [damage_difference(error) for error in sight.opened.damage]


def journal_differences(journal: FeedJournal, sight: Sight) -> list[Difference]:
    """All contradictions inside the journal."""
    opened = sight.opened
    damage = damage_of(sight)
    seals = opened.ledger.seals
    markers = dict.fromkeys((*sight.markers, *sealed_markers(journal, seals)))
    strays = stray_markers(journal, list(markers), opened.marks)
    return [
        *damage,
        *opened.unmarked,
        *(each for each in strays if each not in damage),
        *segment_differences(journal, seals, damage),
        *opened.ledger.differences,
        *coverage_differences(opened.state, opened.ledger),
        *row_differences(opened.ledger),
        *config_differences(journal, opened.ledger),
    ]


def coverage_differences(state: FeedState, ledger: Ledger) -> Iterator[Difference]:
    """Differences per partition: ranges must end at the watermark, and counts must add up."""
    for place, coverage in sorted(ledger.coverage.items()):
        known = state.partition(place)
        if known is None or known.watermark != coverage.end:
            seen = coverage.receipt()
            words = f"the entries of {seen.topic}/{seen.partition} end at {coverage.end}"
            wanted = "nowhere" if known is None else str(known.watermark)
            yield Difference("offsets", f"{words}, but the watermark is {wanted}")
        yield from coverage.imbalance()
        live = live_records(ledger, place)
        if live != coverage.quarantined:
            words = f"{coverage.quarantined} records are quarantined, but {live} are named"
            yield Difference("counts", words, ranges=(coverage.whole(),))


def live_records(ledger: Ledger, place: TopicPartition) -> int:
    """How many quarantined records of a partition are live."""
    return sum(
        len(offsets)
        for (_topic, topic_id, partition, *_), offsets in ledger.records.items()
        if (topic_id, partition) == (place.topic_id, place.partition)
    )


def row_differences(ledger: Ledger) -> Iterator[Difference]:
    """Differences between the evidence of live files and what was written and not removed."""
    live = ledger.rows()
    if live + ledger.removed != ledger.written:
        yield Difference(
            "counts",
            f"{ledger.written.count} rows were written and {ledger.removed.count} removed, and "
            f"the live files have {live.count}, or others",
        )


def still_live(
    journal: FeedJournal, ledger: Ledger, suspects: list[Difference]
) -> Iterator[Difference]:
    """The files that are still the same: others may have been compacted or derived again."""
    now = read_ledger(journal)
    for each in suspects:
        if not now.is_whole or is_same(ledger, now.ledger, each.file):
            yield each


def is_same(before: Ledger, now: Ledger, final: str) -> bool:
    """True for a file that is still live with the same recorded contents."""
    return final in now.files and now.recorded[final] == before.recorded[final]


def receipt_of(journal: FeedJournal, opened: Opened, found: list[Difference]) -> Receipt:
    """The receipt of an audit."""
    state, ledger = opened.state, opened.ledger
    pending = pending_groups(state, ledger)
    waiting = {(group.entry, group.dataset) for group in pending}
    visible = [
        ledger.recorded[final].size_bytes
        for final, live in ledger.files.items()
        if (live.number, live.dataset) not in waiting
    ]
    partitions = sorted(ledger.coverage.values(), key=lambda each: (each.topic, each.partition))
    return Receipt(
        feed=journal.layout.feed,
        entries=state.number + 1,
        epoch=state.epoch,
        windows=state.windows,
        partitions=tuple(each.receipt() for each in partitions),
        given_up=given_up(ledger),
        files=len(visible),
        size_bytes=sum(visible),
        retired_rows=ledger.removed.count,
        pending=pending,
        differences=tuple(found),
        notices=tuple(dict.fromkeys(journal.notices)),
        datasets=_sums([*(each.datasets for each in partitions), ledger.gathered]),
        corrected=tuple(ledger.corrected),
    )


def _sums(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The rows of each dataset in all partitions."""
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part)
    return dict(sorted(found.items()))


def given_up(ledger: Ledger) -> tuple[GivenUp, ...]:
    """What operators gave up, in journal order."""
    skipped = [each for coverage in ledger.coverage.values() for each in coverage.skipped]
    return tuple(sorted([*skipped, *ledger.drops], key=lambda each: each.entry))
