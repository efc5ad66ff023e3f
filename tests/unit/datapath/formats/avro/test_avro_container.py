"""Avro container files: read by fastavro, and read back whatever became of their bytes."""

import io
import zlib
from datetime import UTC, datetime
from random import Random
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

from penstock.api.file_format import FileUnreadable, WriteOptions
from penstock.datapath.formats.avro import avro_blocks, avro_container_writer
from penstock.datapath.formats.avro.avro import FORMAT
from penstock.datapath.formats.avro.avro_blocks import long_of
from penstock.datapath.formats.avro.avro_names import avro_names
from penstock.testing.contracts.file_format_rows import WORDS, some_rows, values_of, written

COMPRESSIONS = tuple(FORMAT.suffixes)


def file_of(rows: pa.Table, compression: str = "none", **words: str) -> bytes:
    return written(FORMAT, rows, options=WriteOptions(compression, words))


def by_fastavro(raw: bytes) -> list[dict[str, Any]]:
    return list(fastavro.reader(io.BytesIO(raw)))  # type: ignore[arg-type]


def rows_of(raw: bytes, schema: pa.Schema) -> list[dict[str, Any]]:
    return values_of(FORMAT.open(io.BytesIO(raw)), schema)


def with_plain_maps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with maps as fastavro has them."""
    return [{**row, "map": None if row["map"] is None else dict(row["map"])} for row in rows]


@pytest.mark.parametrize("compression", ["none", "deflate"])
def test_somebody_else_reads_every_type_and_the_words(compression: str) -> None:
    rows = some_rows(300)
    raw = written(FORMAT, rows.slice(0, 7), rows.slice(7), options=WriteOptions(compression, WORDS))
    assert by_fastavro(raw) == with_plain_maps(rows.to_pylist())
    metadata = fastavro.reader(io.BytesIO(raw)).metadata
    assert {name: metadata[name] for name in WORDS} == WORDS


def test_columns_of_any_name_get_one_that_avro_takes_and_keep_their_own() -> None:
    names = ["a b", "a_x20b", "A_X20B", "9", "", "ü", "plain", "type"]
    inner = pa.struct([(name, pa.int64()) for name in ("x.y", "x_x2ey", "name")])
    values = {name: [1, None] for name in names}
    rows = pa.table(
        {**values, "in side": pa.array([dict.fromkeys(("x.y", "name"), 2), None], inner)}
    )
    raw = file_of(rows)
    assert rows_of(raw, rows.schema) == rows.to_pylist()
    found = by_fastavro(raw)[0]
    assert set(found) == {
        "a_x20b_2", "a_x20b", "A_X20B", "_9", "_", "_xfc", "plain", "type", "in_x20side"
    }  # fmt: skip
    assert found["in_x20side"] == {"x_x2ey_2": 2, "x_x2ey": None, "name": 2}
    assert avro_names(["A b", "a B"]) == ["A_x20b", "a_x20B_2"]


def test_structs_of_one_name_in_several_places_are_several_records() -> None:
    one, other = pa.struct([("x", pa.int64())]), pa.struct([("y", pa.list_(pa.string()))])
    kind = pa.struct([("at", one), ("list", pa.list_(other))])
    row = {"at": {"x": 1}, "list": [{"y": ["a"]}]}
    schema = pa.schema(
        [
            ("row", kind),
            ("at", other),
            ("list", pa.list_(kind)),
            ("map", pa.map_(pa.string(), kind)),
        ]
    )
    values = {"row": row, "at": {"y": []}, "list": [row, None], "map": [("k", row)]}
    rows = pa.Table.from_pylist([values, {}], schema=schema)
    raw = file_of(rows)
    assert by_fastavro(raw) == with_plain_maps(rows.to_pylist())
    assert rows_of(raw, schema) == rows.to_pylist()


def test_times_of_any_year_come_back() -> None:
    """Kafka's time is what a producer says, such as microseconds that are no milliseconds."""
    numbers = [0, -1, 1_763_400_000_000_000, -(2**60), 2**62]
    for kind in (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), pa.timestamp("us")):
        rows = pa.table({"at": pa.array(numbers, pa.int64()).cast(kind)})
        reader = FORMAT.open(io.BytesIO(file_of(rows)))
        assert reader.schema == rows.schema
        found = [each["at"].cast(pa.int64()).to_pylist() for each in reader.pieces(["at"])]
        assert found == [numbers]


