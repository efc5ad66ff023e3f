"""Converters: from the columns of an event to the columns that are kept.

A chain is compiled for the fields of one dataset, once. Every step says what becomes of the fields,
and does the same to whole columns; none looks at a record by itself. A value that a step cannot
turn makes its record bad, alone; a row that a filter does not let pass is counted as filtered.

    rename    another name for a field, at its place
    drop      the fields are gone
    keep      all other fields are gone
    cast      another type: text, whole number, fraction, truth value, decimal, day, time
    set       a field with one value for all rows, new or instead of an old one
    filter    rows that do not fulfil every condition are let go
    flatten   the fields inside a struct become fields beside it, `device.os` as `device_os`
    mask      texts are replaced by a fixed one, or all but their last characters are
    hash      the value's text as HMAC-SHA-256, in hexadecimal digits: equal values stay equal
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.model.convert import ConvertSpec
from penstock.model.rows import BadRecord
from penstock.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_US,
    Field,
    FieldType,
    decimal_of,
    struct_of,
    with_columns,
)
from penstock.shape.conditions import fulfils

CAST_FAILED = "CAST_FAILED"

Fields = tuple[Field, ...]
Rows = NDArray[np.int64]
Secrets = Mapping[str, bytes]
_MASK = "***"


class ConvertImpossible(ValueError):
    """A step that makes no sense for the fields of a dataset: which, and why."""

    def __init__(self, verb: str, path: str, why: str) -> None:
        super().__init__(f"{verb} {path}: {why}")
        self.path = path


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows on their way through a chain: their columns, and which rows of the batch they are."""

    fields: Fields
    columns: list[pa.Array]
    rows: Rows
    filtered: list[Rows] = field(default_factory=list)
    bad: list[BadRecord] = field(default_factory=list)

    def only(self, good: NDArray[np.bool_]) -> "Flow":
        """The rows that a mask keeps."""
        if bool(good.all()):
            return self
        mask = pa.array(good)
        columns = [column.filter(mask) for column in self.columns]
        return replace(self, columns=columns, rows=self.rows[good])


Step = Callable[[Flow], Flow]


def convert(
    steps: Sequence[ConvertSpec], fields: Fields, columns: list[pa.Array], secrets: Secrets
) -> Flow:
    """Lead the rows of a batch through all steps; the columns are those of the fields."""
    count = len(columns[0]) if columns else 0
    flow = Flow(fields, columns, np.arange(count))
    for spec in steps:
        flow = _STEPS[spec.verb](spec, secrets)(flow)
    return flow


def converted_fields(steps: Sequence[ConvertSpec], fields: Fields, secrets: Secrets) -> Fields:
    """What becomes of the fields of a dataset; raises `ConvertImpossible`."""
    empty = [pa.array([], arrow_type(each.type)) for each in fields]
    return convert(steps, fields, empty, secrets).fields


def arrow_type(kind: FieldType) -> pa.DataType:
    """The type of a column; the same as when records are read."""
    if kind.kind == "struct":
        return pa.struct([(each.column, arrow_type(each.type)) for each in kind.fields])
    if kind.item is not None:
        item = arrow_type(kind.item)
        return pa.list_(item) if kind.kind == "list" else pa.map_(pa.string(), item)
    if kind.kind == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    return _ARROW[kind.kind]


