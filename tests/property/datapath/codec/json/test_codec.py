"""The fast way and the reference agree on every record, and no record affects another.

Method: schemas and events are generated, written in many spellings, and some are broken: cut,
prolonged, flipped, or given values of other types. A third judge, the standard library's parser,
says what is JSON at all.
"""

import json
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.json.batch_decode import Decoded
from penstock.datapath.codec.json.decoder import NOT_SCALAR, JsonDecoder
from penstock.datapath.codec.json.partial_decode import value_at
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.model.schema import (
    DatasetSchema,
    Field,
    FieldType,
)
from tests.helpers.json_events import (
    _all_nullable,
    accepting,
    broken,
    events_of,
    odd_events,
    schemas,
    spellings,
)

FAST = JsonDecoder()
REFERENCE = JsonDecoder(exact_only=True)


@st.composite
def batches(draw: st.DrawFn) -> tuple[DatasetSchema, list[bytes]]:
    """A schema, and good, odd and broken payloads in any order."""
    schema = draw(schemas().flatmap(accepting))
    sound = events_of(schema.fields).flatmap(spellings)
    any_payload = st.one_of(sound, odd_events(schema.fields), sound.flatmap(broken))
    return schema, draw(st.lists(any_payload, max_size=12))


def _same(one: Decoded, other: Decoded) -> bool:
    return (
        one.batch.equals(other.batch)
        and repr(one.batch.to_pylist()) == repr(other.batch.to_pylist())  # tells -0.0 from 0.0
        and np.array_equal(one.good, other.good)
        and (one.bad, one.unknown, one.unknown_at) == (other.bad, other.unknown, other.unknown_at)
    )


@given(batches())
def test_the_fast_way_gives_what_the_reference_gives(
    drawn: tuple[DatasetSchema, list[bytes]],
) -> None:
    schema, payloads = drawn
    values = pa.array(payloads, pa.binary())
    wanted = REFERENCE.decode(values, schema)
    wanted.batch.validate(full=True)
    assert wanted.batch.schema == arrow_schema(schema)
    assert _same(FAST.decode(values, schema), wanted)
    many = pa.concat_arrays([values] * 20)
    FAST.decode(many, schema)  # now unknown fields have been met often, and are read along
    assert _same(FAST.decode(values, schema), wanted)


@given(batches())
def test_a_record_means_the_same_in_any_company(drawn: tuple[DatasetSchema, list[bytes]]) -> None:
    schema, payloads = drawn
    together = FAST.decode(pa.array(payloads, pa.binary()), schema)
    rows = dict(zip(together.good.tolist(), together.batch.to_pylist(), strict=True))
    bad = {each.index: (each.reason, each.detail) for each in together.bad}
    assert sorted([*rows, *bad]) == list(range(len(payloads)))
    for index, payload in enumerate(payloads):
        alone = FAST.decode(pa.array([payload], pa.binary()), schema)
        if index in rows:
            assert repr(alone.batch.to_pylist()) == repr([rows[index]])
        else:
            assert [(each.reason, each.detail) for each in alone.bad] == [bad[index]]


def _expected(fields: tuple[Field, ...], event: dict[str, Any]) -> dict[str, Any]:
    return {field.column: _as_read(field.type, event.get(field.name)) for field in fields}


def _as_read(kind: FieldType, value: Any) -> Any:
    """What Arrow gives back for a value that was written."""
    if value is None:
        return None
    if kind.kind == "struct":
        return _expected(kind.fields, value)
    if kind.kind == "list" and kind.item:
        return [_as_read(kind.item, each) for each in value]
    if kind.kind == "map" and kind.item:
        return [(key, _as_read(kind.item, each)) for key, each in value.items()]
    if kind.kind == "timestamp_us":
        return pa.scalar(value * 1_000, pa.timestamp("us", tz="UTC")).as_py()
    return value


@given(st.data(), schemas())
def test_what_was_written_is_read(data: st.DataObject, schema: DatasetSchema) -> None:
    events = data.draw(st.lists(events_of(schema.fields), max_size=6))
    payloads = [data.draw(spellings(event)) for event in events]
    for codec in (FAST, REFERENCE):
        decoded = codec.decode(pa.array(payloads, pa.binary()), schema)
        assert decoded.bad == []
        rows = [_expected(schema.fields, event) | {"_rest": None} for event in events]
        assert repr(decoded.batch.to_pylist()) == repr(rows)