def test_milliseconds_are_read_as_times_in_utc() -> None:
    rows = pa.table({"_timestamp": pa.array([1_500], pa.timestamp("ms", "UTC"))})
    assert by_fastavro(file_of(rows)) == [
        {"_timestamp": datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)}
    ]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_same_rows_give_the_same_file(compression: str) -> None:
    rows = some_rows(2_000)
    one, other = (file_of(rows, compression, window="1-1") for _ in range(2))
    assert one == other
    assert file_of(rows, compression, window="1-2")[-16:] != one[-16:]
    assert file_of(rows.slice(1), compression, window="1-1")[-16:] != one[-16:]


def test_blocks_are_of_a_size_that_anyone_can_hold() -> None:
    rows = pa.table({"n": range(200_000), "text": [f"{n:09}" for n in range(200_000)]})
    raw = written(FORMAT, rows, rows, options=WriteOptions("none"))
    blocks = list(fastavro.block_reader(io.BytesIO(raw)))
    assert sum(block.num_records for block in blocks) == 400_000
    assert max(block.size for block in blocks) < 2 * avro_container_writer.BLOCK_BYTES
    assert len(blocks) < 40


def test_parts_of_columns_are_written_as_they_are() -> None:
    rows = some_rows(50)
    many = pa.concat_tables([rows.slice(3, 20), rows.slice(1, 1), rows.slice(40)])
    assert rows_of(file_of(many.slice(2, 25)), rows.schema) == many.slice(2, 25).to_pylist()


def test_rows_with_many_items_are_read_within_memory() -> None:
    lists = [list(range(n % 7)) for n in range(3_000)] + [list(range(300_000))] + [[1]] * 10
    rows = pa.table({"list": lists, "text": [["x" * 50] * (n % 3) for n in range(len(lists))]})
    reader = FORMAT.open(io.BytesIO(file_of(rows, "zstd")))
    assert values_of(reader, rows.schema) == rows.to_pylist()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damaged_bytes_are_unreadable_or_other_rows_and_nothing_else(compression: str) -> None:
    """Goal: no byte ends the process or takes much memory. Method: change bytes, read all."""
    schema = some_rows(1).schema
    raw, chance = file_of(some_rows(60), compression, window="1-1"), Random(7)
    told: list[str] = []
    for _ in range(400):
        other = bytearray(raw)
        for _ in range(chance.choice((1, 1, 3))):
            other[chance.randrange(len(other))] = chance.randrange(256)
        try:
            reader = FORMAT.open(io.BytesIO(bytes(other)))
            for piece in reader.pieces(reader.schema.names):
                piece.validate(full=True)
        except FileUnreadable as error:
            told.append(str(error))
    assert told
    assert not [each for each in told if "\n" in each]
    assert rows_of(raw, schema) == some_rows(60).to_pylist()


def header_and_marker(compression: str) -> tuple[bytes, bytes]:
    """A file without rows, and the marker at its end; all of its columns are one list."""
    stream = io.BytesIO()
    schema = pa.schema([("list", pa.list_(pa.struct([(f"m{n}", pa.int64()) for n in range(500)])))])
    FORMAT.begin(stream, schema, WriteOptions(compression)).finish()
    raw = stream.getvalue()
    return raw, raw[-16:]


def unreadable(raw: bytes) -> str:
    with pytest.raises(FileUnreadable) as told:
        for _ in FORMAT.open(io.BytesIO(raw)).pieces(["list"]):
            pass
    return str(told.value)


