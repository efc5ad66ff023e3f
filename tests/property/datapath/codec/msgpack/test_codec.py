"""MessagePack, written by an encoder of the test's own, is read as the JSON that says the same.

Method: generated schemas and events are written in every width that the format allows, and some
records are broken. Timestamps have nanoseconds, and keys are of all kinds.
"""

import base64
import json
import math
import struct
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.api.codec import JsonRecords
from penstock.datapath.codec.json.decoder import json_decoder
from penstock.datapath.codec.msgpack.codec import CODEC as MSGPACK
from penstock.datapath.codec.msgpack.msgpack_json import as_json
from penstock.datapath.codec.shared.limits import Limits
from penstock.model.schema import DatasetSchema
from penstock.model.spec import DecodeSpec
from tests.helpers.broken_payloads import breaking
from tests.helpers.json_events import events_of, schemas
from tests.helpers.learned_schemas import learning_of
from tests.helpers.shredding import BY_TOPIC, TOPIC, shred

CODEC = json_decoder(MSGPACK.json or JsonRecords())
NUMBERS = (
    (0x00, "", 0, 127), (0x100, "", -32, -1), (0xCC, ">B", 0, 2**8 - 1), (0xCD, ">H", 0, 2**16 - 1),
    (0xCE, ">I", 0, 2**32 - 1), (0xCF, ">Q", 0, 2**64 - 1), (0xD0, ">b", -(2**7), 2**7 - 1),
    (0xD1, ">h", -(2**15), 2**15 - 1), (0xD2, ">i", -(2**31), 2**31 - 1),
    (0xD3, ">q", -(2**63), 2**63 - 1),
)  # fmt: skip
# What comes before a length or a count: the short form with its limit, then one, two, four bytes.
HEADS: dict[type, tuple[int, ...]] = {
    str: (0xA0, 32, 0xD9, 0xDA, 0xDB), bytes: (0, 0, 0xC4, 0xC5, 0xC6),
    list: (0x90, 16, 0, 0xDC, 0xDD), dict: (0x80, 16, 0, 0xDE, 0xDF),
}  # fmt: skip