def _constant(word: str) -> float:
    raise ValueError(word)


def _is_json_object(payload: bytes) -> bool:
    """The third judge: the standard library, without its leniencies."""
    try:
        found = json.loads(payload.decode(), parse_constant=_constant)
        json.dumps(found, ensure_ascii=False).encode()  # fails for half a surrogate pair
    except ValueError:
        return False
    return isinstance(found, dict)


@given(batches())
def test_only_json_objects_are_read_and_all_of_them(
    drawn: tuple[DatasetSchema, list[bytes]],
) -> None:
    schema, payloads = drawn
    values = pa.array(payloads, pa.binary())
    shallow = [b"[" * 65 not in payload for payload in payloads]
    wanted = [
        index
        for index, payload in enumerate(payloads)
        if not (shallow[index] and _is_json_object(payload))
    ]
    assert [bad.index for bad in FAST.partial_decode(values, ("a", "user.b")).bad] == wanted
    inferred = DatasetSchema("d", 1, False, tuple(map(_all_nullable, schema.fields)))
    assert [bad.index for bad in FAST.decode(values, inferred).bad] == wanted


@given(batches(), st.lists(st.sampled_from(["a", "user", "user.b", "x.y", "é", 'q"']), unique=True))
def test_a_look_gives_what_the_record_holds(
    drawn: tuple[DatasetSchema, list[bytes]], paths: list[str]
) -> None:
    payloads = drawn[1]
    partial = FAST.partial_decode(pa.array(payloads, pa.binary()), tuple(paths))
    bad = {each.index for each in partial.bad}
    for path, column in zip(paths, partial.fields, strict=True):
        assert len(column) == len(payloads)
        for index, payload in enumerate(payloads):
            found = None if index in bad else value_at(payload, path)
            assert repr(column[index]) == repr(found)
            if index not in bad and found is not NOT_SCALAR:
                assert found == _walk(json.loads(payload), path)


def _walk(event: Any, path: str) -> Any:
    for name in path.split("."):
        event = event.get(name) if isinstance(event, dict) else None
    return event


@given(batches())
def test_what_has_no_column_is_all_in_the_rest(drawn: tuple[DatasetSchema, list[bytes]]) -> None:
    """Goal: an inferred schema loses only what says nothing.

    Method: columns and rest, put together.
    """
    schema, payloads = drawn
    plain = [field for field in schema.fields if _is_inferable(field.type)]
    inferred = DatasetSchema("d", 1, False, tuple(map(_all_nullable, plain)))
    decoded = FAST.decode(pa.array(payloads, pa.binary()), inferred)
    for index, row in zip(decoded.good.tolist(), decoded.batch.to_pylist(), strict=True):
        event = json.loads(payloads[index])
        rest = json.loads(row["_rest"] or "{}")
        for name, value in event.items():
            known = next((field for field in inferred.fields if field.name == name), None)
            if known is None and name not in rest:
                assert _says_nothing(value)
            elif known is None or row[known.column] is None:
                assert rest.get(name) == value
            elif name not in rest:
                assert repr(row[known.column]) == repr(
                    _as_read(known.type, _doubles(known.type, value))
                )


def _says_nothing(value: Any) -> bool:
    """True for null, and for lists and objects that hold nothing else."""
    if isinstance(value, dict):
        return all(map(_says_nothing, value.values()))
    return value is None or (isinstance(value, list) and all(map(_says_nothing, value)))


def _is_inferable(kind: FieldType) -> bool:
    """Dates, timestamps and decimals are only ever declared, never inferred."""
    inner = [kind.item] if kind.item else [field.type for field in kind.fields]
    is_plain = kind.kind not in ("date", "timestamp_us", "decimal") and not kind.accepts
    return is_plain and all(_is_inferable(each) for each in inner)


def _doubles(kind: FieldType, value: Any) -> Any:
    """The value with integers as doubles where the column holds doubles."""
    if value is None:
        return None
    if kind.kind == "double":
        return float(value)
    if kind.kind == "list" and kind.item:
        return [_doubles(kind.item, each) for each in value]
    if kind.kind == "map" and kind.item:
        return {key: _doubles(kind.item, each) for key, each in value.items()}
    if kind.kind == "struct":
        return {f.name: _doubles(f.type, value.get(f.name)) for f in kind.fields}
    return value
