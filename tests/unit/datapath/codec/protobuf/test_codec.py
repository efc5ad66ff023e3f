"""Protobuf records byte by byte: the fate of each kind of payload, in both ways of reading."""

import math
import struct
import subprocess
import sys
import warnings
from itertools import permutations
from typing import Any

import pyarrow as pa
import pytest

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.protobuf import columns as proto_columns
from penstock.datapath.codec.protobuf import reference as proto_reference
from penstock.datapath.codec.protobuf.columns import read_columns
from penstock.datapath.codec.protobuf.message_layout import MessageLayout
from penstock.datapath.codec.protobuf.protobuf_reader import proto_layout, read_proto
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.model.registered_schema import RegisteredSchema

pytestmark = pytest.mark.usefixtures("warm_compilers")

PLAIN = """
message Event {
  int32 small = 1; sint64 zigzag = 2; string text = 3; double real = 4; bool yes = 5;
  Inside inside = 6; repeated int32 many = 7; map<string, int32> named = 8;
  repeated string words = 9; map<int32, string> numbered = 10; uint64 wide = 11;
  enum Color { RED = 0; BLUE = 2; } Color color = 12; repeated fixed32 rows = 13;
  optional int32 maybe = 14; bytes raw = 15;
}
message Inside { int32 a = 1; string b = 2; }
"""
TIMES = """
import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto";
message Event { google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2; }
"""
ONEOF = """
message Event {
  string first = 1; oneof what { int32 a = 2; In b = 9; } string middle = 5; int32 last = 10;
}
message In { int32 x = 1; int32 y = 2; }
"""
REQUIRED = """
message Event { required int32 a = 1; optional In b = 2; } message In { required int32 c = 1; }
"""


def layout(body: str, syntax: str = "proto3") -> MessageLayout:
    text = f'syntax = "{syntax}"; {body}'
    return proto_layout(prepared(RegisteredSchema("protobuf", text)), (0,))


@pytest.fixture(scope="module")
def plain() -> MessageLayout:
    return layout(PLAIN)


def both_ways(plan: MessageLayout, payloads: list[bytes]) -> DecodedBatch:
    values = pa.array(payloads, pa.binary())
    fast, slow = read_proto(plan, values, 0), read_proto(plan, values, 0, exact_only=True)
    assert fast.bad == slow.bad
    assert fast.good.tolist() == slow.good.tolist()
    assert fast.batch.equals(slow.batch)
    return fast


def one(plan: MessageLayout, payload: bytes) -> dict[str, Any]:
    """The only record, which must be good."""
    read = both_ways(plan, [payload])
    assert read.bad == []
    row: dict[str, Any] = read.batch.to_pylist()[0]
    return row


def is_fast(plan: MessageLayout, payload: bytes) -> bool:
    return not read_columns(pa.array([payload], pa.binary()), plan, 0)[1].any()


def varint(value: int) -> bytes:
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(number: int, wire: int, rest: bytes) -> bytes:
    return varint(number << 3 | wire) + rest


