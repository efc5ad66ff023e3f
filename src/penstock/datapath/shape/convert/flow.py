"""Rows on their way through converters: columns with their fields, and which rows they are.

A field at a path can be exchanged for others, at its place, also inside a struct.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from penstock.datapath.shape.convert.field_paths import Names, spellings
from penstock.datapath.shape.convert.rest_column import Rest
from penstock.model.arrow_types import arrow_type
from penstock.model.bad_records import BadRecord
from penstock.model.encryption_keys import Keys
from penstock.model.schema import Field, FieldType, struct_of, with_columns

Fields = tuple[Field, ...]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Made = list[tuple[str, FieldType, bool, pa.Array]]  # name, type, nullable, column
# Steps that would leave to be seen, or take away whole, what they do not find in a list.
_NOT_IN_VAIN = frozenset({"mask", "hash", "encrypt", "drop", "keep"})
Change = Callable[[Field, pa.Array], Made]


class ConvertImpossible(ValueError):
    """A step that makes no sense for the fields of a dataset: which, and why."""

    def __init__(self, verb: str, path: str, why: str) -> None:
        super().__init__(f"{verb} {path}: {why}")
        self.verb = verb
        self.path = path
        self.why = why


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the rows of a batch come from: offsets of one Kafka partition, in their order.

    Where no step depends on the partition they may be of several, one after the other.
    `numbers` are those of rows within their records; without, each is the first of its own. What
    follows is for steps that take more of the record: event times, Kafka's timestamps, keys as
    bytes, headers as JSON with values in base64, and the zone of days.
    """

    dataset: str = ""
    topic_id: str = ""
    partition: int = 0
    offsets: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    numbers: Rows | None = None
    topic: str = ""
    event_us: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    kafka_ms: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    keys: pa.Array = field(default_factory=lambda: pa.nulls(0, pa.binary()))
    headers: pa.Array = field(default_factory=lambda: pa.nulls(0, pa.string()))
    zone: str = "UTC"

    def positions(self, rows: Rows) -> list[tuple[int, int]]:
        """The offset and the number of some rows."""
        chosen = self.offsets[rows].tolist() if len(rows) else []
        numbers = [0] * len(rows) if self.numbers is None else self.numbers[rows].tolist()
        return list(zip(chosen, numbers, strict=True))


@dataclass(frozen=True, slots=True)
class Given:
    """What steps are given besides rows: secrets, and where the rows come from.

    A field that is set to null keeps its type, unless `null_is_text`.
    """

    keys: Keys = field(default_factory=Keys)
    origin: Origin = field(default_factory=Origin)
    null_is_text: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows on their way through a chain: their columns, and which rows of the batch they are.

    `rest` is what the rows of the batch hold for which there is no column.
    """

    fields: Fields
    columns: list[pa.Array]
    rows: Rows
    rest: Rest
    filtered: list[Rows] = field(default_factory=list)
    bad: list[BadRecord] = field(default_factory=list)

    def only(self, good: Mask) -> "Flow":
        """The rows that a mask keeps."""
        if bool(good.all()):
            return self
        mask = pa.array(good)
        columns = [column.filter(mask) for column in self.columns]
        return replace(self, columns=columns, rows=self.rows[good])

    def without(self, gone: Mask) -> "Flow":
        """The flow after a filter has let some rows go."""
        if not bool(gone.any()):
            return self
        return replace(self.only(~gone), filtered=[*self.filtered, self.rows[gone]])

    def refusing(self, gone: Mask, reason: str, detail: str) -> "Flow":
        """The flow after some rows were found to be bad, all of them for one reason."""
        if not bool(gone.any()):
            return self
        bad = [BadRecord(int(row), reason, detail) for row in self.rows[gone]]
        return replace(self.only(~gone), bad=[*self.bad, *bad])

    def at(self, path: str) -> tuple[Field, pa.Array] | None:
        """The field at a dotted path and its column; None if there is none."""
        fields, columns = self.fields, self.columns
        names = path.split(".")
        for depth, name in enumerate(names):
            place = next((n for n, each in enumerate(fields) if each.name == name), None)
            if place is None:
                return None
            if depth == len(names) - 1:
                return fields[place], columns[place]
            if fields[place].type.kind != "struct":
                return None
            columns, fields = columns[place].flatten(), fields[place].type.fields
        return None

    def changed(self, verb: str, path: str, change: Change) -> "Flow":
        """The flow with the fields that a path means exchanged for others, at their places."""
        flow = self
        for number, names in enumerate(spellings(verb, path)):
            check_path(verb, names, flow.fields)
            if not number or has_field(flow.fields, names):
                made = _changed_in(verb, list(flow.fields), flow.columns, names, change)
                flow = flow.having(verb, made)
        return flow

    def having(self, verb: str, made: Made) -> "Flow":
        """The flow with other columns."""
        fields = fields_of(verb, made, top=True)
        return replace(self, fields=fields, columns=[column for *_, column in made])

    def made(self) -> Made:
        """The columns, as they can be changed."""
        return made_of(self.fields, self.columns)


def check_path(verb: str, names: Names, fields: Fields) -> None:
    """Raise `ConvertImpossible` for a path into a list or a map, unless the step does no harm."""
    if verb not in _NOT_IN_VAIN:
        return
    for name in names[:-1]:
        found = next((each for each in fields if each.name == name), None)
        if found is None:
            return
        if found.type.kind in ("list", "map"):
            raise ConvertImpossible(verb, ".".join(names), f"it lies in a {found.type.kind}")
        fields = found.type.fields


def has_field(fields: Fields, names: Names) -> bool:
    """True when there is a field at the end of these names; not inside a list or a map."""
    found = next((each for each in fields if each.name == names[0]), None)
    return found is not None and (len(names) == 1 or has_field(found.type.fields, names[1:]))


def made_of(fields: Iterable[Field], columns: list[pa.Array]) -> Made:
    """Columns with their fields, as they can be changed."""
    return [(f.name, f.type, f.nullable, c) for f, c in zip(fields, columns, strict=True)]


def fields_of(verb: str, made: Made, *, top: bool) -> Fields:
    """The fields of columns; raises `ConvertImpossible` when two have one name."""
    names = [name for name, *_ in made]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConvertImpossible(verb, twice, "two fields would have this name")
    return with_columns([(name, kind, null) for name, kind, null, _ in made], top=top)


def _changed_in(
    verb: str, fields: Sequence[Field], columns: list[pa.Array], names: Names, change: Change
) -> Made:
    made: Made = []
    for each, column in zip(fields, columns, strict=True):
        if each.name != names[0]:
            made.append((each.name, each.type, each.nullable, column))
        elif len(names) == 1:
            made += change(each, column)
        elif each.type.kind == "struct":
            inside = _changed_in(verb, each.type.fields, column.flatten(), names[1:], change)
            made += as_struct(verb, each, column, inside)
        else:
            made.append((each.name, each.type, each.nullable, column))
    return made


def as_struct(verb: str, each: Field, column: pa.Array, inside: Made) -> Made:
    """A struct of what is left inside it; nothing, if nothing is."""
    if not inside:
        return []
    kind = struct_of(fields_of(verb, inside, top=False))
    mask = column.is_null() if column.null_count else None
    arrays = [array for *_, array in inside]
    made = pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)), mask=mask)
    return [(each.name, kind, each.nullable, made)]
