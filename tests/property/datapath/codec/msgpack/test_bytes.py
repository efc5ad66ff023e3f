"""MessagePack as JSON: any value, and any bytes."""

import json
import math
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.decoded_payloads import said

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4),
    max_leaves=20,
)


def is_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(is_finite, value.values()))
    if isinstance(value, list):
        return all(map(is_finite, value))
    return not isinstance(value, float) or math.isfinite(value)


@given(st.lists(st.dictionaries(st.text(), PLAIN, max_size=4), max_size=8))
def test_json_says_the_same_unless_it_cannot(events: list[dict[str, Any]]) -> None:
    texts, bad = said(*map(msgspec.msgpack.encode, events))
    for row, (event, text) in enumerate(zip(events, texts, strict=True)):
        if is_finite(event):
            assert row not in bad
            assert json.loads(text) == event
        else:
            assert bad[row] == "NOT_FINITE"


@given(st.binary(max_size=60), st.integers(0, 59))
def test_no_bytes_do_harm(payload: bytes, cut: int) -> None:
    good = msgspec.msgpack.encode({"a": [1, "x", {"b": 2.5}]})
    texts, bad = said(good, payload, good, good[: cut % len(good)], good + payload[:1] + b"\0")
    assert json.loads(texts[0]) == json.loads(texts[2]) == {"a": [1, "x", {"b": 2.5}]}
    assert 0 not in bad
    assert 2 not in bad
    assert {3, 4} <= set(bad)
