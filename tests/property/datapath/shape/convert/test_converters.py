"""A random chain on random rows gives what a person would, going record by record.

Goal: columns never mean anything else than their records. Method: the same steps in a few lines of
plain Python on dicts, with nothing in common with the code but the specs.
"""

import hashlib
import hmac
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datapath.schemas.errors import ConvertRefused
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.shape.convert.converters import convert
from penstock.datapath.shape.convert.flow import ConvertImpossible, Given, Origin
from penstock.model.arrow_types import arrow_type
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.encryption_keys import Keys
from penstock.model.schema import BOOLEAN, INT64, STRING, struct_of
from penstock.testing.memory_store import MemoryStore
from tests.helpers.schema_fields import fields
from tests.helpers.shredding import BY_TYPE, LAYOUT, an_event, shred, with_steps

FIELDS = fields(
    a=(INT64, True),
    b=(STRING, True),
    c=(BOOLEAN, True),
    d=(struct_of(fields(e=(STRING, True), f=(INT64, True))), True),
)
KEYS = Keys({("hash", "k"): b"key"})
PATHS = st.sampled_from(["a", "b", "c", "d", "d.e", "d.f", "d_e", "x", "y", "x.e"])
LEAVES = st.sampled_from(["a", "b", "c", "d.e", "d.f", "d_e", "d_f", "x", "y"])
NAMES = st.sampled_from(["x", "y", "b"])
NUMBERS = st.none() | st.integers(-3, 12)
TEXTS = st.none() | st.sampled_from(["", "7", "true", "text", "äöü12"])
CONSTANTS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "7", "u"])
RECORDS = st.fixed_dictionaries(
    {
        "a": NUMBERS,
        "b": TEXTS,
        "c": st.none() | st.booleans(),
        "d": st.none() | st.fixed_dictionaries({"e": TEXTS, "f": NUMBERS}),
    }
)
# An object with nothing but nulls has no column yet and is there all the same: `lean` denies that.
LEAN = RECORDS.filter(lambda record: record["d"] != {"e": None, "f": None})
CONDITIONS = st.one_of(
    st.builds(Condition, path=PATHS, null=st.booleans()),
    st.builds(Condition, path=LEAVES, least=st.integers(-3, 5)),
    st.builds(Condition, path=LEAVES, one_of=st.tuples(CONSTANTS, CONSTANTS)),
)


def one(verb: str, path: str, word: str = "") -> ConvertSpec:
    return ConvertSpec(verb, (path,), (word,))  # type: ignore[arg-type]


STEPS = st.one_of(
    st.builds(one, st.just("rename"), PATHS, NAMES),
    st.builds(one, st.just("cast"), LEAVES, st.sampled_from(["int64", "string", "boolean"])),
    st.builds(one, st.just("mask"), LEAVES, st.sampled_from(["", "2"])),
    st.builds(one, st.just("hash"), LEAVES, st.just("k")),
    st.builds(lambda path: ConvertSpec("drop", (path,)), PATHS),
    st.builds(lambda paths: ConvertSpec("keep", tuple(paths)), st.lists(PATHS, min_size=2)),
    st.builds(
        lambda name, value: ConvertSpec("set", (name,), constants=(value,)), NAMES, CONSTANTS
    ),
    st.builds(lambda each: ConvertSpec("filter", conditions=(each,)), CONDITIONS),
    st.just(ConvertSpec("flatten", ("d",))),
)


@given(st.lists(STEPS, max_size=5), st.lists(RECORDS, max_size=8))
def test_a_chain_does_to_columns_what_it_does_to_records(
    steps: list[ConvertSpec], records: list[dict[str, Any]]
) -> None:
    schema = pa.schema([(each.column, arrow_type(each.type)) for each in FIELDS])
    batch = pa.RecordBatch.from_pylist(records, schema=schema)
    origin = Origin("d", "id", 0, np.arange(len(records)))
    try:
        flow = convert(steps, FIELDS, batch.columns, Given(KEYS, origin))
    except ConvertImpossible:
        return
    gone = [int(row) for part in flow.filtered for row in part]
    bad = [record.index for record in flow.bad]
    assert sorted([*flow.rows.tolist(), *gone, *bad]) == list(range(len(records)))
    names = [each.name for each in flow.fields]
    columns = [column.to_pylist() for column in flow.columns]
    for place, row in enumerate(flow.rows.tolist()):
        found = dict(zip(names, [column[place] for column in columns], strict=True))
        assert lean(found) == lean(by_hand(steps, records[row])), steps
    assert all(by_hand(steps, records[row]) == "filtered" for row in gone)
    assert all(by_hand(steps, records[row]) == "bad" for row in bad)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=4), st.lists(LEAN, min_size=1, max_size=8))
