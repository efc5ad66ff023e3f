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
from penstock.model.file_groups import NO_GROUP, FileGroup, file_groups, parts_by_ranges
from penstock.model.manifest import QUARANTINE, Content, ManifestFile


def window_differences(number: int, window: Window, content: Content) -> Iterator[Difference]:
    """The differences in one window's entry."""
    evidence = {seen.range: seen for seen in content.evidence}
    if len(evidence) != len(content.evidence) or set(evidence) != set(window.ranges):
        words = f"window {window.window} has evidence for other ranges than its own"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
    for seen in content.evidence:
        yield from _range_differences(number, seen)
    yield from _file_differences(number, window, content)
    yield from _sum_differences(number, window, content)
    yield from _reason_differences(number, window, content)


def _range_differences(number: int, seen: RangeEvidence) -> Iterator[Difference]:
    if len(seen.offsets) != seen.read.count or not seen.offsets.within(seen.range):
        words = f"{seen.range} gave {seen.read.count} records at the offsets {seen.offsets}"
        yield Difference("counts", words, ranges=(seen.range,), entry=number)
    elif set_evidence(seen.range.topic, seen.range.partition, seen.offsets) != seen.read:
        words = f"{seen.range}: the evidence is not that of the offsets that were read"
        yield Difference("counts", words, ranges=(seen.range,), entry=number)


def _file_differences(number: int, window: Window, content: Content) -> Iterator[Difference]:
    """The differences between the files of each file group and what was read of its ranges."""
    why = window.file_plan.objection(window.ranges)
    if why is not None:
        words = f"window {window.window} cannot have these files: {why}"
        yield Difference("counts", words, ranges=window.ranges, entry=number)
        return
    groups = file_groups(window.ranges, window.file_plan)
    parts = parts_by_ranges(groups)
    files: dict[int, list[ManifestFile]] = {}
    for file in content.files:
        files.setdefault(parts.get(file.ranges, NO_GROUP), []).append(file)
    for group in groups:
        mine = set(group.ranges)
        reads = [seen for seen in content.evidence if seen.range in mine]
        yield from _group_differences(number, group, reads, files.get(group.number, []))


def _group_differences(
    number: int, group: FileGroup, reads: list[RangeEvidence], files: list[ManifestFile]
) -> Iterator[Difference]:
    written = Evidence.total(file.evidence for file in files if file.dataset != QUARANTINE)
    refused = Evidence.total(file.evidence for file in files if file.dataset == QUARANTINE)
    filtered = Evidence.total(seen.filtered for seen in reads)
    all_rows = Evidence.total(seen.all_rows for seen in reads)
    quarantined = Evidence.total(seen.quarantined for seen in reads)
    if refused != quarantined or written + refused + filtered != all_rows:
        ranges = group.ranges
        where = str(ranges[0]) if len(ranges) == 1 else f"{ranges[0]} to {ranges[-1]}"
        words = (
            f"{where}: read {all_rows.count}, written {written.count}, quarantined "
            f"{refused.count}, filtered {filtered.count}, or other rows"
        )
        yield Difference("counts", words, ranges=ranges, entry=number)


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
