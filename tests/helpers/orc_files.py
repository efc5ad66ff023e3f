"""ORC files of every type, and the same records in both formats."""

import io
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from penstock.api.file_format import WriteOptions
from penstock.datapath.formats.orc.orc_writer import OrcWriter
from tests.helpers.shredding import (
    BY_TYPE,
    Shredded,
    learned,
    shred,
)

COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "none")
WORDS = {"penstock.feed": "events", "penstock.ranges": "täg/0:0-9", "empty": ""}
BY_TYPE_ORC = msgspec.structs.replace(BY_TYPE, format="orc")
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
        ("names", pa.dictionary(pa.int32(), pa.string())),
        ("list", pa.list_(pa.list_(pa.string()))),
        ("map", pa.map_(pa.string(), pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))]))),
        ("partition", pa.int32()),
    ]
)


def written(table: pa.Table, compression: str = "zstd", words: dict[str, str] = WORDS) -> bytes:
    stream = io.BytesIO()
    file = OrcWriter(stream, WriteOptions(compression, words))
    for start in range(0, table.num_rows, 1_000):
        file.write(table.slice(start, 1_000))
    file.finish()
    return stream.getvalue()


def finals(found: Shredded) -> list[str]:
    for file in found.report.files:
        found.store.publish(file.handle)
    return found.finals()


def rows_of_both(values: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the same records, once in Parquet and once in ORC."""
    schemas = learned(*values)
    both = []
    for feed, ending in ((BY_TYPE, ".parquet"), (BY_TYPE_ORC, ".orc")):
        found = shred(feed, values, schemas)
        names = finals(found)
        assert all(name.endswith(f".zstd{ending}") for name in names), names
        read = orc.read_table if ending == ".orc" else pq.read_table
        raw = [io.BytesIO(found.store.read(name) or b"") for name in names]
        rows = [row for each in raw for row in read(each).to_pylist()]
        both.append(sorted(rows, key=lambda row: int(row["_offset"])))
    return both[0], both[1]


MOMENT = pa.timestamp("us", tz="UTC")
TIMED_TYPES = pa.schema(
    [
        ("at", MOMENT),
        ("inner", pa.struct([("at", MOMENT)])),
        ("list", pa.list_(pa.list_(MOMENT))),
        ("map", pa.map_(pa.string(), MOMENT)),
    ]
)
