"""Checks that a window's sums add up: read = written + quarantined + filtered. Pure.

If a record becomes several rows, each row counts.

The owner proved this before it decided. An audit checks it again, from the entry alone.
"""

from collections import Counter
from collections.abc import Iterator

from penstock.audit.receipt import Difference
from penstock.evidence.position_columns import records_evidence, set_evidence
from penstock.model.entries import Counts, Window
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import QUARANTINE, Content, ManifestFile
from penstock.model.ranges import TopicPartition


def window_differences(number: int, window: Window, content: Content) -> Iterator[Difference]:
    """The differences in one window's entry."""
    evidence = {seen.range: seen for seen in content.evidence}
    if len(evidence) != len(content.evidence) or set(evidence) != set(window.ranges):
        words = f"window {window.window} has evidence for other ranges than its own"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
    by_place = _by_place(content.files)
    for seen in content.evidence:
        yield from _range_differences(number, seen, by_place.get(seen.range.place, []))
    yield from _sum_differences(number, window, content)
    yield from _reason_differences(number, window, content)


def _by_place(files: tuple[ManifestFile, ...]) -> dict[TopicPartition, list[ManifestFile]]:
    """The files of each partition; a window's file belongs to one range."""
    found: dict[TopicPartition, list[ManifestFile]] = {}
    for file in files:
        for place in {part.place for part in file.ranges}:
            found.setdefault(place, []).append(file)
    return found


def _range_differences(
    number: int, seen: RangeEvidence, files: list[ManifestFile]
) -> Iterator[Difference]:
    here = [file for file in files if any(part.lies_in(seen.range) for part in file.ranges)]
    written = Evidence.total(file.evidence for file in here if file.dataset != QUARANTINE)
    refused = Evidence.total(file.evidence for file in here if file.dataset == QUARANTINE)
    if len(seen.offsets) != seen.read.count or not seen.offsets.within(seen.range):
        words = f"{seen.range} gave {seen.read.count} records at the offsets {seen.offsets}"
        yield Difference("counts", words, ranges=(seen.range,), entry=number)
    elif set_evidence(seen.range.topic, seen.range.partition, seen.offsets) != seen.read:
        words = f"{seen.range}: the evidence is not that of the offsets that were read"
        yield Difference("counts", words, ranges=(seen.range,), entry=number)
    if refused != seen.quarantined or written + refused + seen.filtered != seen.all_rows:
        words = (
            f"{seen.range}: read {seen.all_rows.count}, written {written.count}, quarantined "
            f"{refused.count}, filtered {seen.filtered.count}, or other rows"
        )
        yield Difference("counts", words, ranges=(seen.range,), entry=number)


def _sum_differences(number: int, window: Window, content: Content) -> Iterator[Difference]:
    """The differences in the window's totals, its files, and its quarantined records."""
    read = sum(seen.read.count for seen in content.evidence)
    quarantined = sum(seen.quarantined.count for seen in content.evidence)
    filtered = sum(seen.filtered.count for seen in content.evidence)
    extra = sum(seen.extra.count for seen in content.evidence)
    all_rows = read + extra
    counted = (read, all_rows - quarantined - filtered, quarantined, filtered, extra)
    if counted != fates_of(window.counts):
        said = f"window {window.window} says (read, written, quarantined, filtered, extra)"
        words = f"{said} are {fates_of(window.counts)}, but its evidence says {counted}"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
    rows = sum(file.evidence.count for file in content.files)
    if rows != all_rows - filtered:
        words = f"window {window.window} has {rows} rows for {all_rows - filtered} records"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
    named = sum(len(records.offsets) for records in content.quarantined)
    if named != quarantined:
        words = f"window {window.window} names {named} of {quarantined} quarantined records"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
        return
    refused = Evidence.total(seen.quarantined for seen in content.evidence)
    if records_evidence(content.quarantined) != refused:
        words = f"window {window.window} names other records than its evidence for the quarantine"
        yield Difference("counts", words, ranges=window.ranges, entry=number)


def _reason_differences(number: int, window: Window, content: Content) -> Iterator[Difference]:
    """The difference between reasons and quarantined records; older windows record no reasons."""
    named: Counter[str] = Counter()
    for records in content.quarantined:
        named[records.dataset] += len(records.offsets)
    counted = {dataset: sum(reasons.values()) for dataset, reasons in window.refused.items()}
    if counted and counted != named:
        words = f"window {window.window} has reasons for {counted}, and quarantined {dict(named)}"
        yield Difference("counts", words, ranges=window.ranges, entry=number)


def fates_of(counts: Counts) -> tuple[int, int, int, int, int]:
    """The counts that evidence can prove. The number of bytes is not one of them."""
    return counts.read, counts.written, counts.quarantined, counts.filtered, counts.extra
