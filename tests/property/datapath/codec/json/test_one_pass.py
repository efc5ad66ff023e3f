"""Reading many datasets in one pass gives what a look and a decoding give, or leaves the record.

Method: two generated schemas get a route field. Their events are written in many spellings, with
the route's text anywhere, missing, doubled or of another type, and some are broken.
"""

import json
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.json.decoder import DatasetRecords, JsonDecoder, OnePass
from penstock.model.schema import STRING, DatasetSchema, Field
from tests.helpers.json_events import broken, events_of, odd_events, schemas, spellings

CODEC = JsonDecoder()
REFERENCE = JsonDecoder(exact_only=True)
PATHS = ("type", "a", "user", "user.a", "b.user")
TEXTS: st.SearchStrategy[Any] = st.sampled_from(
    ["one", "two", "ONE", "", "1", None, 1, True, {}, ["one"]]
)


def read(reader: OnePass, values: pa.Array) -> tuple[list[DatasetRecords], Any]:
    """The parts that are handed over, and what is left."""
    parts: list[DatasetRecords] = []
    left = reader.read(values, parts.append)
    return parts, left


def as_looked_at(values: Any) -> list[Any]:
    """The values of a field, which may have come as a column."""
    found: list[Any] = values.to_pylist() if isinstance(values, pa.Array) else values
    return found


@st.composite
def routed(draw: st.DrawFn, event: dict[str, Any]) -> bytes:
    """An event with a route somewhere in it, in one of many spellings."""
    members = [(name, value) for name, value in event.items() if name != "type"]
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 2]))):
        text = draw(st.sampled_from(["one", "two"]) | TEXTS)
        members.insert(draw(st.integers(0, len(members))), ("type", text))
    texts = [f"{json.dumps(name)}:{json.dumps(value)}" for name, value in members]
    return f"{{{','.join(texts)}}}".encode()


def _with_type(event: dict[str, Any], text: str) -> dict[str, Any]:
    return {**event, "type": text}


@st.composite
def mixed(draw: st.DrawFn) -> tuple[dict[str, DatasetSchema], list[bytes]]:
    """Two datasets by their texts, and payloads of both, whole and broken."""
    found = {}
    payloads: list[bytes] = []
    for text in ("one", "two"):
        drawn = draw(schemas())
        fields = (*drawn.fields, Field("type", "type", STRING, draw(st.booleans())))
        found[text] = DatasetSchema(text, 1, drawn.declared, fields)
        good = events_of(drawn.fields)
        sound = st.builds(_with_type, good, st.just(text)).flatmap(spellings)
        odd = odd_events(drawn.fields)
        any_payload = st.one_of(sound, good.flatmap(routed), odd, sound.flatmap(broken))
        payloads += draw(st.lists(any_payload, max_size=6))
    return found, draw(st.permutations(payloads))


@given(mixed())
def test_what_is_read_in_one_pass_is_what_looking_and_decoding_give(
    drawn: tuple[dict[str, DatasetSchema], list[bytes]],
) -> None:
    by_text, payloads = drawn
    values = pa.array(payloads, pa.binary())
    reader = CODEC.one_pass(by_text, "type", PATHS)
    read(reader, values)  # now it has seen the order of keys, and where the route is
    parts, left = read(reader, values)
    seen = sorted([*left.tolist(), *(m for part in parts for m in part.members.tolist())])
    assert seen == list(range(len(payloads)))
    for part in parts:
        mine = values.take(pa.array(part.members))
        looked = CODEC.partial_decode(mine, PATHS)
        decoded = REFERENCE.decode(mine, part.schema)
        assert (looked.bad, decoded.bad) == ([], [])
        assert sorted(part.unknown.items()) == list(
            zip(decoded.unknown, decoded.unknown_at, strict=True)
        )
        assert part.counts.misfits == decoded.counts.misfits
        assert (part.counts.fast, part.counts.empty) == (len(mine), decoded.counts.empty)
        assert set(looked.fields[0]) == {part.schema.dataset}
        assert repr([as_looked_at(part.fields[path]) for path in PATHS]) == repr(looked.fields)
        assert part.batch.schema == decoded.batch.schema
        assert repr(part.batch.to_pylist()) == repr(decoded.batch.to_pylist())
        part.batch.validate(full=True)


