"""The shallow audit of one feed: journal, sums and files. Reads only, also beside a live owner."""

from collections.abc import Iterator

from penstock.audit.files import (
    file_differences,
    foreign_files,
    pending_groups,
    visible_files,
)
from penstock.audit.ledger import Ledger, Progress, open_ledger
from penstock.audit.receipt import Difference, GivenUp, Receipt
from penstock.journal.journal import Journal
from penstock.journal.state import JournalState
from penstock.model.ranges import TopicPartition


def audit(journal: Journal, progress: Progress = lambda _what, _done, _of: None) -> Receipt:
    """Hold a feed's journal against itself and against the lake.

    A journal that cannot be trusted raises its own error. The files are listed before the journal
    is read, so that whatever was visible then was decided by then.
    """
    listed = visible_files(journal.store, journal.layout)
    state, ledger = open_ledger(journal, progress)
    suspects = list(file_differences(journal, state, ledger, progress))
    found = [
        *ledger.differences,
        *coverage_differences(state, ledger),
        *row_differences(ledger),
        *(still_live(journal, suspects) if suspects else ()),
        *foreign_files(journal, state, ledger, listed),
    ]
    return receipt_of(journal, state, ledger, found)


def coverage_differences(state: JournalState, ledger: Ledger) -> Iterator[Difference]:
    """Per partition: the ranges end at the watermark, and the fates add up."""
    for place, coverage in sorted(ledger.coverage.items()):
        known = state.partition(place)
        if known is None or known.watermark != coverage.end:
            seen = coverage.receipt()
            words = f"the entries of {seen.topic}/{seen.partition} end at {coverage.end}"
            wanted = "nowhere" if known is None else str(known.watermark)
            yield Difference("offsets", f"{words}, and the watermark is {wanted}")
        yield from coverage.imbalance()
        live = live_records(ledger, place)
        if live != coverage.quarantined:
            words = f"{coverage.quarantined} records are quarantined, and {live} are named"
            yield Difference("counts", words, ranges=(coverage.whole(),))


def live_records(ledger: Ledger, place: TopicPartition) -> int:
    """How many quarantined records of a partition nothing has consumed."""
    return sum(
        len(offsets)
        for (_topic, topic_id, partition, _dataset), offsets in ledger.records.items()
        if (topic_id, partition) == (place.topic_id, place.partition)
    )


def row_differences(ledger: Ledger) -> Iterator[Difference]:
    """The live files hold what was written and not removed, row by row, by their evidence."""
    live = ledger.rows()
    if live + ledger.removed != ledger.written:
        yield Difference(
            "counts",
            f"{ledger.written.count} rows were written and {ledger.removed.count} removed, and "
            f"the live files have {live.count}, or others",
        )


def still_live(journal: Journal, suspects: list[Difference]) -> Iterator[Difference]:
    """Those that are live even now: a compaction may have taken others while we looked."""
    _, ledger = open_ledger(journal)
    for each in suspects:
        if each.file in ledger.files:
            yield each


def receipt_of(
    journal: Journal, state: JournalState, ledger: Ledger, found: list[Difference]
) -> Receipt:
    """Everything an audit has seen, in one value."""
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
    )


def given_up(ledger: Ledger) -> tuple[GivenUp, ...]:
    """Whatever people gave up, in journal order."""
    skipped = [each for coverage in ledger.coverage.values() for each in coverage.skipped]
    return tuple(sorted([*skipped, *ledger.drops], key=lambda each: each.entry))
