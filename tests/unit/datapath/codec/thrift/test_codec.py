"""Thrift records byte by byte: the fate of each kind of payload, in both ways of reading."""

import math
import struct
import subprocess
import sys
import time
from itertools import permutations
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.thrift.columns import read_columns
from penstock.datapath.codec.thrift.idl.fixed_struct import fixed_struct
from penstock.datapath.codec.thrift.struct_layout import StructLayout, struct_layout
from penstock.datapath.codec.thrift.thrift_reader import read_thrift, thrift_reader
from penstock.datapath.codec.thrift.types import MOST_ITEMS, Protocol, parse_thrift
from penstock.model.spec import DecodeSpec

PLAIN = """
enum Color { RED, BLUE = 2, AZURE = 2 }
struct Inside { 1: i32 a, 2: string b }
struct Nothing {}
union What { 1: i32 number; 2: Inside inside; 3: list<i32> many }
struct Event {
  1: i32 small, 2: i64 wide, 3: string text, 4: double real, 5: bool yes, 6: Inside inside,
  7: list<i32> many, 8: map<string, i32> named, 9: list<string> words,
  10: map<i32, string> numbered,
  11: Color color, 12: i8 tiny, 13: i16 short, 14: binary raw, 15: uuid who, 16: Nothing nothing,
  17: list<Inside> rows, 18: What what, 19: list<bool> flags, 20: set<list<i8>> nested,
  21: map<Color, Inside> colors,
}
"""
REQUIRED = """
struct Inside { 1: required i32 c }
struct Event { 1: required i32 a; 2: optional Inside b; 300: bool d }
"""
STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST, UUID = 11, 12, 13, 14, 15, 16
PROTOCOLS: tuple[Protocol, ...] = ("binary", "compact")


def layout(text: str, protocol: Protocol = "binary") -> StructLayout:
    decode = DecodeSpec("thrift", schema_text=text, message="Event", protocol=protocol)
    return struct_layout(parse_thrift(fixed_struct(decode).text))


@pytest.fixture(scope="module")
def plain() -> StructLayout:
    return layout(PLAIN)


@pytest.fixture(scope="module")
def compact() -> StructLayout:
    return layout(PLAIN, "compact")


def both_ways(plan: StructLayout, payloads: list[bytes]) -> DecodedBatch:
    values = pa.array(payloads, pa.binary())
    fast, slow = read_thrift(plan, values, 0), read_thrift(plan, values, 0, exact_only=True)
    assert fast.bad == slow.bad
    assert fast.good.tolist() == slow.good.tolist()
    assert fast.batch.equals(slow.batch)
    fast.batch.validate(full=True)
    return fast


def one(plan: StructLayout, payload: bytes) -> dict[str, Any]:
    """What is not null of the only record, which must be good."""
    read = both_ways(plan, [payload])
    assert read.bad == []
    row: dict[str, Any] = read.batch.to_pylist()[0]
    return {name: value for name, value in row.items() if value is not None}


def is_fast(plan: StructLayout, payload: bytes) -> bool:
    return not read_columns(pa.array([payload], pa.binary()), plan, 0)[1].any()


def field(wire: int, number: int, rest: bytes) -> bytes:
    """A field in the binary protocol."""
    return struct.pack(">Bh", wire, number) + rest


def i32(number: int) -> bytes:
    return struct.pack(">i", number)


def piece(rest: bytes) -> bytes:
    return i32(len(rest)) + rest


def items(wire: int, *each: bytes) -> bytes:
    return bytes([wire]) + i32(len(each)) + b"".join(each)