@given(st.lists(st.sampled_from([b'{"type":"one","n":1}', b'{"n":-0,"type":"two"}']), min_size=1))
def test_usual_records_are_read_and_not_left(payloads: list[bytes]) -> None:
    by_text = {text: CODEC.infer([b'{"type":"x","n":1}'], text) for text in ("one", "two")}
    reader = CODEC.one_pass(by_text, "type", ("type", "n"))
    parts, left = read(reader, pa.array(payloads, pa.binary()))
    assert left.tolist() == []
    assert sum(len(part.members) for part in parts) == len(payloads)


def test_fields_without_a_column_do_not_hold_records_up() -> None:
    by_text = {"one": CODEC.infer([b'{"type":"x","n":1}'], "one")}
    reader = CODEC.one_pass(by_text, "type", ("type",))
    new = [b'{"type":"one","n":1,"gone":null}', b'{"type":"one","n":1,"new":2}']
    (part,), left = read(reader, pa.array(new, pa.binary()))
    assert left.tolist() == []
    assert part.batch["_rest"].to_pylist() == [None, '{"new":2}']
    assert part.unknown == {"new": 1}


@given(schemas(), st.data())
def test_without_a_tag_all_records_are_of_one_dataset(
    schema: DatasetSchema, data: st.DataObject
) -> None:
    sound = events_of(schema.fields).flatmap(spellings)
    payloads = data.draw(st.lists(st.one_of(sound, sound.flatmap(broken)), max_size=8))
    values = pa.array(payloads, pa.binary())
    parts, left = read(CODEC.one_pass({"d": schema}, "", ("a",)), values)
    for part in parts:
        mine = values.take(pa.array(part.members))
        assert repr(part.batch.to_pylist()) == repr(CODEC.decode(mine, schema).batch.to_pylist())
        looked = CODEC.partial_decode(mine, ("a",)).fields
        assert repr([as_looked_at(part.fields["a"])]) == repr(looked)
    assert len(left) + sum(len(part.members) for part in parts) == len(payloads)


@given(st.lists(st.sampled_from([1, None, 2**62, -5]), min_size=1, max_size=6))
def test_a_field_of_whole_numbers_comes_as_its_column(numbers: list[int | None]) -> None:
    by_text = {text: CODEC.infer([b'{"type":"x","n":1}'], text) for text in ("one", "two")}
    payloads = [json.dumps({"type": "one", "n": n}).encode() for n in numbers]
    reader = CODEC.one_pass(by_text, "type", ("n",))
    (part,), left = read(reader, pa.array(payloads, pa.binary()))
    assert left.tolist() == []
    assert isinstance(part.fields["n"], pa.Array)
    assert part.fields["n"].to_pylist() == numbers


@given(st.permutations(range(8)), st.sampled_from(["", " ", "  "]))
def test_a_wrong_guess_changes_no_row(order: list[int], space: str) -> None:
    """Method: the route's name is mentioned before the route, with another dataset's text."""
    by_text = {
        text: CODEC.infer([b'{"in":{"type":"x"},"type":"x","n":1}'], text)
        for text in ("one", "two")
    }
    texts = [
        f'{{"in":{{"type":{space}"{["one", "two"][n % 2]}"}},"type":"{["one", "two"][n // 4]}",'
        f'"n":{n}}}'
        for n in order
    ]
    values = pa.array([text.encode() for text in texts], pa.binary())
    parts, left = read(CODEC.one_pass(by_text, "type", ("type",)), values)
    assert left.tolist() == []
    for part in parts:
        assert part.members.tolist() == sorted(part.members.tolist())
        assert part.batch["n"].to_pylist() == [order[member] for member in part.members]
        assert {["one", "two"][n // 4] for n in part.batch["n"].to_pylist()} == {
            part.schema.dataset
        }
