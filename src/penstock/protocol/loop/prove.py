"""Prove: what was staged is what was read, and what was read is what was planned. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import StagedSetWrong
from penstock.evidence.position_columns import records_evidence
from penstock.model.broken_groups import BrokenGroup
from penstock.model.entries import Counts
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.file_groups import NO_GROUP, FileGroup, parts_by_ranges
from penstock.model.manifest import QUARANTINE, Content, ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.window import StagedWindow, StageOrder


def prove(order: StageOrder, staged: StagedWindow) -> Content:
    """The content of the window's entry, or `StagedSetWrong` with what does not add up."""
    evidence = _evidence_of_all(order, staged)
    _check_names(order, staged.files)
    for seen in evidence:
        _check_range(order, seen)
    _check_groups(order, evidence, staged.files)
    _check_records(order, evidence, staged)
    return Content(files=staged.files, evidence=evidence, quarantined=staged.quarantined)


@dataclass(frozen=True, slots=True)
class Findings:
    """What is broken in a window that is proven and not decided, and how much is not.

    `datasets` has the counts of each, `reasons` how many records are quarantined for which reason,
    `misfits` how many of which dataset because their schema cannot be merged with its own. `broken`
    are those records by group, with samples; `new_types` counts datasets that nobody knew before.
    """

    counts: Counts
    datasets: Mapping[str, Counts] = field(default_factory=dict)
    reasons: Mapping[str, int] = field(default_factory=dict)
    misfits: Mapping[str, int] = field(default_factory=dict)
    broken: tuple[BrokenGroup, ...] = ()
    new_types: int = 0


def findings_of(content: Content, staged: StagedWindow) -> Findings:
    """What there is to judge by."""
    datasets = counts_by_dataset(content)
    return Findings(
        counts_of(content),
        datasets,
        staged.reasons,
        staged.misfits,
        staged.broken,
        staged.new_types,
    )


def counts_of(content: Content, read_bytes: int = 0, largest_bytes: int = 0) -> Counts:
    """How many records were read, and their fates."""
    read = Evidence.total(seen.read for seen in content.evidence)
    quarantined = Evidence.total(seen.quarantined for seen in content.evidence)
    filtered = Evidence.total(seen.filtered for seen in content.evidence)
    extra = Evidence.total(seen.extra for seen in content.evidence)
    written = read.count + extra.count - quarantined.count - filtered.count
    fates = (written, quarantined.count, filtered.count)
    return Counts(read.count, *fates, read_bytes, largest_bytes, extra.count)


def counts_by_dataset(content: Content) -> dict[str, Counts]:
    """How many records of each dataset were written and how many quarantined."""
    written: Counter[str] = Counter()
    for file in content.files:
        if file.dataset != QUARANTINE:
            written[file.dataset] += file.evidence.count
    refused: Counter[str] = Counter()
    for part in content.quarantined:
        refused[part.dataset] += len(part.offsets)
    return {
        name: Counts(written[name] + refused[name], written[name], refused[name], 0)
        for name in sorted({*written, *refused} - {""})
    }


def _evidence_of_all(order: StageOrder, staged: StagedWindow) -> tuple[RangeEvidence, ...]:
    """One piece of evidence per planned range; a range without a record is evidence, too."""
    planned = {covered: RangeEvidence.empty(covered) for covered in order.ranges}
    seen: set[OffsetRange] = set()
    for evidence in staged.evidence:
        if evidence.range not in planned or evidence.range in seen:
            raise StagedSetWrong(order.window, f"{evidence.range} was not planned, or came twice")
        seen.add(evidence.range)
        planned[evidence.range] = evidence
    return tuple(planned[covered] for covered in order.ranges)


def _check_names(order: StageOrder, files: tuple[ManifestFile, ...]) -> None:
    finals = [file.handle.final for file in files]
    if len(set(finals)) != len(finals):
        raise StagedSetWrong(order.window, "two files have one final name")


def _by_group(order: StageOrder, files: tuple[ManifestFile, ...]) -> dict[int, list[ManifestFile]]:
    """The files of each file group. Each covers one part of its group, whole and nothing else."""
    parts = parts_by_ranges(order.groups)
    found: dict[int, list[ManifestFile]] = {}
    for file in files:
        number = parts.get(file.ranges)
        if number is None or file.group not in (number, NO_GROUP):
            raise StagedSetWrong(
                order.window,
                f"{file.handle.final!r} covers {len(file.ranges)} ranges of group {file.group}, "
                "which the plan does not have",
            )
        found.setdefault(number, []).append(file)
    return found


def _check_range(order: StageOrder, seen: RangeEvidence) -> None:
    covered = seen.range
    if not seen.offsets.within(covered) or len(seen.offsets) != seen.read.count:
        raise StagedSetWrong(
            order.window, f"{covered} gave {seen.read.count} records at offsets {seen.offsets}"
        )


def _check_groups(
    order: StageOrder, evidence: tuple[RangeEvidence, ...], files: tuple[ManifestFile, ...]
) -> None:
    by_range = {seen.range: seen for seen in evidence}
    by_group = _by_group(order, files)
    for group in order.groups:
        reads = [by_range[covered] for covered in group.ranges]
        _check_group(order, group, reads, by_group.get(group.number, []))


def _check_group(
    order: StageOrder, group: FileGroup, reads: list[RangeEvidence], files: list[ManifestFile]
) -> None:
    """The files of a group hold what was read of its ranges, each row once."""
    what = _name_of(group)
    written = Evidence.total(file.evidence for file in files if file.dataset != QUARANTINE)
    refused = Evidence.total(file.evidence for file in files if file.dataset == QUARANTINE)
    quarantined = Evidence.total(seen.quarantined for seen in reads)
    filtered = Evidence.total(seen.filtered for seen in reads)
    all_rows = Evidence.total(seen.all_rows for seen in reads)
    if refused != quarantined:
        raise StagedSetWrong(
            order.window,
            f"{what} has {quarantined.count} bad records and {refused.count} other quarantine rows",
        )
    if written + quarantined + filtered != all_rows:
        raise StagedSetWrong(
            order.window,
            f"{what} read {all_rows.count}, wrote {written.count}, quarantined "
            f"{quarantined.count}, filtered {filtered.count}, or not the same ones",
        )


def _name_of(group: FileGroup) -> str:
    ranges = group.ranges
    return str(ranges[0]) if len(ranges) == 1 else f"{ranges[0]} to {ranges[-1]}"


def _check_records(
    order: StageOrder, evidence: tuple[RangeEvidence, ...], staged: StagedWindow
) -> None:
    """Every bad record is named, because replay will take the names for the truth."""
    named = records_evidence(staged.quarantined)
    wanted = Evidence.total(seen.quarantined for seen in evidence)
    if named != wanted:
        raise StagedSetWrong(
            order.window, f"{wanted.count} bad records, and {named.count} named, or not the same"
        )