@dataclass(frozen=True)
class Moment:
    """A timestamp of MessagePack's own."""

    seconds: int
    nanos: int

    def text(self) -> str:
        whole = timedelta(seconds=self.seconds, microseconds=self.nanos // 1_000)
        return (datetime(1970, 1, 1, tzinfo=UTC) + whole).isoformat().replace("+00:00", "Z")

    def forms(self) -> list[bytes]:
        """All ways to write it."""
        long = b"\xc7\x0c\xff" + struct.pack(">Iq", self.nanos, self.seconds)
        forms = [long]
        if 0 <= self.seconds < 2**34:
            forms.append(b"\xd7\xff" + struct.pack(">Q", self.nanos << 34 | self.seconds))
        if 0 <= self.seconds < 2**32 and self.nanos == 0:
            forms.append(b"\xd6\xff" + struct.pack(">I", self.seconds))
        return forms


MOMENTS = st.builds(
    Moment,
    st.integers(-62_135_596_800, 253_402_300_799),
    st.integers(0, 999_999_999) | st.sampled_from([999_999_999, 999_999_600, 500, 1_000, 0]),
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | FLOATS | st.text()
LEAVES = PLAIN | st.binary(max_size=40) | MOMENTS
KEYS = st.text(max_size=3) | st.integers(2, 300)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=18) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@st.composite
def packed(draw: st.DrawFn, value: Any) -> bytes:
    """One of the many ways to write a value."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        fits = [(head, code) for head, code, low, high in NUMBERS if low <= value <= high]
        head, code = draw(st.sampled_from(fits))
        return bytes([head]) + struct.pack(code, value) if code else bytes([head + value])
    if isinstance(value, float):
        if is_short(value) and draw(st.booleans()):
            return b"\xca" + struct.pack(">f", value)
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, Moment):
        return draw(st.sampled_from(value.forms()))
    raw = value.encode() if isinstance(value, str) else value
    opening: bytes = draw(heads(type(value), len(raw)))
    if isinstance(raw, bytes):
        return opening + raw
    inside = [each for pair in raw.items() for each in pair] if isinstance(raw, dict) else raw
    return opening + b"".join(draw(packed(each)) for each in inside)


def is_short(value: float) -> bool:
    return abs(value) < 1e38 and struct.unpack(">f", struct.pack(">f", value))[0] == value


def heads(kind: type, count: int) -> st.SearchStrategy[bytes]:
    """How a length or a count may be written."""
    short, limit, *others = HEADS[kind]
    forms = [bytes([short + count])] if count < limit else []
    for head, code in zip(others, (">B", ">H", ">I"), strict=True):
        if head and count < 2 ** (8 * struct.calcsize(code)):
            forms.append(bytes([head]) + struct.pack(code, count))
    return st.sampled_from(forms)


def as_said(value: Any) -> Any:
    """What JSON says of a value."""
    if isinstance(value, dict):
        return {str(key): as_said(each) for key, each in value.items()}
    if isinstance(value, list):
        return [as_said(each) for each in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.text() if isinstance(value, Moment) else value


def said(*payloads: bytes) -> tuple[list[bytes], dict[int, str]]:
    found = as_json(pa.array(payloads, pa.binary()), Limits())
    return found.texts.to_pylist(), {bad.index: bad.reason for bad in found.bad}


@given(st.data())
def test_however_a_record_is_written_json_says_the_same(data: st.DataObject) -> None:
    events = data.draw(st.lists(st.dictionaries(KEYS, VALUES, max_size=5), max_size=4))
    payloads = [data.draw(packed(event)) for event in events]
    texts, bad = said(*payloads)
    assert bad == {}
    for event, payload, text in zip(events, payloads, texts, strict=True):
        assert repr(json.loads(text)) == repr(as_said(event))
        assert len(text) <= 6 * len(payload) + 1


@given(schemas(), st.data())
def test_columns_are_those_of_the_json_and_broken_records_are_bad_alone(
    schema: DatasetSchema, data: st.DataObject
) -> None:
    events = data.draw(st.lists(events_of(schema.fields), min_size=1, max_size=6))
    good = [data.draw(packed(event)) for event in events]
    broken = [data.draw(breaking(payload)) for payload in good]
    mixed = [payload for pair in zip(good, broken, strict=True) for payload in pair]
    found = as_json(pa.array(mixed, pa.binary()), Limits())
    assert {bad.index % 2 for bad in found.bad} <= {1}
    mine = found.texts.take(pa.array(range(0, len(mixed), 2)))
    wanted = CODEC.decode(pa.array([json.dumps(event).encode() for event in events]), schema)
    decoded = CODEC.decode(mine, schema)
    assert decoded.bad == wanted.bad == []
    assert repr(decoded.batch.to_pylist()) == repr(wanted.batch.to_pylist())


@given(st.data())
def test_a_boolean_is_no_key_whatever_other_keys_there_are(data: st.DataObject) -> None:
    """Python would take true for 1, and one of two values would be gone."""
    pairs = data.draw(st.lists(st.tuples(st.sampled_from([0, 1, 0.0, 1.0, "1", 2]), LEAVES)))
    pairs.insert(data.draw(st.integers(0, len(pairs))), (data.draw(st.booleans()), 7))
    inside = b"".join(data.draw(packed(key)) + data.draw(packed(value)) for key, value in pairs)
    wrong = b"\xde" + struct.pack(">H", len(pairs)) + inside
    good = data.draw(packed({"1": True, "a": [False, {"0": "x"}]}))
    around = b"\x82\xa1a\x93\x01" + wrong + b"\xc3\xa1b" + data.draw(packed("z"))
    texts, bad = said(good, around, good, wrong)
    assert bad == {1: "NOT_MSGPACK", 3: "NOT_MSGPACK"}
    assert json.loads(texts[0]) == json.loads(texts[2])


@pytest.mark.parametrize(
    "moment", [Moment(86_399, 999_999_600), Moment(253_402_300_799, 10**9 - 1)]
)
def test_what_is_finer_than_a_microsecond_does_not_move_a_time_to_the_next_day(
    moment: Moment,
) -> None:
    for form in moment.forms():
        looks_like_one = b"\xc4" + bytes([len(form)]) + form
        texts, bad = said(b"\x82\xa1t" + form + b"\xa1b" + looks_like_one)
        assert bad == {}
        assert json.loads(texts[0]) == {"t": moment.text(), "b": base64.b64encode(form).decode()}
        assert moment.text().endswith("T23:59:59.999999Z")


def test_only_the_payload_itself_may_be_too_long() -> None:
    feed = replace(BY_TOPIC, decode=DecodeSpec("msgpack"))
    values = [
        b"\x81\xa1b\xc6" + struct.pack(">I", size) + bytes(size)
        for size in (13 << 20, (16 << 20) - 8, (16 << 20) - 7)
    ]
    learning = learning_of(feed)
    report = shred(feed, values, {}).report
    assert learning.learn([report])
    assert [field.name for field in learning.schemas.known[TOPIC].fields] == ["b"]
    done = shred(feed, values, learning.schemas.known)
    assert done.report.reasons == {"TOO_LONG": 1}
    assert [len(row["b"]) for row in done.rows(TOPIC)] == [
        4 * math.ceil(size / 3) for size in (13 << 20, (16 << 20) - 8)
    ]