def piece(number: int, rest: bytes) -> bytes:
    return field(number, 2, varint(len(rest)) + rest)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"\x08", "TRUNCATED"),
        (b"\x08\x80", "TRUNCATED"),
        (b"\x1a\x05abc", "TRUNCATED"),
        (b"\x21\0\0\0", "TRUNCATED"),
        (b"\x32\x01\x08", "TRUNCATED"),
        (b"\x32\x02\x12\x05hello", "TRUNCATED"),
        (b"\x3a\x01\x80", "TRUNCATED"),
        (piece(13, b"\0" * 7), "TRUNCATED"),
        (b"\x80", "TRUNCATED"),
        (piece(3, b"ok") + b"\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "TRUNCATED"),
        (b"\x0a\x00", "WRONG_TYPE"),
        (b"\x18\x00", "WRONG_TYPE"),
        (b"\x20\x00", "WRONG_TYPE"),
        (b"\x30\x00", "WRONG_TYPE"),
        (b"\x39" + b"\0" * 8, "WRONG_TYPE"),
        (b"\x40\x00", "WRONG_TYPE"),
        (b"\x08" + b"\xff" * 10 + b"\x01", "OUT_OF_RANGE"),
        (b"\x08" + b"\xff" * 9 + b"\x02", "OUT_OF_RANGE"),
        (b"\x00\x00", "OUT_OF_RANGE"),
        (b"\x0b\x0c", "WRONG_TYPE"),
        (b"\x0c", "OUT_OF_RANGE"),
        (b"\x0e\x00", "OUT_OF_RANGE"),
        (field(99, 3, b""), "TRUNCATED"),
        (field(99, 3, field(98, 4, b"")), "OUT_OF_RANGE"),
        (field(99, 3, field(98, 3, field(99, 4, field(98, 4, b"")))), "OUT_OF_RANGE"),
        (field(99, 3, b"\x0e"), "OUT_OF_RANGE"),
        (piece(6, field(99, 3, b"")) + field(99, 4, b""), "TRUNCATED"),
        (field(99, 3, b"") * 101 + field(99, 4, b"") * 101, "TOO_DEEP"),
        (field(99, 3, b"") * 100_000, "TOO_DEEP"),
        (varint(1 << 35) + b"\x00", "OUT_OF_RANGE"),
        (b"\x1a\x02\xc3\x28", "NOT_UTF8"),
        (piece(9, b"fine") + piece(9, b"\xff"), "NOT_UTF8"),
        (piece(8, piece(1, b"\xff")), "NOT_UTF8"),
    ],
)  # fmt: skip
def test_a_broken_record_has_a_reason(plain: MessageLayout, payload: bytes, reason: str) -> None:
    read = both_ways(plain, [b"\x08\x07", payload, b"\x08\x07"])
    assert [(bad.index, bad.reason) for bad in read.bad] == [(1, reason)]
    assert read.batch["small"].to_pylist() == [7, 7]


def test_no_records_are_no_rows(plain: MessageLayout) -> None:
    read = both_ways(plain, [])
    assert (read.batch.num_rows, read.good.tolist(), read.bad) == (0, [], [])


