"""Data files of a lake as others read them, by how their names end; none of it is our code."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

READABLE = (".parquet", ".orc", ".avro", ".jsonl", ".jsonl.gz", ".jsonl.zst")


def rows_of_file(file: Path) -> list[dict[str, Any]]:
    """All rows of one file. Of Avro, fastavro reads those that are deflated or not packed."""
    if file.name.endswith(".avro"):
        with file.open("rb") as stream:
            return list(fastavro.reader(stream))  # type: ignore[arg-type]
    if ".jsonl" in file.name:
        return [json.loads(line) for line in _unpacked(file).splitlines()]
    is_orc = file.name.endswith(".orc")
    table = orc.read_table(file) if is_orc else pq.ParquetFile(file).read()
    found: list[dict[str, Any]] = table.to_pylist()
    return found


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
