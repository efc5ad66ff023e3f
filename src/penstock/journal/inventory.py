"""Which files and quarantined records are live: the long part of the fold, made on demand.

Owners never need it. Commands that consume files or records do: an entry whose inputs are not all
live was planned on something that has changed since, and would deliver records twice.
"""

from penstock.model.entries import Compact, Drop, Entry, Generation, Replace, Replay, Retire, Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import Content, RecordSet
from penstock.model.ranges import OffsetSet
from penstock.model.value import Value

RecordsKey = tuple[str, int, str]


class LiveFile(Value, frozen=True):
    """A file that a reader may trust, and the entry that delivered it."""

    number: int
    dataset: str
    evidence: Evidence


class Inventory:
    """Live files by final name, and live quarantined records by partition and dataset."""

    def __init__(self) -> None:
        self.files: dict[str, LiveFile] = {}
        self.records: dict[RecordsKey, OffsetSet] = {}

    def objection(self, entry: Entry, content: Content, undone: frozenset[int]) -> str | None:
        """Why this entry may not consume what it names, or None."""
        if isinstance(entry.body, Replace):
            return None
        return (
            self._inputs_objection(content, undone)
            or self._records_objection(content)
            or self._outputs_objection(content)
            or self._balance_objection(entry, content)
        )

    def apply(self, entry: Entry, content: Content) -> None:
        """Take an entry's files and records in, and out."""
        if isinstance(entry.body, Replace):
            return
        for final in content.inputs:
            self.files.pop(final, None)
        for consumed in content.records:
            key = _records_key(consumed)
            self.records[key] = self.records.get(key, OffsetSet()) - consumed.offsets
        for file in content.files:
            self.files[file.handle.final] = LiveFile(entry.number, file.dataset, file.evidence)
        for arrived in content.quarantined:
            key = _records_key(arrived)
            self.records[key] = self.records.get(key, OffsetSet()) | arrived.offsets

    def _inputs_objection(self, content: Content, undone: frozenset[int]) -> str | None:
        if len(set(content.inputs)) != len(content.inputs):
            return "an input is named twice"
        for final in content.inputs:
            live = self.files.get(final)
            if live is None:
                return f"its input {final!r} is not live any more"
            if live.number in undone:
                return f"its input {final!r} belongs to entry {live.number}, which is not done"
        return None

    def _records_objection(self, content: Content) -> str | None:
        for consumed in content.records:
            live = self.records.get(_records_key(consumed), OffsetSet())
            gone = consumed.offsets - live
            if gone.runs:
                return f"its records {gone} of partition {consumed.partition} are not live any more"
        return None

    def _outputs_objection(self, content: Content) -> str | None:
        for file in content.files:
            if file.handle.final in self.files:
                return f"its file {file.handle.final!r} is there already"
        return None

    def _balance_objection(self, entry: Entry, content: Content) -> str | None:
        """What comes out must be what went in, row by row; retention and drops give nothing."""
        body = entry.body
        if isinstance(body, Compact):
            into = Evidence.total(self.files[final].evidence for final in content.inputs)
        elif isinstance(body, Replay):
            into = _records_evidence(content.records)
        elif isinstance(body, Window | Generation):
            return None  # these are balanced against what was read, before they are decided
        elif isinstance(body, Retire | Drop):
            into = Evidence()
        else:
            return None
        out = Evidence.total(file.evidence for file in content.files)
        return None if out == into else f"it takes {into.count} rows and gives {out.count} others"


def _records_key(records: RecordSet) -> RecordsKey:
    return (records.topic_id, records.partition, records.dataset)


def _records_evidence(records: tuple[RecordSet, ...]) -> Evidence:
    return Evidence.total(Evidence.of_positions(part.partition, part.offsets) for part in records)