def test_a_few_bytes_that_claim_to_be_many_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(avro_blocks, "MOST_BLOCK_BYTES", 1 << 20)
    large = bytes(2 << 20)
    for compression, packing in avro_blocks.PACKINGS.items():
        raw, marker = header_and_marker(compression)
        packed = packing.pack(large)
        if compression != "none":
            block = long_of(1) + long_of(len(packed)) + packed + marker
            assert "block" in unreadable(raw + block), compression
        for count, size in ((2**40, 4), (1, 2**40), (-1, 4), (1, -1)):
            block = long_of(count) + long_of(size) + packing.pack(b"\0\0\0\0") + marker
            assert unreadable(raw + block), (compression, count, size)


def test_more_items_than_any_record_has_take_no_memory() -> None:
    raw, marker = header_and_marker("none")
    items = 3_000_000  # each null, in a list of structs of 500 members
    record = long_of(1) + long_of(items) + bytes(items) + long_of(0)
    block = long_of(1) + long_of(len(record)) + record + marker
    assert "more items" in unreadable(raw + block)


def test_bytes_behind_the_records_of_a_block_are_told() -> None:
    raw, marker = header_and_marker("none")
    assert "behind" in unreadable(raw + long_of(1) + long_of(2) + b"\0\0" + marker)
    assert "schema" in unreadable(raw + long_of(1) + long_of(1) + b"\7" + marker)


def test_a_checksum_of_snappy_counts() -> None:
    rows = pa.table({"n": range(9)})
    raw = bytearray(file_of(rows, "snappy"))
    assert zlib.crc32(b"") == 0
    raw[-17] ^= 1  # the last byte before the marker
    with pytest.raises(FileUnreadable, match="checksum"):
        list(FORMAT.open(io.BytesIO(bytes(raw))).pieces(["n"]))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record", "name": "a", "fields": [{"name": "n", "type": "long"}]},
        {"type": "record", "name": "a", "fields": [{"name": "n", "type": ["null", "float"]}]},
        {"type": "array", "items": "long"},
        "long",
    ],
)
def test_avro_of_others_is_told_to_be_that(schema: Any) -> None:
    stream = io.BytesIO()
    values: dict[str, list[Any]] = {"long": [1]}
    rows = values.get(str(schema), [[1]] if "items" in schema else [{"n": 1}])
    fastavro.writer(stream, schema, rows)
    with pytest.raises(FileUnreadable, match=r"schema|null|type"):
        FORMAT.open(io.BytesIO(stream.getvalue()))


def test_types_that_no_column_has_are_refused_before_anything_is_written() -> None:
    stream = io.BytesIO()
    with pytest.raises(ValueError, match="no column is of type"):
        FORMAT.begin(stream, pa.schema([("t", pa.time64("us"))]), WriteOptions("none"))
    assert stream.getvalue() == b""


def test_a_column_that_is_not_there_is_told() -> None:
    reader = FORMAT.open(io.BytesIO(file_of(pa.table({"n": [1]}))))
    with pytest.raises(FileUnreadable, match="no column _rest"):
        list(reader.pieces(["n", "_rest"]))


def test_a_file_without_rows_is_a_file() -> None:
    raw, _ = header_and_marker("none")
    assert list(FORMAT.open(io.BytesIO(raw)).pieces(["list"])) == []
    assert by_fastavro(raw) == []


def test_decimals_have_the_fewest_bytes() -> None:
    numbers = [0, 1, -1, 127, 128, -128, -129, 2**63, -(2**63), 10**37, -(10**37)]
    column = pa.array(np.array(numbers, object).tolist(), pa.decimal128(38, 0))
    raw = file_of(pa.table({"d": column}))
    assert [int(row["d"]) for row in by_fastavro(raw)] == numbers
    sizes = [
        max(1, (number.bit_length() if number >= 0 else (~number).bit_length()) // 8 + 1)
        for number in numbers
    ]
    body = raw[raw.rindex(raw[-16:], 0, -16) + 16 : -16]
    assert len(body) == 3 + sum(2 + size for size in sizes)
