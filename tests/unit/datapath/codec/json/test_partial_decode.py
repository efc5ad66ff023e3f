"""A look at a few fields of every record."""

import json

import pyarrow as pa
import pytest

from penstock.datapath.codec.json.decoder import NOT_SCALAR, JsonDecoder
from penstock.datapath.codec.json.payload import Screen, depth_of
from penstock.datapath.codec.shared.limits import Limits

CODEC = JsonDecoder()


def _values_at(path: str, *events: object) -> list[object]:
    values = pa.array([json.dumps(event).encode() for event in events], pa.binary())
    partial = CODEC.partial_decode(values, (path,))
    assert partial.bad == []
    return partial.fields[0]


def test_scalars_are_given_as_they_are() -> None:
    events = [{"t": value} for value in ("x", 1, 1.5, True, None, 10**30)]
    assert _values_at("t", *events, {}) == ["x", 1, 1.5, True, None, 10**30, None]


def test_arrays_objects_and_boundless_numbers_are_marked() -> None:
    values = pa.array([b'{"t":[1]}', b'{"t":{}}', b'{"t":1e400}', b'{"t":1}'], pa.binary())
    assert CODEC.partial_decode(values, ("t",)).fields == [[NOT_SCALAR, NOT_SCALAR, NOT_SCALAR, 1]]


def test_a_dotted_path_leads_through_objects_only() -> None:
    events = [{"a": {"b": {"c": 1}}}, {"a": {"b": [1]}}, {"a": "x"}, {"a": None}, {"a.b.c": 1}, {}]
    assert _values_at("a.b.c", *events) == [1, None, None, None, None, None]


def test_several_paths_share_their_way() -> None:
    values = pa.array([b'{"a":{"b":1,"c":"x"},"d":2}', b'{"d":3}'], pa.binary())
    assert CODEC.partial_decode(values, ("a.b", "d", "a.c")).fields == [
        [1, None],
        [2, 3],
        ["x", None],
    ]


def test_a_path_may_lead_through_another_one() -> None:
    values = pa.array([b'{"a":{"b":1}}', b'{"a":2}'], pa.binary())
    assert CODEC.partial_decode(values, ("a", "a.b")).fields == [[NOT_SCALAR, 2], [1, None]]


def test_a_path_may_have_a_name_that_no_parser_takes() -> None:
    assert _values_at('q"uote', {'q"uote': 5}, {"x": 1}) == [5, None]


def test_without_paths_payloads_are_still_judged() -> None:
    values = pa.array([b"{}", b"{", b"{}"], pa.binary())
    partial = CODEC.partial_decode(values, ())
    assert partial.fields == []
    assert [bad.index for bad in partial.bad] == [1]


@pytest.mark.parametrize(
    ("payload", "depth"),
    [
        (b"", 0),
        (b"{}", 1),
        (b'{"a":[{}]}', 3),
        (b'{"[[[":"]]\\"{{"}', 1),
        (b'{"unterminated [[[', 1),
        (b'{"a\\', 1),
        (b"]]]][", 0),
        (b"[" * 1_000_000, 1_000_000),
        (b'"\\"' * 300_000, 0),
    ],
)
def test_depth_counts_brackets_outside_strings(payload: bytes, depth: int) -> None:
    assert depth_of(payload) == depth


def test_a_screen_suspects_only_what_could_be_wrong() -> None:
    """Goal: no bad one is missed. Method: each kind among many that are fine, in a slice."""
    fine = b'{"a":[1,{}]}'
    deep, bad, long = b"[" * 65, b"\xff", b"x" * 1_000
    values = pa.array([deep, *[fine] * 50, deep, *[fine] * 50, bad, long, fine, b""], pa.binary())
    sliced = values.slice(1)
    assert Screen(sliced, Limits(max_bytes=999)).suspects() == {50, 101, 102}
    assert Screen(sliced.slice(0, 0), Limits()).suspects() == set()
    halves = pa.array([b"\xc3", b"\xa9"], pa.binary())
    assert Screen(halves, Limits()).suspects() == {0, 1}
