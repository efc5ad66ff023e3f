"""Which files and quarantined records are live: the long part of the fold, made on demand.

Owners never need it. Commands that consume files or records do: an entry whose inputs are not all
live was planned on something that has changed since, and would deliver records twice.

An inventory that was opened from a checkpoint loads a shard when it is first asked about something
in it, so an entry is judged on all shards that it touches. A partial inventory is for readers: it
has only the shards that are wanted, and judges only what lies in them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, assert_never

import msgspec

from penstock.api.later import Later
from penstock.model.entries import (
    AnyBody,
    Bind,
    Compact,
    ConsumedGroups,
    Consuming,
    Drop,
    Entry,
    Finalize,
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
from penstock.model.envelope import Claim, Seal
from penstock.model.evidence import Evidence
from penstock.model.lanes import dataset_of
from penstock.model.manifest import QUARANTINE, Content, Input, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value
from penstock.protocol.feed_book.inventory_objects import Shard, ShardFile
from penstock.protocol.feed_book.shard_names import (
    FILES,
    QUARANTINE_FILES,
    RECORDS,
    Wanted,
    file_shard,
    of_dataset,
    records_shard,
    touched_shards,
)
from penstock.protocol.journal.book_state import UndoneEntry

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
        case Park() | Unpark() | Replace() | Finalize() | Seal():
            return False
        case _ as never:
            assert_never(never)


class LiveFile(Value, frozen=True):
    """A file that a reader may trust, and the entry that delivered it."""

    number: int
    dataset: str
    evidence: Evidence


class KeptShards(Protocol):
    """The shards of a checkpoint. Each is handed out once, when it is first needed."""

    @property
    def number(self) -> int:
        """The entry up to which they are."""
        ...

    @property
    def datasets(self) -> Iterable[str]:
        """The datasets with live files at that entry, also those that are not wanted."""
        ...

    @property
    def waiting(self) -> Iterable[str]:
        """The names of those that were not taken yet."""
        ...

    def take(self, names: Iterable[str]) -> Iterable[Shard]:
        """Read these shards, all of them; names without a shard are empty."""
        ...


class Inventory:
    """Live files by final name, and live quarantined records by partition, dataset and row."""

    def __init__(self, kept: KeptShards | None = None, wanted: Wanted | None = None) -> None:
        self._files: dict[str, LiveFile] = {}
        self._records: dict[RecordsKey, OffsetSet] = {}
        self._quarantine: dict[str, tuple[OffsetRange, ...]] = {}
        self._kept = kept
        self._wanted = wanted
        self._datasets: set[str] = set() if kept is None else set(kept.datasets)
        self.changed: set[str] = set()  # the shards that differ from those of the checkpoint

    @property
    def kept_number(self) -> int:
        """The entry of the checkpoint that it was opened from; -1 for none."""
        return -1 if self._kept is None else self._kept.number

    @property
    def is_whole(self) -> bool:
        """False for a partial inventory, on which nothing may be appended that consumes."""
        return self._wanted is None

    @property
    def files(self) -> dict[str, LiveFile]:
        """All live files, by final name."""
        self._load_if(lambda name: name.startswith(FILES))
        return self._files

    @property
    def records(self) -> dict[RecordsKey, OffsetSet]:
        """All quarantined records; a set is empty when they have all left."""
        self._load_if(lambda name: name.startswith(RECORDS))
        return self._records

    @property
    def quarantine(self) -> dict[str, tuple[OffsetRange, ...]]:
        """The files of the quarantine, and the ranges that they cover."""
        self._load_if(lambda name: name.startswith(QUARANTINE_FILES))
        return self._quarantine

    def files_of(self, dataset: str, day: str = "") -> dict[str, LiveFile]:
        """The live files of one dataset, perhaps of one day only."""
        wanted = of_dataset(dataset, day)
        self._load_if(wanted)
        return {
            final: live
            for final, live in self._files.items()
            if live.dataset == dataset and (not day or wanted(file_shard(final)))
        }

    def forget(self, dataset: str) -> None:
        """Give back the memory of a dataset's files, of a partial inventory that is only read."""
        if self.is_whole:
            raise ValueError("a whole inventory judges entries, and must not forget anything")
        self._files = {f: live for f, live in self._files.items() if live.dataset != dataset}

    def datasets(self) -> set[str]:
        """The datasets with files, also of shards that are not wanted; perhaps some without."""
        return self._datasets | {live.dataset for live in self._files.values()}

    def live(self, final: str) -> LiveFile | None:
        """The live file with this final name."""
        if self._kept is not None:
            self._load((file_shard(final),))
        return self._files.get(final)

    def part_of(self, content: Content) -> Content:
        """The part of an entry's content that lies in the wanted shards."""
        if self._wanted is None:
            return content
        self._datasets.update(file.dataset for file in content.files)
        return msgspec.structs.replace(
            content,
            files=tuple(f for f in content.files if self._wanted(file_shard(f.handle.final))),
            inputs=tuple(i for i in content.inputs if self._wanted(file_shard(i.final))),
            quarantined=tuple(r for r in content.quarantined if self._wanted(_shard_of(r))),
            records=tuple(r for r in content.records if self._wanted(_shard_of(r))),
        )

    def need(self, content: Content) -> None:
        """Load the shards that an entry with this content touches, side by side."""
        if self._kept is not None:
            self._load(touched_shards(content))

    def shards(self, names: Iterable[str]) -> list[Shard]:
        """The content of these shards as it is now, in order of names; without empty ones."""
        wanted = set(names)
        self._load(wanted)
        files: dict[str, list[ShardFile]] = {}
        for final, live in sorted(self._files.items()):
            if (name := file_shard(final)) in wanted:
                ranges = self._quarantine.get(final, ())
                files.setdefault(name, []).append(ShardFile(final, *_facts(live), ranges))
        records: dict[str, list[RecordSet]] = {}
        for (topic, topic_id, partition, dataset, row), offsets in sorted(self._records.items()):
            if (name := records_shard(topic_id, partition)) in wanted:
                part = RecordSet(topic, topic_id, partition, dataset, offsets, row)
                records.setdefault(name, []).append(part)
        return [
            Shard(name, tuple(files.get(name, ())), tuple(records.get(name, ())))
            for name in sorted(files.keys() | records.keys())
        ]

    def _load_if(self, wanted: Wanted) -> None:
        if self._kept is not None:
            self._load([name for name in self._kept.waiting if wanted(name)])

    def _load(self, names: Iterable[str]) -> None:
        """Take these shards in, unless they are loaded, or there are none of the name."""
        if self._kept is None:
            return
        waiting = self._kept.waiting
        for shard in self._kept.take({name for name in names if name in waiting}):
            for file in shard.files:
                self._files[file.final] = LiveFile(file.number, file.dataset, file.evidence)
                if file.dataset == QUARANTINE:
                    self._quarantine[file.final] = file.ranges
            for part in shard.records:
                self._records[_records_key(part)] = part.offsets

    def objection(
        self, entry: Entry, content: Content, undone: Mapping[int, UndoneEntry]
    ) -> str | None:
        """Why this entry may not consume what it names, or None."""
        if isinstance(entry.body, Replace):
            return None
        self.need(content)
        why = (
            self._inputs_objection(content, undone)
            or self._records_objection(content)
            or self._outputs_objection(content)
        )
        if why is not None or not self.is_whole:
            return why  # the rest can only be judged on everything that goes in and comes out
        return (
            self._consumed_objection(entry, content)
            or self._quarantine_objection(entry, content)
            or self._balance_objection(entry, content)
        )

    def apply(self, entry: Entry, content: Content) -> None:
        """Take an entry's files and records in, and out."""
        if isinstance(entry.body, Replace):
            return
        self.need(content)
        self.changed.update(touched_shards(content))
        for taken in content.inputs:
            self._files.pop(taken.final, None)
            self._quarantine.pop(taken.final, None)
        for consumed in content.records:
            key = _records_key(consumed)
            self._records[key] = self._live_records(consumed) - consumed.offsets
        for file in content.files:
            self._files[file.handle.final] = LiveFile(entry.number, file.dataset, file.evidence)
            if file.dataset == QUARANTINE:
                self._quarantine[file.handle.final] = file.ranges
        for arrived in content.quarantined:
            key = _records_key(arrived)
            self._records[key] = self._live_records(arrived) | arrived.offsets

    def groups_of(self, inputs: Iterable[Input]) -> tuple[ConsumedGroups, ...]:
        """The groups, by dataset and entry, whose live files these are."""
        named = list(inputs)
        self._load(file_shard(taken.final) for taken in named)
        numbers: dict[str, set[int]] = {}
        for taken in named:
            if (live := self._files.get(taken.final)) is not None:
                numbers.setdefault(taken.dataset, set()).add(live.number)
        return tuple(
            ConsumedGroups(dataset, OffsetSet.of(found))
            for dataset, found in sorted(numbers.items())
        )

    def _consumed_objection(self, entry: Entry, content: Content) -> str | None:
        """The groups that it names are those of its inputs: they are taken as proven done."""
        body = entry.body
        if not isinstance(body, Consuming) or body.consumes is None:
            return None
        if body.consumes != self.groups_of(content.inputs):
            return "it names other groups than those that its inputs belong to"
        return None

    def _inputs_objection(self, content: Content, undone: Mapping[int, UndoneEntry]) -> str | None:
        if len({taken.final for taken in content.inputs}) != len(content.inputs):
            return "an input is named twice"
        for taken in content.inputs:
            live, name = self._files.get(taken.final), f"its input {taken.final!r}"
            if live is None or live.dataset != taken.dataset:
                return f"{name} is not live any more"
            if any(dataset_of(p) == live.dataset for p in _parts(undone, live.number)):
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
            if key not in self._records:  # an empty set of something that nobody ever quarantined
                return f"no record of its partition {consumed.partition} was ever quarantined"
            left[key] = left[key] - consumed.offsets  # so that a record named twice is not live
        return None

    def _live_records(self, part: RecordSet) -> OffsetSet:
        return self._records.get(_records_key(part), OffsetSet())

    def _outputs_objection(self, content: Content) -> str | None:
        named: set[str] = set()
        for file in content.files:
            if file.handle.final in self._files:
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
            case Bind() | Claim() | Seal() | Start() | Gap() | Seek() | Rebind():
                return None  # they have no content
            case Park() | Unpark() | Finalize():
                return None  # nor have these any rows
            case _ as never:
                assert_never(never)
        out = Evidence.total(file.evidence for file in content.files)
        return None if out == into else f"it takes {into.count} rows and gives {out.count} others"

    def _compaction_objection(self, content: Content) -> str | None:
        """The rows of every dataset, each on its own: they must not change places."""
        datasets = {taken.dataset for taken in content.inputs}
        for dataset in sorted(datasets | {file.dataset for file in content.files}):
            into = Evidence.total(
                self._files[taken.final].evidence
                for taken in content.inputs
                if taken.dataset == dataset
            )
            out = Evidence.total(f.evidence for f in content.files if f.dataset == dataset)
            if into != out:
                return f"it takes {into.count} rows of {dataset} and gives {out.count} others"
        return None


def _facts(live: LiveFile) -> tuple[int, str, Evidence]:
    return live.number, live.dataset, live.evidence


def _shard_of(records: RecordSet) -> str:
    return records_shard(records.topic_id, records.partition)


def _parts(undone: Mapping[int, UndoneEntry], number: int) -> list[str]:
    found = undone.get(number)
    return [] if found is None else found.parts


def _records_key(records: RecordSet) -> RecordsKey:
    return (records.topic, records.topic_id, records.partition, records.dataset, records.row)