def test_executors_need_no_library_of_protobufs_makers() -> None:
    program = (
        "import sys, penstock.datapath.codec.codecs; "
        "sys.exit(any(name.split('.')[0] in {'google', 'grpc_tools'} for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_empty_record_has_every_default(plain: MessageLayout) -> None:
    assert one(plain, b"") == {
        "small": 0, "zigzag": 0, "text": "", "real": 0.0, "yes": False, "inside": None, "many": [],
        "named": [], "words": [], "numbered": [], "wide": 0, "color": "RED", "rows": [],
        "maybe": None, "raw": b"",
    }  # fmt: skip


def test_numbers_keep_as_many_bits_as_their_fields_have(plain: MessageLayout) -> None:
    assert one(plain, b"\x08" + varint(2**64 - 5))["small"] == -5
    assert one(plain, b"\x08" + varint(2**32 + 3))["small"] == 3
    assert one(plain, b"\x10" + varint(2**64 - 1))["zigzag"] == -(2**63)
    assert one(plain, b"\x28" + varint(2**40))["yes"] is True
    assert one(plain, b"\x58" + varint(2**64 - 1))["wide"] == 2**64 - 1
    assert one(plain, b"\x70\x00")["maybe"] == 0
    assert one(plain, b"\x08\x83\x80\x00")["small"] == 3


def test_an_enum_is_a_name_or_the_digits_of_its_number(plain: MessageLayout) -> None:
    payloads = [b"\x60\x02", b"\x60\x07", b"\x60" + varint(2**64 - 1)]
    assert both_ways(plain, payloads).batch["color"].to_pylist() == ["BLUE", "7", "-1"]


def test_unknown_fields_are_skipped_wherever_they_are(plain: MessageLayout) -> None:
    unknown = (
        field(99, 0, b"\x01")
        + field(98, 1, b"\0" * 8)
        + piece(97, b"\xff")
        + field(96, 5, b"\0" * 4)
    )
    known = b"\x08\x07" + piece(3, b"x")
    for payload in [known + unknown, unknown + known, known[:2] + unknown + known[2:]]:
        assert (one(plain, payload)["small"], one(plain, payload)["text"]) == (7, "x")
    assert is_fast(plain, known + unknown)
    inside = piece(6, b"\x08\x01" + unknown)
    assert is_fast(plain, inside)
    assert one(plain, inside)["inside"] == {"a": 1, "b": ""}
    assert both_ways(plain, [known + unknown[:-1]]).bad[0].reason == "TRUNCATED"
    assert one(plain, known + unknown * 20)["small"] == 7


def test_unknown_groups_are_skipped_to_their_end(plain: MessageLayout) -> None:
    known, end = b"\x08\x07" + piece(3, b"x"), field(99, 4, b"")
    empty, deep = field(99, 3, end), field(99, 3, b"") * 100 + end * 100
    full = field(99, 3, b"\x08\x01" + piece(97, b"\xff") + field(98, 1, b"\0" * 8) + empty + end)
    for group in (empty, deep, full):
        for payload in [known + group, group + known, known[:2] + group + known[2:]]:
            assert (one(plain, payload)["small"], one(plain, payload)["text"]) == (7, "x")
        assert one(plain, piece(6, b"\x08\x01" + group))["inside"] == {"a": 1, "b": ""}


def test_the_last_of_two_values_counts_and_messages_are_merged(plain: MessageLayout) -> None:
    twice = b"\x08\x01" + piece(6, b"\x08\x05") + b"\x08\x02" + piece(6, piece(2, b"b"))
    row = one(plain, twice)
    assert row["small"] == 2
    assert row["inside"] == {"a": 5, "b": "b"}


def test_numbers_are_read_packed_and_not_packed_and_in_any_mixture(plain: MessageLayout) -> None:
    packed, single = piece(7, b"\x01\x02\x80\x01"), b"\x38\x09"
    assert one(plain, packed)["many"] == [1, 2, 128]
    assert one(plain, single + single)["many"] == [9, 9]
    assert one(plain, single + packed + single + piece(7, b""))["many"] == [9, 1, 2, 128, 9]
    assert is_fast(plain, packed)
    assert is_fast(plain, single + packed + single)


def test_long_lists_are_read_the_fast_way_packed_or_not(plain: MessageLayout) -> None:
    numbers = list(range(5_000))
    packed = piece(7, b"".join(map(varint, numbers))) + piece(13, struct.pack("<3I", 1, 2, 3))
    assert is_fast(plain, packed)
    assert one(plain, packed)["many"] == numbers
    assert one(plain, packed)["rows"] == [1, 2, 3]
    words = b"".join(piece(9, b"%d" % number) for number in range(300))
    assert is_fast(plain, words)
    assert one(plain, words)["words"] == [str(number) for number in range(300)]


def test_a_batch_may_have_more_items_than_the_one_before_it(plain: MessageLayout) -> None:
    """There is memory for as many as before; when that is full, there is more."""
    for items, records in ((0, 3), (1, 3), (8_000, 5), (100, 1_000), (2, 2)):
        words, numbers = piece(9, b"text") * items, piece(7, b"\x05" * items)
        values = pa.array([words + numbers] * records, pa.binary())
        batch, refused = read_columns(values, plain, 0)
        assert not refused.any()
        assert batch["words"].to_pylist() == [["text"] * items] * records
        assert batch["many"].to_pylist() == [[5] * items] * records


def test_what_is_in_a_message_that_is_absent_is_null(plain: MessageLayout) -> None:
    """Columns of a struct are taken out of it by themselves, and must not show zeros then."""
    found = both_ways(plain, [b"", piece(6, b"\x08\x01")]).batch["inside"]
    assert found.to_pylist() == [None, {"a": 1, "b": ""}]
    assert [found.field(place).to_pylist() for place in range(2)] == [[None, 1], [None, ""]]


def test_of_a_key_that_comes_twice_the_last_value_counts(plain: MessageLayout) -> None:
    def entry(key: bytes, value: int) -> bytes:
        return piece(8, piece(1, key) + b"\x10" + varint(value))

    row = one(plain, entry(b"a", 1) + entry(b"b", 2) + entry(b"a", 3))
    assert row["named"] == [("a", 3), ("b", 2)]
    numbered = piece(10, b"\x08\x05" + piece(2, b"x")) + piece(10, b"") + piece(10, b"\x08\x00")
    assert one(plain, numbered)["numbered"] == [
        {"key": 5, "value": "x"},
        {"key": 0, "value": ""},
    ]


def test_times_are_cut_off_towards_the_past_and_must_be_in_the_years_1_to_9999() -> None:
    plan = layout(TIMES)

    def moment(seconds: int, nanos: int, number: int = 1) -> bytes:
        parts = b"\x08" + varint(seconds % 2**64) + b"\x10" + varint(nanos % 2**64)
        return piece(number, parts)

    first, last = -62_135_596_800, 253_402_300_799
    good = [moment(0, 1_999), moment(-1, 999_999_999), moment(first, 0), moment(last, 999_999_999)]
    read = both_ways(plan, good)
    counts = read.batch["at"].cast(pa.int64()).to_pylist()
    assert counts == [1, -1, first * 10**6, last * 10**6 + 999_999]
    wrong = [moment(first - 1, 0), moment(last + 1, 0), moment(0, -1), moment(0, 10**9)]
    assert [bad.reason for bad in both_ways(plan, wrong).bad] == ["OUT_OF_RANGE"] * 4
    took = [moment(-1, -1_999, 2), moment(0, -999, 2), moment(315_576_000_000, 999_999_999, 2)]
    counts = both_ways(plan, took).batch["took"].to_pylist()
    assert counts == [-1_000_001, 0, 315_576_000_000_999_999]
    wrong = [moment(1, -1, 2), moment(-1, 1, 2), moment(315_576_000_001, 0, 2), moment(0, 10**9, 2)]
    assert [bad.reason for bad in both_ways(plan, wrong).bad] == ["OUT_OF_RANGE"] * 4


def test_what_is_wrong_inside_a_time_or_behind_it_is_noticed() -> None:
    plan = layout(TIMES)
    broken = [piece(1, b"\x08\x01\x80"), piece(1, b"\x10\x01\x0a"), piece(2, b"\x08\x01\x0c")]
    reasons = [bad.reason for bad in both_ways(plan, broken).bad]
    assert reasons == ["TRUNCATED", "WRONG_TYPE", "OUT_OF_RANGE"]
    turned = one(plan, piece(2, b"\x10\x00\x08\x01"))
    assert turned["took"] == 1_000_000
    unknown = one(plan, piece(2, b"\x08\x01" + field(9, 0, b"\x05")))
    assert unknown["took"] == 1_000_000


def test_of_two_fields_of_a_oneof_the_last_one_counts() -> None:
    plan = layout(ONEOF)
    number, message = b"\x10\x03", piece(9, b"\x08\x01")
    assert one(plan, number + message) == {
        "first": "", "a": None, "b": {"x": 1, "y": 0}, "middle": "", "last": 0,
    }  # fmt: skip
    assert one(plan, message + number)["a"] == 3
    assert one(plan, message + number)["b"] is None
    assert one(plan, message + piece(9, b"\x10\x02"))["b"] == {"x": 1, "y": 2}
    assert one(plan, message + number + piece(9, b"\x10\x02"))["b"] == {"x": 0, "y": 2}


def test_fields_in_any_order_are_read_the_fast_way() -> None:
    """Rust writes a oneof at its least number, and Go behind all other fields."""
    plan = layout(ONEOF)
    parts = [piece(1, b"f"), piece(5, b"m"), b"\x50\x07", piece(9, b"\x08\x01")]
    payloads = [b"".join(each) for each in permutations(parts)]
    assert all(is_fast(plan, payload) for payload in payloads)
    wanted = {"first": "f", "a": None, "b": {"x": 1, "y": 0}, "middle": "m", "last": 7}
    assert both_ways(plan, payloads).batch.to_pylist() == [wanted] * len(payloads)


def test_a_required_field_must_be_there() -> None:
    plan = layout(REQUIRED, "proto2")
    payloads = [b"", b"\x08\x01", b"\x08\x01" + piece(2, b""), b"\x08\x01" + piece(2, b"\x08\x02")]
    read = both_ways(plan, payloads)
    assert [(bad.index, bad.reason) for bad in read.bad] == [
        (0, "MISSING_FIELD"),
        (2, "MISSING_FIELD"),
    ]
    assert read.batch.to_pylist() == [{"a": 1, "b": None}, {"a": 1, "b": {"c": 2}}]


def test_a_record_with_too_many_items_is_refused(
    plain: MessageLayout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: both ways agree about the limit. Method: a low one, since counting takes a while."""
    for module in (proto_columns, proto_reference):
        monkeypatch.setattr(module, "MOST_ITEMS", 100)
    payloads = [piece(7, b"\x01" * 101), piece(7, b"\x01" * 100), piece(9, b"x" * 101)]
    read = both_ways(plain, payloads)
    assert [(bad.index, bad.reason) for bad in read.bad] == [(0, "OUT_OF_RANGE")]


def test_a_signalling_nan_is_read_without_a_word() -> None:
    loud = struct.pack("<I", 0x7F800001)
    plan = layout("message Event { float real = 1; }")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = read_proto(plan, pa.array([b"\x0d" + loud], pa.binary()), 0)
    assert math.isnan(found.batch["real"][0].as_py())