def test_no_record_is_lost_or_doubled_on_its_way_to_files(
    steps: list[ConvertSpec], records: list[dict[str, Any]]
) -> None:
    """The same through the shredder, whose report has to pass the owner's proof."""
    feed = with_steps(BY_TYPE, *steps)
    learning = Learning(MemoryStore(), LAYOUT, feed, None, KEYS)
    values = [an_event("t", **record) for record in records]
    try:
        learning.learn([shred(feed, values, {}).report])
    except ConvertRefused:
        return
    outputs = dict(learning.schemas.file_schemas.known)
    found = shred(feed, values, learning.schemas.known, file_schemas=outputs, keys=KEYS)
    wanted = {row: by_hand(steps, lean(record)) for row, record in enumerate(records)}
    assert {row["_offset"] for row in found.refused()} == {n for n in wanted if wanted[n] == "bad"}
    gone = sum(each == "filtered" for each in wanted.values())
    assert found.report.evidence.filtered.count == (gone if steps else 0)
    for row in found.rows("t"):
        event = {n: v for n, v in row.items() if not n.startswith("_") and n not in ("type", "at")}
        assert lean(event) == lean(wanted[row["_offset"]])


def by_hand(steps: list[ConvertSpec], record: dict[str, Any]) -> Any:
    """One record through all steps; the word for what became of it if it did not arrive."""
    for step in steps:
        if step.verb == "filter":
            (condition,) = step.conditions
            if not passes(condition, value_at(record, condition.path)):
                return "filtered"
            continue
        if step.verb == "keep":
            record = kept(record, [path.split(".") for path in step.paths])
            continue
        (path,) = step.paths
        if step.verb == "set" and path not in record:
            record = {**record, path: step.constants[0]}
            continue
        made = changed(record, path.split("."), step)
        if made is BAD:
            return "bad"
        record = made
    return record


BAD: Any = object()


def lean(value: Any) -> Any:
    """Without nulls: a dict does not know which fields its null would have."""
    if not isinstance(value, dict):
        return value
    found = {name: lean(each) for name, each in value.items()}
    return {name: each for name, each in found.items() if each is not None and each != {}}


def changed(record: dict[str, Any], names: list[str], step: ConvertSpec) -> Any:
    """A record after a step on one field, in its place."""
    made: dict[str, Any] = {}
    for name, value in record.items():
        if name != names[0]:
            made[name] = value
        elif len(names) > 1:
            inside = changed(value, names[1:], step) if isinstance(value, dict) else value
            if inside is BAD:
                return BAD
            if inside != {}:
                made[name] = inside
        else:
            parts = of_one(name, value, step)
            if parts is BAD:
                return BAD
            made |= parts
    return made


def of_one(name: str, value: Any, step: ConvertSpec) -> Any:
    word = step.words[0] if step.words else ""
    if step.verb == "drop":
        return {}
    if step.verb == "rename":
        return {word: value}
    if step.verb == "set":
        return {name: step.constants[0]}
    if step.verb == "flatten":
        return {f"{name}_{key}": each for key, each in (value or {}).items()}
    if value is None:
        return {name: None}
    if step.verb == "cast":
        made = cast(value, word)
        return BAD if made is None else {name: made}
    text = text_of(value)
    if step.verb == "mask":
        return {name: "***" + (text[-int(word) :] if word and len(text) > int(word) else "")}
    return {name: hmac.new(b"key", text.encode(), hashlib.sha256).hexdigest()}


def cast(value: Any, word: str) -> Any:
    if word == "string":
        return text_of(value)
    if word == "boolean":
        if isinstance(value, str):
            return {"true": True, "false": False, "1": True, "0": False}.get(value)
        return bool(value) if value in (0, 1) else None
    try:
        return int(value)
    except ValueError:
        return None


def text_of(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def value_at(record: Any, path: str) -> Any:
    for name in path.split("."):
        record = record.get(name) if isinstance(record, dict) else None
    return record


def passes(condition: Condition, value: Any) -> bool:
    if condition.null is not None:
        return (value is None) == condition.null
    if condition.least is not None:
        return type(value) is int and value >= condition.least
    if value is None or isinstance(value, bool | int):
        return any(type(each) is type(value) and each == value for each in condition.one_of)
    return value in [text_of(each) for each in condition.one_of if each is not None]


def kept(record: dict[str, Any], wanted: list[list[str]]) -> dict[str, Any]:
    made = {}
    for name, value in record.items():
        inner = [names[1:] for names in wanted if names[0] == name]
        if any(not names for names in inner):
            made[name] = value
        elif inner and isinstance(value, dict):
            inside = kept(value, inner)
            if inside:
                made[name] = inside
    return made