def entries(keys: int, values: int, *each: bytes) -> bytes:
    """A map of keys and values, one after the other."""
    return bytes([keys, values]) + i32(len(each) // 2) + b"".join(each)


END = b"\x00"
GOOD = field(I32, 1, i32(7)) + END


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "TRUNCATED"),
        (b"\x08", "TRUNCATED"),
        (b"\x08\x00\x01\x00\x00\x00", "TRUNCATED"),
        (field(I32, 1, i32(7)), "TRUNCATED"),
        (field(STRING, 3, i32(5) + b"abc"), "TRUNCATED"),
        (field(STRING, 3, i32(2**31 - 1) + b"abc") + END, "TRUNCATED"),
        (field(STRING, 99, i32(2**31 - 1) + b"abc") + END, "TRUNCATED"),
        (field(LIST, 7, b"\x08" + i32(2**31 - 1)) + END, "TRUNCATED"),
        (field(LIST, 17, b"\x0c" + i32(2**30)) + END * 64, "TRUNCATED"),
        (field(LIST, 99, b"\x0c" + i32(2**30)) + END * 64, "TRUNCATED"),
        (field(LIST, 17, b"\x0c" + i32(60)) + END * 50, "TRUNCATED"),
        (field(MAP, 8, b"\x0b\x08" + i32(2**31 - 1)) + END, "TRUNCATED"),
        (field(MAP, 8, entries(STRING, I32, piece(b"a"), b"\0\0\0")), "TRUNCATED"),
        (field(UUID, 15, b"\0" * 15), "TRUNCATED"),
        (field(DOUBLE, 4, b"\0" * 7), "TRUNCATED"),
        (field(STRUCT, 6, field(I32, 1, i32(1))), "TRUNCATED"),
        (field(STRUCT, 99, field(I32, 1, i32(1))), "TRUNCATED"),
        (GOOD + b"\x00", "TRAILING_BYTES"),
        (GOOD + GOOD, "TRAILING_BYTES"),
        (field(I64, 1, b"\0" * 8) + END, "WRONG_TYPE"),
        (field(I32, 2, i32(1)) + END, "WRONG_TYPE"),
        (field(STRING, 1, piece(b"x")) + END, "WRONG_TYPE"),
        (field(SET, 7, items(I32)) + END, "WRONG_TYPE"),
        (field(LIST, 7, items(I64, b"\0" * 8)) + END, "WRONG_TYPE"),
        (field(MAP, 8, entries(STRING, STRING, piece(b"a"), piece(b"b"))) + END, "WRONG_TYPE"),
        (field(MAP, 8, entries(I32, I32, i32(1), i32(2))) + END, "WRONG_TYPE"),
        (field(STRUCT, 18, field(I32, 1, i32(1)) + field(STRUCT, 2, END) + END) + END,
         "WRONG_TYPE"),
        (field(STRING, 3, i32(-1)) + END, "OUT_OF_RANGE"),
        (field(STRING, 99, i32(-1)) + END, "OUT_OF_RANGE"),
        (field(LIST, 7, b"\x08" + i32(-1)) + END, "OUT_OF_RANGE"),
        (field(LIST, 99, b"\x08" + i32(-(2**31))) + END, "OUT_OF_RANGE"),
        (field(MAP, 8, b"\x0b\x08" + i32(-5)) + END, "OUT_OF_RANGE"),
        (field(BOOL, 5, b"\x02") + END, "OUT_OF_RANGE"),
        (field(LIST, 19, items(BOOL, b"\xff")) + END, "OUT_OF_RANGE"),
        (field(1, 1, b"") + END, "OUT_OF_RANGE"),
        (field(17, 99, b"") + END, "OUT_OF_RANGE"),
        (field(254, 5, b"\x01") + END, "OUT_OF_RANGE"),
        (field(254, 99, b"\x01") + END, "OUT_OF_RANGE"),
        (field(255, 99, b"") + END, "OUT_OF_RANGE"),
        (field(LIST, 7, items(99, i32(1))) + END, "OUT_OF_RANGE"),
        (field(LIST, 99, items(0, b"\0")) + END, "OUT_OF_RANGE"),
        (field(LIST, 99, items(254, b"\0")) + END, "OUT_OF_RANGE"),
        (field(MAP, 99, entries(I32, 0, i32(1), b"")) + END, "OUT_OF_RANGE"),
        (field(STRING, 3, piece(b"\xc3\x28")) + END, "NOT_UTF8"),
        (field(LIST, 9, items(STRING, piece(b"fine"), piece(b"\xff"))) + END, "NOT_UTF8"),
        (field(MAP, 8, entries(STRING, I32, piece(b"\xff"), i32(1))) + END, "NOT_UTF8"),
        (field(STRUCT, 99, b"") * 65 + END * 66, "TOO_DEEP"),
        (field(STRUCT, 99, b"") * 100_000, "TOO_DEEP"),
        (field(LIST, 99, (b"\x0f" + i32(1)) * 66), "TOO_DEEP"),
        (b"\xff" * 100, "OUT_OF_RANGE"),
        (b'{"small": 7}', "OUT_OF_RANGE"),
    ],
)  # fmt: skip
def test_a_broken_record_has_a_reason(plain: StructLayout, payload: bytes, reason: str) -> None:
    read = both_ways(plain, [GOOD, payload, GOOD])
    assert [(bad.index, bad.reason) for bad in read.bad] == [(1, reason)]
    assert read.batch["small"].to_pylist() == [7, 7]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "TRUNCATED"),
        (b"\x15", "TRUNCATED"),
        (b"\x15\x80", "TRUNCATED"),
        (b"\x38\x05abc", "TRUNCATED"),
        (b"\x38\xff\xff\xff\xff\x07abc\x00", "TRUNCATED"),
        (b"\x79\xf5\xff\xff\xff\xff\x07\x00", "TRUNCATED"),
        (b"\x09\xc6\x01\xfc\xff\xff\xff\xff\x07" + END * 64, "TRUNCATED"),
        (b"\x15\x02\x00\x00", "TRAILING_BYTES"),
        (b"\x11\x00", "WRONG_TYPE"),
        (b"\x16\x02\x00", "WRONG_TYPE"),
        (b"\x55\x02\x00", "WRONG_TYPE"),
        (b"\x79\x16\x02\x00", "WRONG_TYPE"),
        (b"\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", "OUT_OF_RANGE"),
        (b"\x38\x80\x80\x80\x80\x08\x00", "OUT_OF_RANGE"),
        (b"\x15" + b"\xff" * 10 + b"\x01\x00", "OUT_OF_RANGE"),
        (b"\x15" + b"\xff" * 9 + b"\x02\x00", "OUT_OF_RANGE"),
        (b"\x15\xff\xff\xff\xff\x1f\x00", "OUT_OF_RANGE"),
        (b"\xd4\x80\x80\x04\x00", "OUT_OF_RANGE"),
        (b"\x0d\x04\x00", "WRONG_TYPE"),
        (b"\x1e\x00", "OUT_OF_RANGE"),
        (b"\x0f\xc6\x01\x00", "OUT_OF_RANGE"),
        (b"\x10\x00", "OUT_OF_RANGE"),
        (b"\x05\x80\x80\x04\x00\x00", "OUT_OF_RANGE"),
        (b"\x05\xfe\xff\x03\x02\x15\x02\x00", "OUT_OF_RANGE"),
        (b"\x09\x26\x12\x03\x00", "OUT_OF_RANGE"),
        (b"\x09\xc6\x01\x10\x00\x00", "OUT_OF_RANGE"),
        (b"\x09\xc6\x01\x1e\x00\x00", "OUT_OF_RANGE"),
        (b"\x0b\xc6\x01\x01\x5f\x00\x00\x00", "OUT_OF_RANGE"),
        (b"\x38\x02\xc3\x28\x00", "NOT_UTF8"),
        (b"\x0c\xc6\x01" + b"\x1c" * 64 + END * 66, "TOO_DEEP"),
        (b"\x0c\xc6\x01" + b"\x1c" * 100_000, "TOO_DEEP"),
        (b"\x82\x21\x00\x04ping\x15\x02\x00", "WRONG_TYPE"),
    ],
)
def test_a_broken_record_in_the_compact_protocol_has_a_reason(
    compact: StructLayout, payload: bytes, reason: str
) -> None:
    good = b"\x15\x0e\x00"
    read = both_ways(compact, [good, payload, good])
    assert [(bad.index, bad.reason) for bad in read.bad] == [(1, reason)]
    assert read.batch["small"].to_pylist() == [7, 7]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_records_are_no_rows_and_an_empty_struct_is_all_nulls(protocol: Protocol) -> None:
    plan = layout(PLAIN, protocol)
    read = both_ways(plan, [])
    assert (read.batch.num_rows, read.good.tolist(), read.bad) == (0, [], [])
    assert one(plan, END) == {}


