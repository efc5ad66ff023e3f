"""Records that are like a template: read as the parser would, or left.

Method: many records are written as one program writes them, and some of those are changed by a
byte. Whatever is read of them must be what the reference makes of the very same bytes.
"""

import json
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.codec.json import template_search
from penstock.datapath.codec.json.decode_plan import plan_of
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.template import template_of
from penstock.datapath.codec.json.template_search import TemplateSearch
from penstock.model.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    INT64,
    STRING,
    TIMESTAMP_MS,
    DatasetSchema,
    Field,
    struct_of,
    with_columns,
)

CODEC = JsonDecoder(exact_only=True)
INSIDE = with_columns([("os", STRING, True), ("build", INT64, True)], top=False)
SCHEMA = DatasetSchema(
    "click",
    1,
    declared=True,
    fields=(
        Field("id", "id", STRING, nullable=False),
        Field("n", "n", INT64),
        Field("x", "x", DOUBLE),
        Field("on", "on", BOOLEAN),
        Field("born", "born", DATE),
        Field("at", "at", TIMESTAMP_MS),
        Field("device", "device", struct_of(INSIDE)),
        Field("last", "last", INT64),
    ),
)
RECORD = plan_of(SCHEMA).root
PARSE = plan_of(SCHEMA).decode or (lambda _payload: None)

WHOLE = st.integers(-(2**63), 2**63 - 1) | st.integers(-99, 99) | st.integers(0, 10**18)
EVENTS = st.fixed_dictionaries(
    {
        "id": st.text(max_size=20),
        "n": WHOLE,
        "x": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**60), 2**60),
        "on": st.booleans(),
        "born": st.integers(-800_000, 3_000_000),
        "at": st.integers(-(10**15), 10**15),
        "device": st.fixed_dictionaries({"os": st.text(max_size=40), "build": WHOLE}),
        "last": WHOLE,
    }
)
BYTES = st.sampled_from(list(b'"\\{}[],:0159.-+eEtfn /\x00\x1f\x7f\x80\xc3\xa9\xff'))


def written(event: dict[str, Any], spaces: bool) -> bytes:
    """An event as a program writes it."""
    separators = (", ", ": ") if spaces else (",", ":")
    return json.dumps(event, separators=separators, ensure_ascii=False).encode()


@st.composite
def changed(draw: st.DrawFn, payload: bytes) -> bytes:
    """A payload with a byte more, a byte less, or another byte."""
    at = draw(st.integers(0, len(payload) - 1))
    with_byte = bytes([draw(BYTES)])
    return draw(
        st.sampled_from(
            [
                payload[:at] + with_byte + payload[at + 1 :],
                payload[:at] + with_byte + payload[at:],
                payload[:at] + payload[at + 1 :],
                payload[:at],
            ]
        )
    )


def read_alike(payloads: list[bytes]) -> tuple[dict[int, Any], list[int]]:
    """The rows that were read like a template, by number; and the numbers of the others."""
    rows = np.arange(len(payloads))
    with mock.patch.object(template_search, "FEWEST_RECORDS", 1):
        found = TemplateSearch(RECORD, "", "").search(rows, pa.array(payloads, pa.binary()), PARSE)
    names = [member.column for member in RECORD.members]
    read: dict[int, Any] = {}
    for numbers, columns in found.read:
        batch = pa.RecordBatch.from_arrays(columns, names)
        batch.validate(full=True)
        read |= dict(zip(numbers.tolist(), batch.to_pylist(), strict=True))
    assert sorted([*read, *found.rows.tolist()]) == rows.tolist()
    assert found.payloads.to_pylist() == [payloads[row] for row in found.rows.tolist()]
    return read, found.rows.tolist()


def check(payloads: list[bytes]) -> tuple[dict[int, Any], list[int]]:
    """What is read is what the reference says of each record alone."""
    read, left = read_alike(payloads)
    for number, row in read.items():
        decoded = CODEC.decode(pa.array([payloads[number]], pa.binary()), SCHEMA)
        assert not decoded.bad, (payloads[number], decoded.bad)
        wanted = decoded.batch.drop_columns(["_rest"]).to_pylist()[0]
        assert repr(row) == repr(wanted), payloads[number]
        assert decoded.batch["_rest"][0].as_py() is None
    return read, left


