"""Data files of a lake as others read them, by how their names end; none of it is our code."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from tests.helpers.sequence_files import records_of

READABLE = (
    ".parquet", ".orc", ".avro", ".jsonl", ".jsonl.gz", ".jsonl.zst", ".txt", ".txt.gz", ".txt.zst",
    ".seq",
)  # fmt: skip


def rows_of_file(file: Path) -> list[dict[str, Any]]:
    """All rows of one file. Of Avro, fastavro reads those that are deflated or not packed.

    Of files of records as they came, the records must be JSON; topic and partition are those of
    the name. Rows of lines have no offset.
    """
    if file.name.endswith(".avro"):
        with file.open("rb") as stream:
            return list(fastavro.reader(stream))  # type: ignore[arg-type]
    if ".jsonl" in file.name:
        return [json.loads(line) for line in _unpacked(file).splitlines()]
    if file.name.endswith((".seq", ".txt", ".txt.gz", ".txt.zst")):
        place = _place_in_name(file.name)
        return [{**json.loads(value), **place, **more} for value, more in values_of_file(file)]
    is_orc = file.name.endswith(".orc")
    table = orc.read_table(file) if is_orc else pq.ParquetFile(file).read()
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def values_of_file(file: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """The values of records as they came, and what their file says of them."""
    if file.name.endswith(".seq"):
        for offset, key, value in records_of(file.read_bytes()):
            yield value, {"_offset": offset, "_key": key}
        return
    *lines, last = _unpacked(file).split(b"\n")
    assert last == b""
    for line in lines:
        yield line, {}


def _place_in_name(name: str) -> dict[str, Any]:
    """By `GENERATION_TOPIC_PARTITION_START-END_WINDOW.ENDING`."""
    _, *topic, partition, _, _ = name.split("_")
    return {"_topic": "_".join(topic), "_partition": int(partition)}


def rows_of_files(files: Iterable[Path]) -> list[dict[str, Any]]:
    """All rows of all files."""
    return [row for file in files for row in rows_of_file(file)]


def _unpacked(file: Path) -> bytes:
    raw = file.read_bytes()
    if file.suffix == ".gz":
        return gzip.decompress(raw)
    if file.suffix == ".zst":
        unpacked: bytes = pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read()
        return unpacked
    return raw