_ARROW = {
    "boolean": pa.bool_(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_us": pa.timestamp("us", tz="UTC"),
    "local_us": pa.timestamp("us"),
}


# --- paths ---------------------------------------------------------------------------------------


def _at(flow: Flow, path: str) -> tuple[Field, pa.Array] | None:
    """The field at a dotted path and its column; None if there is none."""
    fields, columns = flow.fields, flow.columns
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


Made = list[tuple[str, FieldType, bool, pa.Array]]  # name, type, nullable, column
Change = Callable[[Field, pa.Array], Made]


def _changed(flow: Flow, path: str, change: Change) -> Flow:
    """The flow with the field at a path exchanged for others, at its place."""
    made = _changed_in(list(flow.fields), flow.columns, path.split("."), change)
    return _with(flow, made)


def _with(flow: Flow, made: Made) -> Flow:
    fields = with_columns([(name, kind, null) for name, kind, null, _ in made], top=True)
    return replace(flow, fields=fields, columns=[column for *_, column in made])


def _changed_in(
    fields: Sequence[Field], columns: list[pa.Array], names: list[str], change: Change
) -> Made:
    made: Made = []
    for each, column in zip(fields, columns, strict=True):
        if each.name != names[0]:
            made.append((each.name, each.type, each.nullable, column))
        elif len(names) == 1:
            made += change(each, column)
        elif each.type.kind == "struct":
            inside = _changed_in(each.type.fields, column.flatten(), names[1:], change)
            made += _as_struct(each, column, inside)
        else:
            made.append((each.name, each.type, each.nullable, column))
    return made


def _as_struct(each: Field, column: pa.Array, inside: Made) -> Made:
    """A struct of what is left inside it; nothing, if nothing is."""
    if not inside:
        return []
    fields = with_columns([(name, kind, null) for name, kind, null, _ in inside], top=False)
    kind = struct_of(fields)
    mask = column.is_null() if column.null_count else None
    arrays = [array for *_, array in inside]
    made = pa.StructArray.from_arrays(arrays, fields=list(arrow_type(kind)), mask=mask)
    return [(each.name, kind, each.nullable, made)]


# --- steps ---------------------------------------------------------------------------------------


def _rename(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for path, name in zip(spec.paths, spec.words, strict=True):
            flow = _changed(flow, path, lambda f, c, n=name: [(n, f.type, f.nullable, c)])  # type: ignore[misc]
        names = [each.name for each in flow.fields]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ConvertImpossible("rename", twice, "two fields would have this name")
        return flow

    return step


def _drop(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for path in spec.paths:
            flow = _changed(flow, path, lambda _field, _column: [])
        return flow

    return step


def _keep(spec: ConvertSpec, _: Secrets) -> Step:
    wanted = frozenset(spec.paths)

    def step(flow: Flow) -> Flow:
        pairs = zip(flow.fields, flow.columns, strict=True)
        return _with(flow, [(f.name, f.type, f.nullable, c) for f, c in pairs if f.name in wanted])

    return step


def _set(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for name, value in zip(spec.paths, spec.constants, strict=True):
            kind = _kind_of(value)
            column = pa.repeat(pa.scalar(value, arrow_type(kind)), len(flow.rows))
            entry = (name, kind, value is None, column)
            if _at(flow, name) is not None:
                flow = _changed(flow, name, lambda _f, _c, e=entry: [e])  # type: ignore[misc]
            else:
                pairs = zip(flow.fields, flow.columns, strict=True)
                flow = _with(flow, [*((f.name, f.type, f.nullable, c) for f, c in pairs), entry])
        return flow

    return step


def _kind_of(value: Any) -> FieldType:
    for python, kind in ((bool, BOOLEAN), (int, INT64), (float, DOUBLE)):
        if isinstance(value, python):
            return kind
    return STRING


def _flatten(spec: ConvertSpec, _: Secrets) -> Step:
    def change(each: Field, column: pa.Array) -> Made:
        if each.type.kind != "struct":
            raise ConvertImpossible("flatten", each.name, f"it is a {each.type.kind}")
        pairs = zip(each.type.fields, column.flatten(), strict=True)
        return [(f"{each.name}_{f.name}", f.type, f.nullable or each.nullable, c) for f, c in pairs]

    def step(flow: Flow) -> Flow:
        for path in spec.paths:
            flow = _changed(flow, path, change)
        return flow

    return step


def _mask(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for path, word in zip(spec.paths, spec.words, strict=True):
            shown = int(word or 0)

            def change(each: Field, column: pa.Array, shown: int = shown) -> Made:
                texts = _as_texts("mask", each, column)
                rest = pc.utf8_slice_codeunits(texts, -shown, 2**31 - 1) if shown else ""
                masked = pc.binary_join_element_wise(_MASK, rest, "")
                hidden = pc.if_else(texts.is_null(), pa.scalar(None, pa.string()), masked)
                return [(each.name, STRING, each.nullable, hidden)]

            flow = _changed(flow, path, change)
        return flow

    return step


def _hash(spec: ConvertSpec, secrets: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for path, name in zip(spec.paths, spec.words, strict=True):
            key = secrets[name]

            def change(each: Field, column: pa.Array, key: bytes = key) -> Made:
                texts = _as_texts("hash", each, column).dictionary_encode()
                known = [
                    hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
                    for text in texts.dictionary.to_pylist()
                ]
                found = pa.array(known, pa.string()).take(texts.indices)
                return [(each.name, STRING, each.nullable, found)]

            flow = _changed(flow, path, change)
        return flow

    return step


def _as_texts(verb: str, each: Field, column: pa.Array) -> pa.Array:
    if each.type.kind in {"struct", "list", "map", "binary"}:
        raise ConvertImpossible(verb, each.name, f"it is a {each.type.kind}")
    return column if each.type.kind == "string" else column.cast(pa.string())


def _filter(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        good = np.ones(len(flow.rows), dtype=bool)
        for condition in spec.conditions:
            found = _at(flow, condition.path)
            good &= fulfils(pa.nulls(len(flow.rows)) if found is None else found[1], condition)
        gone = flow.rows[~good]
        kept = flow.only(good)
        return replace(kept, filtered=[*flow.filtered, gone]) if len(gone) else kept

    return step


def _cast(spec: ConvertSpec, _: Secrets) -> Step:
    def step(flow: Flow) -> Flow:
        for path, word in zip(spec.paths, spec.words, strict=True):
            flow = _cast_one(flow, path, cast_type(word))
        return flow

    return step


def cast_type(word: str) -> FieldType:
    """A type by the word for it; raises `ConvertImpossible`."""
    plain = {
        "string": STRING,
        "int64": INT64,
        "double": DOUBLE,
        "boolean": BOOLEAN,
        "date": DATE,
        "timestamp": TIMESTAMP_US,
    }
    if word in plain:
        return plain[word]
    if word.startswith("decimal(") and word.endswith(")"):
        digits = word[len("decimal(") : -1].split(",")
        if len(digits) == 2 and all(each.strip().isdigit() for each in digits):
            return decimal_of(int(digits[0]), int(digits[1]))
    raise ConvertImpossible(
        "cast", word, f"no such type; there are: {', '.join(plain)}, decimal(p, s)"
    )


def _cast_one(flow: Flow, path: str, kind: FieldType) -> Flow:
    """Cast all rows at once, or row by row where one does not go; that one is bad."""
    found = _at(flow, path)
    if found is None:
        return flow
    each, column = found
    if each.type.kind in {"struct", "list", "map"}:
        raise ConvertImpossible("cast", path, f"it is a {each.type.kind}")
    arrow = arrow_type(kind)
    try:
        made = column.cast(arrow)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if isinstance(error, pa.ArrowNotImplementedError):
            raise ConvertImpossible(
                "cast", path, f"a {each.type.kind} is no {kind.kind}"
            ) from error
        good = np.array([_goes(value, arrow) for value in column], dtype=bool)
        detail = f"$.{path}: not a {kind.kind}"
        bad = [BadRecord(int(row), CAST_FAILED, detail) for row in flow.rows[~good]]
        flow = replace(flow.only(good), bad=[*flow.bad, *bad])
        made = column.filter(pa.array(good)).cast(arrow)
    return _changed(flow, path, lambda f, _c: [(f.name, kind, f.nullable, made)])


def _goes(value: pa.Scalar, arrow: pa.DataType) -> bool:
    try:
        value.cast(arrow)
    except pa.ArrowInvalid:
        return False
    return True


_STEPS: dict[str, Callable[[ConvertSpec, Secrets], Step]] = {
    "rename": _rename,
    "drop": _drop,
    "keep": _keep,
    "cast": _cast,
    "set": _set,
    "filter": _filter,
    "flatten": _flatten,
    "mask": _mask,
    "hash": _hash,
}