@given(st.lists(EVENTS, min_size=1, max_size=6), st.booleans(), st.data())
def test_what_is_read_like_a_template_is_what_the_reference_gives(
    events: list[dict[str, Any]], spaces: bool, data: st.DataObject
) -> None:
    payloads = [written(event, spaces) for event in events]
    payloads += [data.draw(changed(payload)) for payload in payloads for _ in range(4)]
    check(data.draw(st.permutations(payloads)))


@given(st.lists(EVENTS, min_size=1, max_size=6), st.data())
def test_events_that_leave_fields_out_have_templates_of_their_own(
    events: list[dict[str, Any]], data: st.DataObject
) -> None:
    names = st.sets(st.sampled_from(["n", "x", "on", "born", "at", "device", "last"]))
    kept = [{k: v for k, v in event.items() if k not in data.draw(names)} for event in events]
    nulls = [
        {k: None if k in data.draw(names) else v for k, v in event.items()} for event in events
    ]
    check([written(event, spaces=False) for event in [*kept, *nulls]])


def test_usual_events_are_all_read_like_the_first() -> None:
    payloads = [
        written(
            {"id": f"é{n}" * (n % 40), "n": n**5, "x": n / 7, "on": n % 2 == 0, "born": n}
            | {"at": 10**12 + n, "device": {"os": "a", "build": -n}, "last": n},
            spaces=False,
        )
        for n in range(300)
    ]
    read, left = check(payloads)
    assert left == []
    assert len(read) == 300


NUMBERS = [
    "0",
    "-0",
    "00",
    "01",
    "-01",
    "1",
    "-1",
    "12345678",
    "123456789",
    "1234567812345678",
    "12345678123456789",
    "999999999999999999",
    "-999999999999999999",
    "1000000000000000000",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "99999999999999999999999999",
    "1.0",
    "1.",
    ".5",
    "1e2",
    "1E+2",
    "1e",
    "-",
    "--",
    "+1",
    "1-1",
    "0x1",
    "\u0661",
    "1_0",
    "1a",
    "NaN",
    "true",
    "null",
]


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("name", ["n", "x", "born", "at", "last"])
def test_numbers_are_read_as_the_reference_reads_them(name: str, text: str) -> None:
    usual = {"id": "a", "n": 1, "x": 1.5, "born": 1, "at": 1, "last": 5}
    base = written(usual, spaces=False)
    odd = base.replace(f'"{name}":{json.dumps(usual[name])}'.encode(), f'"{name}":{text}'.encode())
    assert odd != base or text == json.dumps(usual[name])
    check([base, odd, base])


@pytest.mark.parametrize(
    "payload",
    [
        b'{"id":"a","n":[1]}',
        b'{"id":"a","n":1,"n":2}',
        b'{"id":"a\\u0041"}',
        b'{"id":"a","new":1}',
        b'{"id":null}',
        b'{"n":1}',
        b'{"id":"a",}',
        b'{"id":"a"',
        b'{"id":"a"} x',
        b'{"id":"a"\n}',
        b'{"id":"a","device":{"os":1}}',
        b"[]",
        b"",
    ],
)
def test_there_is_no_template_of_what_is_not_usual(payload: bytes) -> None:
    assert template_of(payload, RECORD, "", "") is None


def test_a_template_has_the_text_around_the_values() -> None:
    found = template_of(
        b'{"type": "click", "id": "a", "n": 5, "on": null }', RECORD, "type", "click"
    )
    assert found is not None
    assert found.literals == (b'{"type": "click", "id": "', b'", "n": ', b', "on": null }')
    assert found.tree == {"type": None, "id": 0, "n": 1, "on": None}
    assert template_of(b'{"type":"other","id":"a"}', RECORD, "type", "click") is None


def test_whoever_writes_every_event_differently_is_not_asked_for_long() -> None:
    names = ["n", "last", "born", "at"]
    orders = [dict.fromkeys(names[k:] + names[:k], k) for k in range(4)]
    orders += [dict.fromkeys(reversed(order), 7) for order in orders]
    many = [written({"id": "a", **orders[n % 8]}, spaces=n % 16 > 7) for n in range(64)]
    asked: list[bytes] = []

    def parse(payload: bytes) -> Any:
        asked.append(payload)
        return PARSE(payload)

    reader = TemplateSearch(RECORD, "", "")
    with mock.patch.object(template_search, "FEWEST_RECORDS", 1):
        for _ in range(5):
            found = reader.search(np.arange(64), pa.array(many, pa.binary()), parse)
            assert len(found.rows) + sum(len(rows) for rows, _ in found.read) == 64
    assert len(asked) <= 8
