"""Prove: what was staged is what was read, and what was read is what was planned. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import StagedSetWrong
from penstock.evidence.position_columns import records_evidence
from penstock.model.broken_groups import BrokenGroup
from penstock.model.entries import Counts
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import QUARANTINE, Content, ManifestFile
from penstock.model.ranges import OffsetRange
from penstock.model.window import StagedWindow, StageOrder


def prove(order: StageOrder, staged: StagedWindow) -> Content:
    """The content of the window's entry, or `StagedSetWrong` with what does not add up."""
    evidence = _evidence_of_all(order, staged)
    _check_names(order, staged.files)
    for seen in evidence:
        _check_range(order, seen, staged.files)
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
    for file in files:
        if len(file.ranges) != 1:
            raise StagedSetWrong(
                order.window, f"{file.handle.final!r} names {len(file.ranges)} ranges"
            )


def _check_range(order: StageOrder, seen: RangeEvidence, files: tuple[ManifestFile, ...]) -> None:
    covered = seen.range
    if not seen.offsets.within(covered) or len(seen.offsets) != seen.read.count:
        raise StagedSetWrong(
            order.window, f"{covered} gave {seen.read.count} records at offsets {seen.offsets}"
        )
    here = [file for file in files if file.ranges[0].lies_in(covered)]
    written = Evidence.total(file.evidence for file in here if file.dataset != QUARANTINE)
    refused = Evidence.total(file.evidence for file in here if file.dataset == QUARANTINE)
    if refused != seen.quarantined:
        raise StagedSetWrong(
            order.window,
            f"{covered} has {seen.quarantined.count} bad records and {refused.count} other "
            "quarantine rows",
        )
    if written + seen.quarantined + seen.filtered != seen.all_rows:
        raise StagedSetWrong(
            order.window,
            f"{covered} read {seen.all_rows.count}, wrote {written.count}, quarantined "
            f"{seen.quarantined.count}, filtered {seen.filtered.count}, or not the same ones",
        )


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
    owned = sum(len([f for f in staged.files if f.ranges[0].lies_in(s.range)]) for s in evidence)
    if owned != len(staged.files):
        raise StagedSetWrong(order.window, "a file lies outside the planned ranges")
