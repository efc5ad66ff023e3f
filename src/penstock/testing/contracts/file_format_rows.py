"""Rows for the contract of file formats: every type of column, and files of them in memory."""

import errno
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, BinaryIO, cast

import pyarrow as pa

from penstock.api.file_format import FileFormat, FileReader, TypelessFileFormat, WriteOptions
from penstock.errors import StoreUnavailable

WORDS = {"penstock.feed": "events", "penstock.ranges": "täg/0:0-9", "empty": ""}
TYPES = pa.schema(
    [
        ("flag", pa.bool_()),
        ("number", pa.int64()),
        ("float", pa.float64()),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("money", pa.decimal128(38, 9)),
        ("who", pa.struct([("id", pa.int64()), ("names", pa.list_(pa.string()))])),
        ("list", pa.list_(pa.list_(pa.string()))),
        ("map", pa.map_(pa.string(), pa.struct([("x", pa.int64())]))),
        ("_topic", pa.dictionary(pa.int32(), pa.string())),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
    ]
)
_FULL: dict[str, Any] = {
    "flag": True,
    "number": -(2**63),
    "float": 0.1,
    "text": "ü\n\0",
    "bytes": b"\xff\x00",
    "day": date(1600, 2, 29),
    "at": datetime(2026, 11, 17, 12, 0, 0, 123456, UTC),
    "local": datetime(1969, 12, 31, 23, 59, 59),
    "money": Decimal("-12345678901234567890.123456789"),
    "who": {"id": 7, "names": ["a", None]},
    "list": [[], None, ["x", ""]],
    "map": [("k", {"x": 1}), ("", {"x": None})],
}


def some_rows(count: int) -> pa.Table:
    """Rows with every type, every third of them without values, at offsets from 0."""
    rows = [
        {
            **(_FULL | {"number": number} if number % 3 else {}),
            "_topic": "orders",
            "_partition": 3,
            "_offset": number,
        }
        for number in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=TYPES)


def positions(count: int) -> pa.Table:
    """Rows of a few bits: an offset each, and a text that all of them share."""
    indices = pa.repeat(pa.scalar(0, pa.int32()), count)
    topics = pa.DictionaryArray.from_arrays(indices, pa.array(["orders"]))
    return pa.table({"_topic": topics, "_offset": pa.array(range(count), pa.int64())})


def written(form: FileFormat, *tables: pa.Table, options: WriteOptions | None = None) -> bytes:
    """A whole file of these rows."""
    stream = io.BytesIO()
    chosen = options or WriteOptions(next(iter(form.suffixes)), WORDS)
    writer = form.begin(stream, tables[0].schema, chosen)
    for table in tables:
        writer.write(table)
    writer.finish()
    return stream.getvalue()


def opened(form: FileFormat, file: bytes | BinaryIO, schema: pa.Schema) -> FileReader:
    """A file whose rows come in the types in which they were written, by a schema if need be."""
    stream = io.BytesIO(file) if isinstance(file, bytes) else file
    if form.traits.has_types:
        return form.open(stream)
    plain = [pa.field(each.name, plain_type(each.type)) for each in schema]
    return cast("TypelessFileFormat", form).open_as(stream, pa.schema(plain))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a column."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def values_of(reader: FileReader, schema: pa.Schema) -> list[dict[str, Any]]:
    """All rows of a file, in the types that were written."""
    plain = [pa.field(each.name, plain_type(each.type)) for each in schema]
    found: list[dict[str, Any]] = []
    for piece in reader.pieces(schema.names):
        if piece.schema.names != schema.names:
            raise AssertionError(f"columns {piece.schema.names} came back")
        table = pa.Table.from_batches([piece]).replace_schema_metadata()
        found += table.cast(pa.schema(plain)).to_pylist()
    return found


class FullDisk(io.RawIOBase):
    """A stream that takes some bytes, and then no more."""

    def __init__(self, room_bytes: int) -> None:
        self._room_bytes = room_bytes

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._room_bytes -= len(data)
        if self._room_bytes < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return len(data)


class Answering(io.BytesIO):
    """A file of a store that answers some reads, and then none."""

    def __init__(self, raw: bytes, answers: int) -> None:
        super().__init__(raw)
        self._answers = answers
        self.asked = 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.asked += 1
        if self.asked > self._answers:
            raise StoreUnavailable("read", "a file", "a timeout")
        return super().read(size)
