"""Which files and quarantined records are live: the long part of the fold, made on demand.

Owners never need it. Commands that consume files or records do: an entry whose inputs are not all
live was planned on something that has changed since, and would deliver records twice.
"""

from collections.abc import Callable, Iterable
from typing import assert_never

from penstock.api.later import Later
from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    Drop,
    Entry,
    Gap,
    Generation,
    Park,
    Rebind,
    Replace,
    Replay,
    Retire,
    Seek,
    Start,
    Unpark,
    Window,
)
from penstock.model.envelope import Claim
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE, Content, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

RecordsKey = tuple[str, str, int, str, int]
# Computed on columns; only a replay needs it, and most commands meet none.
_records_evidence: Callable[[Iterable[RecordSet]], Evidence] = Later(
    "penstock.evidence.position_columns:records_evidence"
)


def consumes(body: AnyBody) -> bool:
    """True for kinds that take files or records away: only a fold with an inventory can judge."""
    match body:
        case Replay() | Drop() | Compact() | Retire() | Generation():
            return True
        case Bind() | Claim() | Start() | Window() | Gap() | Seek() | Rebind():
            return False
        case Park() | Unpark() | Replace():
            return False
        case _ as never:
            assert_never(never)


class LiveFile(Value, frozen=True):
    """A file that a reader may trust, and the entry that delivered it."""

    number: int
    dataset: str
    evidence: Evidence


class Inventory:
    """Live files by final name, and live quarantined records by partition, dataset and row."""

    def __init__(self) -> None:
        self.files: dict[str, LiveFile] = {}
        self.records: dict[RecordsKey, OffsetSet] = {}
        self.quarantine: dict[str, tuple[OffsetRange, ...]] = {}  # its files, and what they cover

    def objection(self, entry: Entry, content: Content, undone: frozenset[int]) -> str | None:
        """Why this entry may not consume what it names, or None."""
        if isinstance(entry.body, Replace):
            return None
        return (
            self._inputs_objection(content, undone)
            or self._quarantine_objection(entry, content)
            or self._records_objection(content)
            or self._outputs_objection(content)
            or self._balance_objection(entry, content)
        )

    def apply(self, entry: Entry, content: Content) -> None:
        """Take an entry's files and records in, and out."""
        if isinstance(entry.body, Replace):
            return
        for taken in content.inputs:
            self.files.pop(taken.final, None)
            self.quarantine.pop(taken.final, None)
        for consumed in content.records:
            key = _records_key(consumed)
            self.records[key] = self._live_records(consumed) - consumed.offsets
        for file in content.files:
            self.files[file.handle.final] = LiveFile(entry.number, file.dataset, file.evidence)
            if file.dataset == QUARANTINE:
                self.quarantine[file.handle.final] = file.ranges
        for arrived in content.quarantined:
            key = _records_key(arrived)
            self.records[key] = self._live_records(arrived) | arrived.offsets

    def _inputs_objection(self, content: Content, undone: frozenset[int]) -> str | None:
        if len({taken.final for taken in content.inputs}) != len(content.inputs):
            return "an input is named twice"
        for taken in content.inputs:
            live, name = self.files.get(taken.final), f"its input {taken.final!r}"
            if live is None or live.dataset != taken.dataset:
                return f"{name} is not live any more"
            if live.number in undone:
                return f"{name} belongs to entry {live.number}, which is not done"
        return None

    def _quarantine_objection(self, entry: Entry, content: Content) -> str | None:
        """Raw bytes stay while any record of the quarantine may still find its way back."""
        if not isinstance(entry.body, Retire):
            return None
        taken = any(each.dataset == QUARANTINE for each in content.inputs)
        if taken and any(offsets.runs for offsets in self.records.values()):
            return "the quarantine still holds records; replay or drop them first"
        return None

    def _records_objection(self, content: Content) -> str | None:
        left = {_records_key(part): self._live_records(part) for part in content.records}
        for consumed in content.records:
            key = _records_key(consumed)
            gone = consumed.offsets - left[key]
            if gone.runs:
                return f"its records {gone} of partition {consumed.partition} are not live any more"
            if key not in self.records:  # an empty set of something that nobody ever quarantined
                return f"no record of its partition {consumed.partition} was ever quarantined"
            left[key] = left[key] - consumed.offsets  # so that a record named twice is not live
        return None

    def _live_records(self, part: RecordSet) -> OffsetSet:
        return self.records.get(_records_key(part), OffsetSet())

    def _outputs_objection(self, content: Content) -> str | None:
        named: set[str] = set()
        for file in content.files:
            if file.handle.final in self.files:
                return f"its file {file.handle.final!r} is there already"
            if file.handle.final in named:
                return f"it names the file {file.handle.final!r} twice"
            named.add(file.handle.final)
        return None

    def _balance_objection(self, entry: Entry, content: Content) -> str | None:
        """What comes out must be what went in, row by row; retention and drops give nothing."""
        match entry.body:
            case Compact():
                return self._compaction_objection(content)
            case Replay() as replay:
                count = sum(len(part.offsets) for part in content.records)
                if replay.corrections is not None and replay.corrections.records < count:
                    return f"it has fewer corrected records than the {count} that it takes"
                into = _records_evidence(content.records)
                into += Evidence.total(seen.extra for seen in content.evidence)
            case Retire() | Drop():
                into = Evidence()
            case Window() | Generation() | Replace():
                return None  # they are balanced against what was read
            case Bind() | Claim() | Start() | Gap() | Seek() | Rebind() | Park() | Unpark():
                return None  # they have no content
            case _ as never:
                assert_never(never)
        out = Evidence.total(file.evidence for file in content.files)
        return None if out == into else f"it takes {into.count} rows and gives {out.count} others"

    def _compaction_objection(self, content: Content) -> str | None:
        """The rows of every dataset, each on its own: they must not change places."""
        datasets = {taken.dataset for taken in content.inputs}
        for dataset in sorted(datasets | {file.dataset for file in content.files}):
            into = Evidence.total(
                self.files[taken.final].evidence
                for taken in content.inputs
                if taken.dataset == dataset
            )
            out = Evidence.total(f.evidence for f in content.files if f.dataset == dataset)
            if into != out:
                return f"it takes {into.count} rows of {dataset} and gives {out.count} others"
        return None


def _records_key(records: RecordSet) -> RecordsKey:
    return (records.topic, records.topic_id, records.partition, records.dataset, records.row)
