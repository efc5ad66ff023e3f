"""MessagePack as JSON: what it says, and what it cannot say."""

import json
from datetime import UTC, datetime

import msgspec
import pytest

from penstock.datapath.codec.shared.limits import Limits
from tests.helpers.decoded_payloads import said


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"b": b"\xff\0"}, {"b": "/wA="}),
        ({"t": datetime(2026, 11, 15, 7, 5, tzinfo=UTC)}, {"t": "2026-11-15T07:05:00Z"}),
        ({1: "x"}, {"1": "x"}),
        ({"u": 2**64 - 1}, {"u": 2**64 - 1}),
    ],
)
def test_what_json_has_no_type_for_becomes_a_text(value: object, wanted: object) -> None:
    texts, bad = said(msgspec.msgpack.encode(value))
    assert bad == {}
    assert json.loads(texts[0]) == wanted


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "EMPTY"),
        (b"\xc1", "NOT_MSGPACK"),
        (b"\x81\xa1\xff\x01", "NOT_MSGPACK"),
        (b"\x91" * 100_000, "TOO_DEEP"),
        (b"\x81\xa1x\xd4\x05\x00", "NOT_MSGPACK"),
        (b"\xdf\xff\xff\xff\xff", "NOT_MSGPACK"),
        (b"\x81\xa1x\xcb\x7f\xf8\0\0\0\0\0\0", "NOT_FINITE"),
        (b"\x81\xa1x\xca\xff\x80\0\0", "NOT_FINITE"),
    ],
)
def test_what_cannot_be_said_is_told(payload: bytes, reason: str) -> None:
    good = msgspec.msgpack.encode({"a": 1})
    texts, bad = said(good, payload, good)
    assert bad == {1: reason}
    assert texts[0] == texts[2] == b'{"a":1}'


@pytest.mark.parametrize("levels", [63, 64, 65, 300, 900, 100_000])
@pytest.mark.parametrize("stack", [0, 400], ids=["alone", "below a deep stack"])
@pytest.mark.parametrize("opening", [b"\x81\xa1a", b"\x91"], ids=["maps", "arrays"])
def test_however_deep_a_record_nests_its_neighbours_are_read(
    levels: int, stack: int, opening: bytes
) -> None:
    """A number that looks infinite at first is at the bottom, so that each value is looked at."""
    good = msgspec.msgpack.encode({"a": 1})
    deep = b"\x81\xa1a" + opening * (levels - 1) + b"\xcb\x7f\xe0" + bytes(6)
    texts, bad = said_below(stack, good, deep, good)
    assert bad == ({1: "TOO_DEEP"} if levels > Limits().max_depth else {})
    assert texts[0] == texts[2] == b'{"a":1}'


def said_below(levels: int, *payloads: bytes) -> tuple[list[bytes], dict[int, str]]:
    """The same with so many calls around it."""
    return said_below(levels - 1, *payloads) if levels else said(*payloads)
