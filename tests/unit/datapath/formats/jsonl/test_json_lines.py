"""Files of JSON lines: what others read in them, and what comes back."""

import base64
import gzip
import io
import json
import math
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from penstock.api.file_format import FileUnreadable, WriteOptions
from penstock.datapath.formats import line_packing
from penstock.datapath.formats.jsonl.jsonl import FORMAT
from penstock.testing.contracts.file_format_rows import opened, some_rows, values_of, written

COMPRESSIONS = tuple(FORMAT.suffixes)
INTEGERS = [0, -1, 9, 10, -10, 99, 2**53 + 1, 2**63 - 1, -(2**63), -(2**63) + 1]
DOUBLES = [0.0, -0.0, 1.0, -17.0, 0.1, 1e22, 1e23, 5e-324, 1.7976931348623157e308, 2.0**63]
TEXTS = ["", '"', "\\", "/", "\0\x01\x1f\x7f", "\b\t\n\f\r", "ü\u2028\U0001f600", "a\\u0041", "</"]


def file_of(rows: pa.Table, compression: str = "none") -> bytes:
    return written(FORMAT, rows, options=WriteOptions(compression))


def lines_of(rows: pa.Table) -> list[dict[str, Any]]:
    """The lines as Python's own parser reads them."""
    raw = file_of(rows)
    assert raw.endswith(b"\n")
    return [json.loads(line, parse_float=Decimal) for line in raw[:-1].split(b"\n")]


def all_of(raw: bytes) -> list[dict[str, Any]]:
    """All rows as the reader finds them, without a schema."""
    reader = FORMAT.open(io.BytesIO(raw))
    return [row for piece in reader.pieces(reader.schema.names) for row in piece.to_pylist()]


def test_a_line_is_one_object_with_all_columns() -> None:
    first, second = lines_of(some_rows(2))
    assert list(first) == list(second) == some_rows(1).schema.names
    assert {name for name, value in first.items() if value is not None} == {
        "_topic", "_partition", "_offset"
    }  # fmt: skip
    assert second == {
        "flag": True,
        "number": 1,
        "float": Decimal("0.1"),
        "text": "ü\n\0",
        "bytes": "/wA=",
        "day": "1600-02-29",
        "at": "2026-11-17T12:00:00.123456Z",
        "local": "1969-12-31T23:59:59.000000",
        "money": "-12345678901234567890.123456789",
        "who": {"id": 7, "names": ["a", None]},
        "list": [[], None, ["x", ""]],
        "map": {"k": {"x": 1}, "": {"x": None}},
        "_topic": "orders",
        "_partition": 3,
        "_offset": 1,
    }


def test_numbers_are_written_with_all_digits() -> None:
    numbers = [each["n"] for each in lines_of(pa.table({"n": INTEGERS}))]
    assert numbers == INTEGERS
    raw = file_of(pa.table({"x": DOUBLES})).splitlines()
    assert [json.loads(line)["x"] for line in raw] == DOUBLES
    assert all(isinstance(json.loads(line)["x"], float) for line in raw), "also where it is whole"
    assert math.copysign(1, json.loads(raw[1])["x"]) == -1
    digits = [Decimal(10) ** 37 - 1, Decimal("-0.000000001"), Decimal("0E-9"), Decimal("1.5")]
    for scale, values in ((9, digits[1:]), (0, [digits[0], -digits[0]])):
        rows = pa.table({"d": pa.array(values, pa.decimal128(38, scale))})
        found = [Decimal(each["d"]) for each in lines_of(rows)]
        assert found == values


def test_texts_and_bytes_come_back_whatever_they_are() -> None:
    rows = pa.table({"t": TEXTS, "b": [each.encode() for each in TEXTS]})
    for found, text in zip(lines_of(rows), TEXTS, strict=True):
        assert (found["t"], base64.b64decode(found["b"])) == (text, text.encode())
    long = "\x01" * 3_000_000
    assert lines_of(pa.table({"t": [long, "x"]})) == [{"t": long}, {"t": "x"}]
    odd = pa.table({'"\n': [{"ü ": 1}], "": pa.array([[]], pa.list_(pa.string()))})
    assert lines_of(odd) == [{'"\n': {"ü ": 1}, "": []}]


