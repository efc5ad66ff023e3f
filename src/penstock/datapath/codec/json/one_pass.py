"""Records of many datasets in one pass: the parser itself tells them apart by the route's field.

The usual way looks at a record's route first and decodes it afterwards, and so reads it twice. Here
the parser is given one struct per dataset, tagged with the route's text. What it accepts is what
both looks together would have given: the tag must be there, as a text, and if it comes twice both
must agree; all other fields obey the rules of the fast way. What it refuses is left to the usual
way, whatever the cause, so nothing is judged here.

Records that seem to belong to the same dataset, by a guess at their tags, are parsed together. So
columns are made of hundreds of records at once, also where hundreds of datasets are mixed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, pairwise, repeat
from operator import attrgetter
from typing import Union

import msgspec
import numpy as np
import pyarrow as pa

from penstock.datapath.codec.json.columns import columns_of
from penstock.datapath.codec.json.decode_plan import (
    DecodePlan,
    JsonField,
    JsonObject,
    plan_of,
    tagged_struct,
)
from penstock.datapath.codec.json.payload import PARSER_ERRORS, Screen, refuse
from penstock.datapath.codec.json.route_guess import NOT_GUESSED, code_type, guess_routes
from penstock.datapath.codec.json.template_search import TemplateSearch, values_at
from penstock.datapath.codec.json.unknown_fields import frequent_unknown
from penstock.datapath.codec.json.value_count import value_counter
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE, widest_item
from penstock.datapath.codec.shared.value_types import ColumnValue, ParsedRecord
from penstock.model.schema import DatasetSchema

_NO_PART = -1
# Kinds whose parsed value is the very one that a look at the field gives. A look at 5 gives the
# integer, a column of doubles 5.0: so doubles are not among them.
_SAME_AS_LOOKED_AT = frozenset({"boolean", "int64", "string", "date", "timestamp_us"})
# When more than this share of a batch is refused, the next one is not tried; then two, then four.
_HOPELESS = 0.5
_LONGEST_PAUSE = 16

# Small enough that parsed objects stay in the processor's cache until they are columns, and large
# enough that the pieces of columns are worth making.
_CHUNK = 1_024
_VALUE_BYTES = 8

Values = list[ColumnValue]
Getter = Callable[[Values], Values]


@dataclass(frozen=True, slots=True)
class DatasetRecords:
    """The records of one dataset: which they were, their columns, and the wanted fields' values.

    The values of a field are a list, or the very column where that holds whole numbers.
    """

    schema: DatasetSchema
    members: Numbers
    batch: pa.RecordBatch
    fields: dict[str, Values | pa.Array]


@dataclass(frozen=True, slots=True, eq=False)
class _CompiledDataset:
    """One dataset, compiled: its tag, its plan without the tag's field, and looks at the paths.

    A path that is a column of whole numbers needs no look; `columns` says which column it is.
    `heavy` are the columns whose values only their bytes tell, since they hold lists of objects.
    """

    tag: str
    text: str
    schema: DatasetSchema
    plan: DecodePlan
    record: JsonObject
    tag_at: int | None
    getters: dict[str, Getter]
    columns: dict[str, int]
    heavy: tuple[int, ...]


class OnePass:
    """Reads batches of one route. Executor; one per task, since it remembers what is hopeless.

    `schemas` are by the text of the field `tag`; datasets that cannot be read exactly this way are
    passed over. Without a tag there is one schema, for all records.
    """

    def __init__(
        self,
        schemas: Mapping[str, DatasetSchema],
        tag: str,
        paths: tuple[str, ...],
        limits: Limits,
    ) -> None:
        self._schemas = sorted(schemas.items())
        self._plans = [plan_of(schema) for _, schema in self._schemas]
        self._tag = tag
        self._paths = paths
        self._limits = limits
        self._pause = 0
        self._patience = 1
        self._compile()

    def read(self, values: pa.Array, put: Callable[[DatasetRecords], None]) -> Numbers:
        """Hand over the records that could be read, by dataset; the numbers of those that are left.

        A dataset whose records become very many values is handed over in several parts.
        """
        if not self._datasets or self._pause or Screen(values, self._limits).too_long():
            self._pause = max(self._pause - 1, 0)
            return np.arange(len(values))
        if self._nulls != self._frequent_unknown():
            self._compile()
        found = [_DatasetColumns(kind, put) for kind in self._datasets]
        left = [
            rows if is_heavy else self._read_chunk(rows, payloads.to_pylist(), found)
            for rows, payloads, is_heavy in self._chunks(values, found)
        ]
        for each in found:
            each.hand_over()
        is_hopeless = sum(map(len, left)) > _HOPELESS * len(values)
        self._patience = min(self._patience * 2, _LONGEST_PAUSE) if is_hopeless else 1
        self._pause = self._patience // 2 if is_hopeless else 0
        return np.sort(np.concatenate(left)) if left else np.empty(0, np.int64)

    def _chunks(
        self, values: pa.Array, found: list["_DatasetColumns"]
    ) -> Iterator[tuple[Numbers, pa.Array, bool]]:
        """The records in chunks, each of one kind as far as that can be guessed.

        Those that are written alike are read before, and are in no chunk. A record that may become
        too much is a chunk of its own, and marked. Guesses can be wrong: any kind may be widest.
        """
        for number, rows, payloads in self._by_kind(values):
            if number != NOT_GUESSED:
                searched = self._searches[number].search(rows, payloads, self._decode_light)
                for some, columns in searched.read:
                    found[number].add_columns(some, columns)
                rows, payloads = searched.rows, searched.payloads
            for chunk in self._counter.chunks(payloads, _CHUNK, self._limits.max_values):
                some = rows[chunk.start : chunk.stop]
                yield some, payloads.slice(chunk.start, len(chunk)), chunk.is_heavy

    def _by_kind(self, values: pa.Array) -> Iterator[tuple[int, Numbers, pa.Array]]:
        """The records by the dataset that they seem to belong to."""
        if len(self._datasets) == 1:
            yield 0, np.arange(len(values)), values
            return
        codes = guess_routes(values, self._tag, self._texts)
        order = np.argsort(codes, kind="stable")
        values, codes = values.take(pa.array(order)), codes[order]
        ends = [*(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
        for start, end in pairwise([0, *ends] if len(codes) else []):
            yield int(codes[start]), order[start:end], values.slice(start, end - start)

    def _frequent_unknown(self) -> list[tuple[str, ...]]:
        """Per dataset the fields without a column that keep coming, mostly because they are null.

        The usual way has counted them; a parser that knows them need not refuse their records.
        """
        return [frequent_unknown(plan) for plan in self._plans]

    def _compile(self) -> None:
        self._nulls = self._frequent_unknown()
        found = [
            _compiled(text, schema, self._tag, self._paths, nulls)
            for (text, schema), nulls in zip(self._schemas, self._nulls, strict=True)
        ]
        self._datasets = [kind for kind in found if kind is not None]
        self._number = {kind.record.make: number for number, kind in enumerate(self._datasets)}
        self._texts = {kind.text: number for number, kind in enumerate(self._datasets)}
        self._counter = value_counter(
            0, max((kind.plan.counter.widest for kind in self._datasets), default=0)
        )
        self._searches = [
            TemplateSearch(kind.record, self._tag, kind.text) for kind in self._datasets
        ]
        classes = tuple(kind.record.make for kind in self._datasets)
        if self._tag:
            # With a single class the parser would not ask for the tag. No dataset has this one.
            classes += (tagged_struct((), self._tag, ""),)
        self._decode: Callable[[bytes], ParsedRecord] = refuse
        if self._datasets:
            self._decode = msgspec.json.Decoder(Union[classes]).decode  # noqa: UP007

    def _decode_light(self, payload: bytes) -> ParsedRecord:
        """Parse a record that may become a template, unless it may become too much."""
        is_light = self._counter.bound_of(len(payload)) <= self._limits.max_values
        return self._decode(payload) if is_light else refuse(payload)

    def _read_chunk(
        self, rows: Numbers, payloads: list[bytes], found: list["_DatasetColumns"]
    ) -> Numbers:
        """Parse a chunk and add its records to what was found; the numbers of those left."""
        objects = _parsed(self._decode, payloads)
        kinds = set(map(type, objects))
        if len(kinds) == 1:
            number = self._number.get(kinds.pop(), _NO_PART)
            if number == _NO_PART:
                return rows
            found[number].add(rows, objects)
            return rows[:0]
        numbers = map(self._number.get, map(type, objects), repeat(_NO_PART))
        codes = np.fromiter(numbers, code_type(len(self._datasets)), len(objects))
        for number in np.unique(codes[codes != _NO_PART]).tolist():
            members = np.flatnonzero(codes == number)
            mine = [objects[member] for member in members.tolist()]
            found[number].add(rows[members], mine)
        left: Numbers = rows[codes == _NO_PART]
        return left


class _DatasetColumns:
    """What was read of one dataset so far, a chunk at a time, until it is handed over."""

    def __init__(self, kind: _CompiledDataset, put: Callable[[DatasetRecords], None]) -> None:
        self._compiled = kind
        self._put = put
        self._begin()

    def _begin(self) -> None:
        self._values = 0
        self.members: list[Numbers] = []
        self.columns: list[list[pa.Array]] = []
        self.fields: list[dict[str, Values]] = []

    def add(self, members: Numbers, objects: Values) -> None:
        """Turn the objects of a chunk into columns."""
        getters = {path: getter(objects) for path, getter in self._compiled.getters.items()}
        self._keep(members, columns_of(self._compiled.record, objects), getters)

    def add_columns(self, members: Numbers, columns: list[pa.Array]) -> None:
        """Take records whose columns are there already."""
        kind, count = self._compiled, len(members)
        getters = {
            path: [kind.text] * count
            if path == kind.tag
            else values_at(kind.record, columns, path, count)
            for path in kind.getters
        }
        self._keep(members, columns, getters)

    def _keep(self, members: Numbers, columns: list[pa.Array], getters: dict[str, Values]) -> None:
        self.members.append(members)
        self.columns.append(columns)
        self.fields.append(getters)
        self._values += len(members) * self._compiled.plan.counter.width
        self._values += sum(columns[at].nbytes for at in self._compiled.heavy) // _VALUE_BYTES
        if self._values > MOST_AT_ONCE:
            self.hand_over()

    def hand_over(self) -> None:
        """Let go of everything that was read, if there is anything."""
        if self.members:
            self._put(_part(self._compiled, self))
            self._begin()


def _parsed(decode: Callable[[bytes], ParsedRecord], payloads: list[bytes]) -> list[ParsedRecord]:
    """One object per payload; None where the parser refused."""
    objects: list[ParsedRecord] = []
    rest = iter(payloads)
    while len(objects) < len(payloads):
        try:
            objects.extend(map(decode, rest))
        except PARSER_ERRORS:  # what was parsed before is kept, and the refused one is consumed
            objects.append(None)
    return objects


def _part(kind: _CompiledDataset, found: _DatasetColumns) -> DatasetRecords:
    """Everything that was found of one dataset as one batch, in the order of the records."""
    members, arrays = found.members[0], list(found.columns[0])
    if len(found.members) > 1:
        members = np.concatenate(found.members)
        arrays = [pa.concat_arrays(pieces) for pieces in zip(*found.columns, strict=True)]
    if kind.tag_at is not None:
        arrays.insert(kind.tag_at, pa.repeat(pa.scalar(kind.text, pa.string()), len(members)))
    arrays.append(pa.nulls(len(members), pa.string()))
    batch = pa.RecordBatch.from_arrays(arrays, schema=kind.plan.schema)
    fields: dict[str, Values | pa.Array] = {
        path: list(chain.from_iterable(each[path] for each in found.fields))
        for path in kind.getters
    }
    if bool((members[1:] < members[:-1]).any()):  # some guesses were wrong
        order = np.argsort(members)
        members, batch = members[order], batch.take(pa.array(order))
        fields = {path: [values[at] for at in order.tolist()] for path, values in fields.items()}
    fields |= {path: batch.column(at) for path, at in kind.columns.items()}
    return DatasetRecords(kind.schema, members, batch, fields)


@lru_cache(maxsize=512)
def _compiled(
    text: str, schema: DatasetSchema, tag: str, paths: tuple[str, ...], nulls: tuple[str, ...]
) -> _CompiledDataset | None:
    """Compile one dataset, or None when only the usual way is exact for it."""
    plan = plan_of(schema)
    members, tag_at = plan.root.members, None
    if plan.decode is None:
        return None
    if tag:
        named = [at for at, each in enumerate(members) if each.name == tag]
        if not named or members[named[0]].shape.type.kind != "string" or not _is_text(text):
            return None
        tag_at = named[0]
        members = members[:tag_at] + members[tag_at + 1 :]
    columns = {
        path: at
        for at, path in enumerate(each.name for each in plan.root.members)
        if path in paths and "." not in path and _is_whole_number(plan.root.members[at])
    }
    getters = {
        path: _getter_for(members, path, text if path == tag else None)
        for path in paths
        if path not in columns
    }
    exact = {path: getter for path, getter in getters.items() if getter is not None}
    if len(exact) < len(getters):
        return None
    make = tagged_struct(members, tag, text, tuple(name for name in nulls if name != tag))
    record = replace(plan.root, members=members, make=make)
    heavy = tuple(at for at, each in enumerate(members) if widest_item(each.shape.type))
    return _CompiledDataset(tag, text, schema, plan, record, tag_at, exact, columns, heavy)


def _is_whole_number(member: JsonField) -> bool:
    return member.shape.type.kind == "int64"


def _is_text(text: str) -> bool:
    """False for half of a surrogate pair, which no parser takes as a tag."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _getter_for(members: tuple[JsonField, ...], path: str, constant: str | None) -> Getter | None:
    """How to get the values at a path; None when they are not what a look would give."""
    if constant is not None:
        return lambda objects: [constant] * len(objects)
    names = path.split(".")
    attributes = []
    for depth, name in enumerate(names, start=1):
        found = next((member for member in members if member.name == name), None)
        if found is None:
            return lambda objects: [None] * len(objects)  # unknown fields are refused
        attributes.append(found.attribute)
        if depth == len(names):
            exact = found.shape.type.kind in _SAME_AS_LOOKED_AT
            return _getter(attributes) if exact else None
        if found.shape.record is None:
            return None
        members = found.shape.record.members
    return None


def _getter(attributes: list[str]) -> Getter:
    """Follow attributes from every object; nothing leads to nothing."""

    def getter(objects: Values) -> Values:
        reached = objects
        for attribute in attributes:
            get = attrgetter(attribute)
            if reached is objects:
                reached = list(map(get, reached))
            else:
                reached = [None if each is None else get(each) for each in reached]
        return reached

    return getter
