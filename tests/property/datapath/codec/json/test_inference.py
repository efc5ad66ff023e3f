"""Laws of learning: a schema holds what it was learned from, and growing only adds."""

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.inference import see
from penstock.datapath.codec.shared.limits import Limits
from penstock.model.schema import DatasetSchema, Field, FieldType
from tests.helpers.text_inference import entries_by_text

CODEC = JsonDecoder()
NAMES = st.sampled_from(["a", "A", "b", "c", "day", "_id", "é"])

# One generator per name, so that a name keeps its kind: samples without conflicts.
KINDS: dict[str, st.SearchStrategy[Any]] = {
    "a": st.integers(-(2**63), 2**63 - 1),
    "A": st.text(st.characters(codec="utf-8"), max_size=4),
    "b": st.booleans(),
    "c": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
    "day": st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=3),
}
OTHERS = {name: kind for name, kind in KINDS.items() if name != "a"}
CALM: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.fixed_dictionaries({"a": KINDS["a"]}, optional=OTHERS),
    lambda inner: st.fixed_dictionaries(
        {"a": KINDS["a"]}, optional=OTHERS | {"_id": inner, "é": st.lists(inner, max_size=2)}
    ),
    max_leaves=3,
)
WILD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.lists(st.dictionaries(NAMES, WILD, max_size=5), max_size=8)


def _payloads(events: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(event).encode("utf-8", "replace") for event in events]


def _has_nothing_empty(value: Any) -> bool:
    if isinstance(value, dict):
        return bool(value) and all(map(_has_nothing_empty, value.values()))
    if isinstance(value, list):
        return any(each is not None for each in value) and all(map(_has_nothing_empty, value))
    return True


@given(st.lists(CALM.filter(_has_nothing_empty), max_size=8))
def test_samples_without_conflicts_decode_without_a_rest(events: list[dict[str, Any]]) -> None:
    payloads = _payloads(events)
    schema = CODEC.infer(payloads, "d")
    decoded = CODEC.decode(pa.array(payloads, pa.binary()), schema)
    assert decoded.bad == []
    assert decoded.batch["_rest"].null_count == len(payloads)
    assert decoded.unknown == ()
    assert CODEC.promote(schema, payloads) is schema


@given(EVENTS)
def test_whatever_the_samples_are_nothing_is_bad(events: list[dict[str, Any]]) -> None:
    payloads = [each for each in _payloads(events) if b"Infinity" not in each]
    schema = CODEC.infer(payloads, "d")
    assert CODEC.decode(pa.array(payloads, pa.binary()), schema).bad == []


@given(EVENTS, EVENTS)
def test_promotion_only_adds(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    schema = CODEC.infer(_payloads(before), "d")
    promoted = CODEC.promote(schema, _payloads(after))
    assert _holds(promoted.fields, schema.fields)
    assert promoted == CODEC.promote(schema, _payloads(after))
    assert CODEC.promote(promoted, _payloads(after)) == promoted
    assert promoted.version == schema.version + (promoted.fields != schema.fields)


@given(EVENTS, EVENTS)
def test_what_was_read_before_a_promotion_is_read_after_it(
    before: list[dict[str, Any]], after: list[dict[str, Any]]
) -> None:
    payloads = [each for each in _payloads(before) if b"Infinity" not in each]
    schema = CODEC.infer(payloads, "d")
    promoted = CODEC.promote(schema, _payloads(after))
    old = _rows(payloads, schema)
    new = _rows(payloads, promoted)
    for one, other in zip(old, new, strict=True):
        for column, value in one.items():
            if column != "_rest" and value is not None:
                assert _still_there(value, other[column])


def _rows(payloads: list[bytes], schema: DatasetSchema) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = CODEC.decode(
        pa.array(payloads, pa.binary()), schema
    ).batch.to_pylist()
    return rows


def _still_there(old: Any, new: Any) -> bool:
    """True when the new value holds the old one; objects may hold more."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(
            value is None or _still_there(value, new[name]) for name, value in old.items()
        )
    if isinstance(old, list):
        return all(a is None or _still_there(a, b) for a, b in zip(old, new, strict=True))
    return repr(old) == repr(new)


def _holds(later: tuple[Field, ...], earlier: tuple[Field, ...]) -> bool:
    """True when the later fields begin with the earlier ones, grown at most inside."""
    return len(later) >= len(earlier) and all(
        (new.name, new.column, new.nullable) == (old.name, old.column, old.nullable)
        and _grew(new.type, old.type)
        for new, old in zip(later, earlier, strict=False)
    )


def _grew(later: FieldType, earlier: FieldType) -> bool:
    if earlier.kind == "struct":
        return later.kind == "struct" and _holds(later.fields, earlier.fields)
    if earlier.item is not None and later.item is not None:
        return later.kind == earlier.kind and _grew(later.item, earlier.item)
    return later == earlier


@given(EVENTS, st.sampled_from(["1e400", "-1" * 40, "9" * 5_000, "18446744073709551616", "-0"]))
def test_what_is_learned_is_what_the_texts_of_values_teach(
    events: list[dict[str, Any]], number: str
) -> None:
    """Goal: reading plain values teaches what reading texts does. Method: the slow way, beside."""
    odd = [b'{"a":%s,"c":[%s,1.5]}' % (number.encode(), number.encode()), b'{"a":', b"[1]", b""]
    payloads = [*_payloads(events), *odd]
    assert see(payloads, Limits()).entries() == entries_by_text(payloads)