def test_days_and_times_of_all_years_are_in_iso_8601() -> None:
    days = [date(1, 1, 1), date(1582, 10, 4), date(1600, 2, 29), date(1900, 3, 1),
            date(2000, 2, 29), date(9999, 12, 31)]  # fmt: skip
    assert [each["d"] for each in lines_of(pa.table({"d": days}))] == [d.isoformat() for d in days]
    for unit, places, last in (("ms", 3, 999_000), ("us", 6, 999_999)):
        ends = [datetime(year, 12, 31, 23, 59, 59, last) for year in (1969, 2026, 9999)]
        moments = [datetime(1, 1, 1), datetime(1970, 1, 1), *ends]
        column = pa.array(moments, pa.timestamp("us")).cast(pa.timestamp(unit))
        rows = pa.table({"local": column, "utc": column.cast(pa.timestamp(unit, "UTC"))})
        for found, moment in zip(lines_of(rows), moments, strict=True):
            iso = moment.isoformat(timespec="microseconds")[: 20 + places]
            assert found == {"local": iso, "utc": f"{iso}Z"}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_same_rows_give_the_same_file(compression: str) -> None:
    rows = some_rows(2_000)
    assert file_of(rows, compression) == file_of(rows, compression)


def test_somebody_else_unpacks_and_reads_the_files(tmp_path: Any) -> None:
    rows = some_rows(300)
    assert gzip.decompress(file_of(rows, "gzip")) == file_of(rows)
    kinds = {
        "number": "bigint",
        "money": "decimal(38, 9)",
        "_offset": "bigint",
        "at": "timestamptz",
    }
    for compression, suffix in FORMAT.suffixes.items():
        place = tmp_path / f"rows.{suffix}"
        place.write_bytes(file_of(rows, compression))
        with duckdb.connect() as connection:
            connection.execute("set timezone = 'UTC'")
            found = connection.execute(
                'select number, money, _offset, epoch_us("at") from read_json(?, columns = ?)',
                [str(place), kinds],
            ).fetchall()
        at = rows["at"].cast(pa.int64()).to_pylist()
        wanted = zip(*(rows[name].to_pylist() for name in ("number", "money", "_offset")), at,
                     strict=True)  # fmt: skip
        assert found == list(wanted), compression


def test_without_a_schema_our_own_columns_have_types_and_others_are_texts() -> None:
    rows = pa.table(
        {
            "n": [2**60, None],
            "who": [{"a": [1.5]}, None],
            "text": ["ü\n", None],
            "_topic": ["t", "t"],
            "_partition": pa.array([1, 1], pa.int32()),
            "_offset": [7, 8],
            "_timestamp": pa.array([5, 6], pa.timestamp("ms", "UTC")),
            "_row": pa.array([0, 1], pa.int32()),
            "_rest": ['{"x":1}', None],
            "_key": [b"\xff", None],
        }
    )
    reader = FORMAT.open(io.BytesIO(file_of(rows, "zstd")))
    ours = ["_topic", "_partition", "_offset", "_timestamp", "_row", "_rest", "_key"]
    [piece] = reader.pieces(ours)
    assert pa.Table.from_batches([piece]).equals(rows.select(ours))
    [texts] = reader.pieces(["n", "who", "text"])
    assert texts.to_pylist() == [
        {"n": str(2**60), "who": '{"a":[1.5]}', "text": '"ü\\n"'},
        {"n": None, "who": None, "text": None},
    ]


def test_a_schema_with_more_columns_gives_them_as_absent() -> None:
    rows = pa.table({"n": [1, None]})
    schema = pa.schema([("n", pa.int64()), ("later", pa.list_(pa.struct([("x", pa.date32())])))])
    assert values_of(opened(FORMAT, file_of(rows), schema), schema) == [
        {"n": 1, "later": None}, {"n": None, "later": None}
    ]  # fmt: skip


