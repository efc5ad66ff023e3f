"""What nobody may read in a column, nobody may read in `_rest`, whatever a dataset knows so far.

Goal: no order of renames, and no field that comes late, shows what a step hides or takes away.
Method: one event through one chain twice, first with a column for each field, then with some of
them in `_rest`. Every text in it is there once, so where it went is seen from the outside.
"""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from penstock.datapath.shape.convert.converters import convert
from penstock.datapath.shape.convert.flow import ConvertImpossible, Flow, Given, Origin
from penstock.datapath.shape.convert.rest_column import hidden_paths
from penstock.model.arrow_types import arrow_type
from penstock.model.convert_spec import ConvertSpec, Verb
from penstock.model.encryption_keys import Keys
from penstock.model.schema import STRING, Field, FieldType, struct_of, with_columns

KEYS = Keys({("hash", "k"): b"key", ("encrypt", "k"): bytes(32)})
NAMES = st.sampled_from(["a", "b", "c", "a_b", "b_a"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
MANY = st.lists(PATHS, min_size=1, max_size=3, unique=True).map(tuple)
Event = dict[str, Any]


def renaming(pairs: dict[str, str]) -> ConvertSpec:
    return ConvertSpec("rename", tuple(pairs), tuple(pairs.values()))


def hiding(verb: Verb, *paths: str) -> ConvertSpec:
    return ConvertSpec(verb, paths, ("" if verb == "mask" else "k",) * len(paths))


STEPS = st.one_of(
    st.dictionaries(PATHS, NAMES, min_size=1, max_size=3).map(renaming),
    st.builds(ConvertSpec, st.just("flatten"), MANY),
    st.builds(ConvertSpec, st.sampled_from(["drop", "keep"]), MANY),
    st.builds(lambda verb, path: hiding(verb, path), st.sampled_from(["mask", "hash"]), PATHS),
    st.builds(lambda path: hiding("encrypt", path), PATHS),
)
# True: the field has a column; False: it has none yet.
KEYS_OF_EVENTS = NAMES | st.sampled_from(["a.b", "b.c", "a.b.c", "a_b.c"])
SHAPES = st.recursive(
    st.booleans(),
    lambda inner: st.dictionaries(KEYS_OF_EVENTS, inner, min_size=1, max_size=3),
    max_leaves=6,
).filter(lambda shape: isinstance(shape, dict))


@settings(max_examples=400)
@given(SHAPES, st.lists(STEPS, min_size=1, max_size=5))
@example(
    {"a": {"b": False}},
    [renaming({"a.b": "c", "a": "b"}), hiding("hash", "b.c")],
).via("the columns' way of a rename is pair after pair")
@example(
    {"a": {"b": {"c": False}}},
    [ConvertSpec("flatten", ("a", "a_b")), hiding("mask", "a_b_c")],
).via("so is that of a flatten")
@example({"b": False}, [renaming({"a": "b"}), hiding("encrypt", "b")]).via(
    "an event that has the new name already"
)
@example(
    {"a": False, "b": False},
    [renaming({"a": "c"}), ConvertSpec("keep", ("a",))],
).via("an old name that is nobody's any more")
@example(
    {"a": {"b.c": False}, "a.b": {"c": False}, "a.b.c": False}, [ConvertSpec("drop", ("a.b.c",))]
).via("names with points")
def test_what_ends_hidden_in_a_column_is_not_seen_in_the_rest(
    shape: dict[str, Any], steps: list[ConvertSpec]
) -> None:
    event, known, unknown = (part_of(shape, wanted) for wanted in (None, True, False))
    try:
        with_some = converted(steps, known, unknown)
    except ConvertImpossible:
        assume(False)  # the feed stops before anything is written
    hidden = {text for path in hidden_paths(steps) for text in texts_in([reached(unknown, path)])}
    assert not len(with_some.rows) or not hidden & seen(with_some)
    try:
        with_all = converted(steps, event, {})
    except ConvertImpossible:
        return  # fields that make a step impossible never get a column
    if len(with_some.rows):
        assert seen(with_some) == seen(with_all)
    elif "no column yet" in with_some.bad[0].detail:
        paths = hidden_paths(steps)
        assert any(reached(unknown, path) for path in paths), "somebody has to learn the field"


@settings(max_examples=200)
@given(SHAPES, PATHS, st.sampled_from(["mask", "hash", "encrypt", "drop"]))
def test_a_path_hides_every_field_whose_names_are_joined_to_it(
    shape: dict[str, Any], path: str, verb: Verb
) -> None:
    step = ConvertSpec("drop", (path,)) if verb == "drop" else hiding(verb, path)
    event, known, unknown = (part_of(shape, wanted) for wanted in (None, True, False))
    for columns, rest in ((event, {}), (known, unknown), ({}, event)):
        try:
            flow = converted([step], columns, rest)
        except ConvertImpossible:
            continue  # it is an object
        texts = seen(flow) if len(flow.rows) else set()
        assert not any(text.strip("<>").replace("/", ".") == path for text in texts)


def part_of(shape: dict[str, Any], wanted: bool | None, path: str = "") -> Event:
    """The fields that have a column, or have none; None: all. A field's text is its own path."""
    found: Event = {}
    for name, each in shape.items():
        if isinstance(each, dict):
            inside = part_of(each, wanted, f"{path}{name}/")
            found |= {name: inside} if inside else {}
        elif wanted is None or each == wanted:
            found[name] = f"<{path}{name}>"
    return found


def converted(steps: list[ConvertSpec], known: Event, unknown: Event) -> Flow:
    fields = fields_of(known, top=True)
    columns = [pa.array([known[each.name]], arrow_type(each.type)) for each in fields]
    rest = pa.array([json.dumps(unknown) if unknown else None], pa.string())
    return convert(steps, fields, columns, Given(KEYS, Origin("d", "id", 0, np.arange(1))), rest)


def fields_of(event: Event, *, top: bool) -> tuple[Field, ...]:
    return with_columns([(name, type_of(each), True) for name, each in event.items()], top=top)


def type_of(value: Any) -> FieldType:
    return struct_of(fields_of(value, top=False)) if isinstance(value, dict) else STRING


def seen(flow: Flow) -> set[str]:
    """The texts of the event that anybody can read in its row."""
    (rest,) = flow.rest.column(flow.rows).to_pylist()
    values = [column[0].as_py() for column in flow.columns]
    return {text for text in texts_in([*values, json.loads(rest or "{}")]) if text[0] == "<"}


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)
    elif isinstance(value, str):
        yield value


def reached(event: Any, path: tuple[str, ...]) -> Any:
    """What lies at a path, or in its way."""
    for name in path:
        event = event.get(name) if isinstance(event, dict) else event
    return event