def test_executors_need_no_thrift_library() -> None:
    program = (
        "import sys, penstock.datapath.codec.thrift.thrift_reader; "
        "sys.exit(any(name.split('.')[0] in {'thrift', 'thriftpy2'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_numbers_are_what_their_types_say(plain: StructLayout, compact: StructLayout) -> None:
    lowest = field(BYTE, 12, b"\x80") + field(I16, 13, b"\x80\x00") + field(I32, 1, i32(-(2**31)))
    row = one(plain, lowest + field(I64, 2, b"\x80" + b"\0" * 7) + END)
    assert row == {"tiny": -128, "short": -(2**15), "small": -(2**31), "wide": -(2**63)}
    row = one(
        compact,
        b"\xc3\x80\x14\xff\xff\x03\x05\x02\xff\xff\xff\xff\x0f\x16" + b"\xff" * 9 + b"\x01\x00",
    )
    assert row == {"tiny": -128, "short": -(2**15), "small": -(2**31), "wide": -(2**63)}
    assert one(compact, b"\x15\x8e\x80\x00\x00")["small"] == 7, "more bytes than it needs"


def test_doubles_have_their_bytes_in_the_order_of_the_protocol(
    plain: StructLayout, compact: StructLayout
) -> None:
    assert one(plain, field(DOUBLE, 4, struct.pack(">d", 1.5)) + END)["real"] == 1.5
    assert one(compact, b"\x47" + struct.pack("<d", 1.5) + END)["real"] == 1.5
    loud = struct.pack(">Q", 0x7FF0000000000001)
    found = read_thrift(plain, pa.array([field(DOUBLE, 4, loud) + END], pa.binary()), 0)
    assert math.isnan(found.batch["real"][0].as_py())


def test_booleans_of_the_compact_protocol_are_in_the_header_or_a_byte(
    compact: StructLayout,
) -> None:
    assert one(compact, b"\x51\x00")["yes"] is True
    assert one(compact, b"\x52\x00")["yes"] is False
    assert one(compact, b"\x01\x0a\x00")["yes"] is True, "the number behind the type"
    assert one(compact, b"\x02\x0a\x00")["yes"] is False
    for kind in (1, 2):  # libraries write either for the type of items
        flags = bytes([9, 38, 0x40 | kind, 1, 0, 2, 1, 0])
        assert one(compact, flags)["flags"] == [True, False, False, True]
        assert is_fast(compact, flags)


def test_an_enum_is_a_name_or_the_digits_of_its_number(plain: StructLayout) -> None:
    payloads = [field(I32, 11, i32(number)) + END for number in (0, 2, 7, -1)]
    read = both_ways(plain, payloads)
    assert read.batch["color"].to_pylist() == ["RED", "BLUE", "7", "-1"]
    assert read.by_reference is not None
    assert read.by_reference.tolist() == [False, False, True, True]


def test_a_uuid_is_a_text(plain: StructLayout) -> None:
    payload = field(UUID, 15, bytes(range(16))) + END
    read = both_ways(plain, [END, payload, payload, GOOD])
    text = "00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert read.batch["who"].to_pylist() == [None, text, text, None]


def test_a_struct_without_fields_is_true_where_it_is_there(plain: StructLayout) -> None:
    read = both_ways(plain, [field(STRUCT, 16, END) + END, END])
    assert read.batch["nothing"].to_pylist() == [True, None]
    unknown = field(STRUCT, 16, field(I32, 3, i32(1)) + END) + END
    assert one(plain, unknown) == {"nothing": True}


UNKNOWN = (
    field(BOOL, 90, b"\x01")
    + field(BYTE, 91, b"\xff")
    + field(DOUBLE, 92, b"\0" * 8)
    + field(I16, 93, b"\0\0")
    + field(I32, -94, i32(1))
    + field(I64, 95, b"\0" * 8)
    + field(STRING, 0, piece(b"\xff\0"))
    + field(UUID, 97, b"\0" * 16)
    + field(STRUCT, 98, field(I32, 1, i32(1)) + field(STRUCT, 2, END) + END)
    + field(MAP, 99, entries(STRING, LIST, piece(b"a"), items(I16, b"\0\0", b"\0\0")))
    + field(SET, 100, items(STRUCT, END, field(BOOL, 1, b"\0") + END))
    + field(LIST, 101, items(0))
    + field(MAP, 102, entries(99, 77))
)


def test_unknown_fields_are_skipped_wherever_they_are(plain: StructLayout) -> None:
    first, last = field(I32, 1, i32(7)), field(STRING, 3, piece(b"x"))
    for parts in permutations([first, last, UNKNOWN]):
        payload = b"".join(parts) + END
        assert one(plain, payload) == {"small": 7, "text": "x"}
        assert is_fast(plain, payload)
    inside = field(STRUCT, 6, UNKNOWN + field(I32, 1, i32(1)) + UNKNOWN + END) + END
    assert one(plain, inside)["inside"] == {"a": 1, "b": None}
    assert is_fast(plain, inside)


def test_unknown_fields_nest_as_deep_as_thrifts_libraries_allow(
    plain: StructLayout, compact: StructLayout
) -> None:
    deep = field(STRUCT, 99, b"") * 64 + END * 65
    assert one(plain, deep) == {}
    assert is_fast(plain, deep)
    lists = field(LIST, 99, (b"\x0f" + i32(1)) * 63 + items(BYTE, b"\1")) + END
    assert is_fast(plain, lists)
    structs = b"\x0c\xc6\x01" + b"\x1c" * 63 + END * 65
    assert one(compact, structs) == {}
    assert is_fast(compact, structs)


def test_unknown_fields_of_the_compact_protocol_are_skipped(compact: StructLayout) -> None:
    unknown = (
        b"\x01\xc6\x01" b"\x12" b"\x13\xff" b"\x14\x80\x01" b"\x15\x02" b"\x16\x80\x01"
        b"\x17\0\0\0\0\0\0\0\0" b"\x18\x02\xff\0" b"\x1d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
        b"\x1c\x11\x12\x15\x02\x1c\x00\x00" b"\x1b\x01\x89\x01a\x24\x01\x02" b"\x1a\x2c\x00\x11\x00"
        b"\x19\x00" b"\x1b\x00" b"\x19\x41\x01\x00\x02\x07"
    )  # fmt: skip
    for payload in (unknown + b"\x05\x02\x0e\x00", b"\x15\x0e" + unknown + b"\x00"):
        assert one(compact, payload) == {"small": 7}
        assert is_fast(compact, payload)


def test_of_one_field_twice_the_last_one_counts_as_a_whole(plain: StructLayout) -> None:
    first, second = (
        field(I32, 1, i32(n)) + field(STRUCT, 6, field(I32, n, i32(n)) + END) for n in (1, 1)
    )
    other = field(STRUCT, 6, field(STRING, 2, piece(b"b")) + END)
    row = one(plain, first + second + field(I32, 1, i32(5)) + other + END)
    assert row == {"small": 5, "inside": {"a": None, "b": "b"}}
    lists = field(LIST, 7, items(I32, i32(1), i32(2))) + field(LIST, 7, items(I32, i32(3)))
    assert one(plain, lists + END)["many"] == [3]


def test_fields_in_any_order_are_read_the_fast_way(
    plain: StructLayout, compact: StructLayout
) -> None:
    parts = [
        field(I32, 1, i32(7)),
        field(STRING, 3, piece(b"x")),
        field(BOOL, 5, b"\1"),
        field(STRUCT, 6, END),
    ]
    wanted = {"small": 7, "text": "x", "yes": True, "inside": {"a": None, "b": None}}
    for each in permutations(parts):
        assert one(plain, b"".join(each) + END) == wanted
        assert is_fast(plain, b"".join(each) + END)
    parts = [b"\x05\x02\x0e", b"\x08\x06\x01x", b"\x01\x0a", b"\x0c\x0c\x00"]
    for each in permutations(parts):
        assert one(compact, b"".join(each) + END) == wanted
        assert is_fast(compact, b"".join(each) + END)


def test_lists_sets_and_maps_may_be_empty_whatever_type_they_say(
    plain: StructLayout, compact: StructLayout
) -> None:
    empty = field(LIST, 7, items(99)) + field(MAP, 8, entries(0, 0)) + field(SET, 20, items(LIST))
    assert one(plain, empty + END) == {"many": [], "named": [], "nested": []}
    assert is_fast(plain, empty + END)
    assert one(compact, b"\x79\x0f\x1b\x00\x00") == {"many": [], "named": []}


def test_maps_have_texts_as_keys_or_are_lists_of_pairs(plain: StructLayout) -> None:
    named = field(MAP, 8, entries(STRING, I32, piece(b"a"), i32(1), piece(b"b"), i32(2)))
    numbered = field(MAP, 10, entries(I32, STRING, i32(5), piece(b"x"), i32(5), piece(b"y")))
    inside = field(I32, 1, i32(9)) + END
    colors = field(MAP, 21, entries(I32, STRUCT, i32(2), inside, i32(0), END))
    payload = named + numbered + colors + END
    assert one(plain, payload) == {
        "named": [("a", 1), ("b", 2)],
        "numbered": [{"key": 5, "value": "x"}, {"key": 5, "value": "y"}],
        "colors": [("BLUE", {"a": 9, "b": None}), ("RED", {"a": None, "b": None})],
    }
    assert is_fast(plain, payload)


def test_of_a_key_that_comes_twice_the_last_value_counts(plain: StructLayout) -> None:
    pairs = [piece(b"a"), i32(1), piece(b"b"), i32(2), piece(b"a"), i32(3)]
    payload = field(MAP, 8, entries(STRING, I32, *pairs)) + END
    assert one(plain, payload)["named"] == [("a", 3), ("b", 2)]
    assert not is_fast(plain, payload)
    colors = field(MAP, 21, entries(I32, STRUCT, i32(2), END, i32(2), END)) + END
    assert len(one(plain, colors)["colors"]) == 1


def test_a_map_of_very_many_keys_is_left_to_the_reference(plain: StructLayout) -> None:
    """Goal: no time that grows with the square of what somebody has sent."""

    def payload(count: int) -> bytes:
        pairs = [part for number in range(count) for part in (piece(b"%d" % number), i32(number))]
        return field(MAP, 8, entries(STRING, I32, *pairs)) + END

    assert is_fast(plain, payload(1024))
    assert not is_fast(plain, payload(1025))
    assert len(one(plain, payload(1025))["named"]) == 1025


def test_a_union_has_one_field_or_none_that_is_known(plain: StructLayout) -> None:
    def what(inside: bytes) -> Any:
        return one(plain, field(STRUCT, 18, inside + END) + END)["what"]

    nothing = {"number": None, "inside": None, "many": None}
    assert what(field(I32, 1, i32(0))) == nothing | {"number": 0}
    assert what(field(LIST, 3, items(I32, i32(1)))) == nothing | {"many": [1]}
    assert what(b"") == nothing
    assert what(field(I32, 9, i32(0))) == nothing, "a field of a newer schema"
    assert what(field(I32, 1, i32(1)) * 2) == nothing | {"number": 1}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_required_field_must_be_there(protocol: Protocol) -> None:
    plan = layout(REQUIRED, protocol)
    if protocol == "binary":
        a, b = field(I32, 1, i32(1)), field(STRUCT, 2, END)
        full = field(STRUCT, 2, field(I32, 1, i32(2)) + END)
    else:
        a, b, full = b"\x15\x02", b"\x0c\x04\x00", b"\x0c\x04\x15\x04\x00"
    read = both_ways(plan, [END, a + END, a + b + END, a + full + END])
    assert [(bad.index, bad.reason) for bad in read.bad] == [
        (0, "MISSING_FIELD"),
        (2, "MISSING_FIELD"),
    ]
    assert read.batch.to_pylist() == [
        {"a": 1, "b": None, "d": None},
        {"a": 1, "b": {"c": 2}, "d": None},
    ]
    assert not plan.schema.field("a").nullable


def test_what_is_in_a_struct_that_is_absent_is_null(plain: StructLayout) -> None:
    """Columns of a struct are taken out of it by themselves, and must not show zeros then."""
    payload = field(STRUCT, 6, field(I32, 1, i32(1)) + field(STRING, 2, piece(b"")) + END) + END
    found = both_ways(plain, [END, payload]).batch["inside"]
    assert [found.field(place).to_pylist() for place in range(2)] == [[None, 1], [None, ""]]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_batch_may_have_more_items_than_the_one_before_it(protocol: Protocol) -> None:
    """There is memory for as many as before; when that is full, there is more."""
    plan = layout(PLAIN, protocol)
    for count, records in ((0, 3), (1, 3), (8_000, 5), (100, 1_000), (2, 2)):
        if protocol == "binary":
            many = field(LIST, 7, items(I32, *[i32(5)] * count))
            payload = many + field(LIST, 17, items(STRUCT, *[END] * count)) + END
        else:
            size = bytes([count & 127 | 128, count >> 7])
            payload = b"\x79\xf5" + size + b"\x0a" * count + b"\xa9\xfc" + size + END * count + END
        batch, refused = read_columns(pa.array([payload] * records, pa.binary()), plan, 0)
        assert not refused.any()
        assert batch["many"].to_pylist() == [[5] * count] * records
        assert batch["rows"].to_pylist() == [[{"a": None, "b": None}] * count] * records


def test_a_forged_count_takes_no_memory(plain: StructLayout) -> None:
    """Goal: room for items is made as they are read. Method: a count as large as the payload."""
    payload = field(LIST, 17, b"\x0c" + i32(900_000)) + b"\xff" * 900_000
    with mock.patch.object(np, "zeros", wraps=np.zeros) as zeros:
        read_columns(pa.array([payload], pa.binary()), plain, 0)
    assert max(int(np.prod(call.args[0])) for call in zeros.call_args_list) < 100_000


def test_hostile_lengths_end_in_no_time(plain: StructLayout, compact: StructLayout) -> None:
    """Goal: time that grows with the bytes alone, whatever they promise."""
    many = field(LIST, 99, b"\x0f" + i32(2**31 - 1)) + END * 200_000
    deep = (field(MAP, 99, b"\x0c\x0c" + i32(1))) * 30_000
    small = b"\x09\xc6\x01\xf9\xff\xff\xff\xff\x07" + b"\x09" * 200_000
    start = time.process_time()
    for plan, payload in ((plain, many), (plain, deep), (compact, small)):
        assert len(both_ways(plan, [payload]).bad) == 1
    assert time.process_time() - start < 10


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_record_with_too_many_items_is_refused(protocol: Protocol) -> None:
    plan = layout(PLAIN, protocol)
    most = MOST_ITEMS
    for count, wanted in ((most, []), (most + 1, ["TOO_MANY"])):
        if protocol == "binary":
            payload = field(LIST, 19, b"\x02" + i32(count) + b"\x01" * count) + END
        else:
            size = bytes([count & 127 | 128, count >> 7 & 127 | 128, count >> 14])
            payload = b"\x09\x26\xf1" + size + b"\x01" * count + END
        found = read_thrift(plan, pa.array([payload], pa.binary()), 0)
        assert [bad.reason for bad in found.bad] == wanted
        assert is_fast(plan, payload) is not bool(wanted)


def test_a_list_of_structs_that_become_too_many_values_is_refused(plain: StructLayout) -> None:
    payloads = [field(LIST, 17, items(STRUCT, *[END] * count)) + END for count in (5, 6, 3)]
    values = pa.array(payloads, pa.binary())
    fast = read_thrift(plain, values, 0, most=10)
    slow = read_thrift(plain, values, 0, exact_only=True, most=10)
    assert [(bad.index, bad.reason) for bad in fast.bad] == [(1, "TOO_MANY")]
    assert fast.bad == slow.bad
    assert fast.batch.equals(slow.batch)


def test_a_reader_knows_its_struct_by_name() -> None:
    decode = DecodeSpec("thrift", schema_text=PLAIN, message="Inside")
    reader = thrift_reader(fixed_struct(decode))
    assert reader.name == "Inside"
    assert [(each.name, each.type.kind, each.nullable) for each in reader.fields] == [
        ("a", "int64", True),
        ("b", "string", True),
    ]