def test_a_column_that_is_not_there_is_told() -> None:
    reader = FORMAT.open(io.BytesIO(file_of(pa.table({"n": [1]}))))
    with pytest.raises(FileUnreadable, match="no column _rest"):
        list(reader.pieces(["n", "_rest"]))


def test_gzip_of_several_members_is_read_as_one() -> None:
    rows = some_rows(20)
    raw = b"".join(gzip.compress(file_of(rows.slice(at, 5))) for at in range(0, 20, 5))
    assert [row["_offset"] for row in all_of(raw)] == list(range(20))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damaged_bytes_are_unreadable_or_other_rows_and_nothing_else(compression: str) -> None:
    raw, chance = file_of(some_rows(60), compression), Random(7)
    told: list[str] = []
    for _ in range(300):
        other = bytearray(raw)
        for _ in range(chance.choice((1, 1, 3))):
            other[chance.randrange(len(other))] = chance.randrange(256)
        for schema in (None, some_rows(1).schema):
            try:
                if schema is None:
                    all_of(bytes(other))
                else:
                    values_of(opened(FORMAT, bytes(other), schema), schema)
            except FileUnreadable as error:
                told.append(str(error))
    assert told
    assert not [each for each in told if "\n" in each]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "read"),
        (b"{}", "where a line ends"),
        (b'{"_offset": 1}\n{"_offset"', "where a line ends"),
        (b'{"_offset": "1"}\n', "read"),
        (b'{"_offset": 9223372036854775808}\n', "read"),
        (b"[1]\n", "read"),
        (b"\n", "read"),
        (gzip.compress(b'{"_offset": 1}\n', mtime=0)[:-1], "no end"),
    ],
)
def test_lines_that_are_none_are_told(raw: bytes, why: str) -> None:
    with pytest.raises(FileUnreadable, match=why):
        for _ in FORMAT.open(io.BytesIO(raw)).pieces(["_offset"]):
            pass


def test_a_few_bytes_that_unpack_to_very_many_are_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_packing, "MOST_LINE_BYTES", 4 << 20)

    def endless() -> Iterator[bytes]:
        for _ in range(1_000):
            yield bytes(1 << 20)

    raw = gzip.compress(b"".join(endless()))
    with pytest.raises(FileUnreadable, match="longer than any"):
        FORMAT.open(io.BytesIO(raw))


def test_rows_that_no_line_can_hold_are_named_with_their_reason() -> None:
    inner = pa.struct([("x", pa.float64())])
    batch = pa.RecordBatch.from_pydict(
        {"map": pa.array([[("a", {"x": math.inf})], [], None], pa.map_(pa.string(), inner))}
    )
    found = FORMAT.refused(batch, np.array([0, 253_402_300_799_999, 253_402_300_800_000]))
    assert [(bad.index, bad.reason) for bad in found] == [(0, "NOT_FINITE"), (2, "TIME_NOT_JSON")]


def test_values_are_copied_as_they_were_read_also_a_key_that_is_there_twice() -> None:
    """Goal: a rewrite loses nothing that a parser would. Method: a map with a key of two values."""
    twice = pa.array([[("k", 1), ("k", 2)]], pa.map_(pa.string(), pa.int64()))
    raw = file_of(pa.table({"m": twice, "x": [1.0], "_topic": ["t"], "_offset": [7]}))
    assert raw == b'{"m":{"k":1,"k":2},"x":1.0,"_topic":"t","_offset":7}\n'
    reader, stream = FORMAT.open(io.BytesIO(raw)), io.BytesIO()
    writer = FORMAT.begin_as_read(stream, reader.schema, WriteOptions("none"))
    for piece in reader.pieces(reader.schema.names):
        writer.write(pa.Table.from_batches([piece]))
    writer.finish()
    assert stream.getvalue() == raw
