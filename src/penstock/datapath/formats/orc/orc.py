"""ORC, for those whose readers want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from penstock.api.file_format import ByteStream, FormatTraits, TableClause, WriteOptions
from penstock.api.later import Later
from penstock.model.bad_records import BadRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from penstock.datapath.formats.orc.orc_reader import OrcReader
    from penstock.datapath.formats.orc.orc_writer import OrcWriter

# What ORC calls the compressions that a feed may ask for.
COMPRESSIONS = {
    "zstd": "zstd",
    "snappy": "snappy",
    "gzip": "zlib",
    "lz4": "lz4",
    "none": "uncompressed",
}
_SUFFIXES = {each: "orc" if each == "none" else f"{each}.orc" for each in COMPRESSIONS}
# ORC knows points in time and times without a zone by other names.
_CLAUSES = {
    "spark": TableClause("USING ORC", {"local_us": "timestamp"}),
    "hive": TableClause("STORED AS ORC", {"timestamp_us": "timestamp with local time zone"}),
    "trino": TableClause("format = 'ORC'", {"timestamp_us": "timestamp(6) with time zone"}),
}
# Imported when the first file is written or read.
_not_for_orc = Later("penstock.datapath.formats.orc.orc_times:not_for_orc")
_writer = Later("penstock.datapath.formats.orc.orc_writer:OrcWriter")
_reader = Later("penstock.datapath.formats.orc.orc_reader:OrcReader")


class OrcFormat:
    """ORC, as `penstock.api.file_format` asks for it.

    A writer of ORC holds up to a megabyte a column from its first row on. So a file is begun when
    all of its rows are there, and one at a time.
    """

    __slots__ = ()

    name = "orc"
    traits = FormatTraits(is_written_at_once=True, survives_damage=False)
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = (".orc",)
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def refused(self, rows: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> Sequence[BadRecord]:
        """Rows with times that Arrow writes so that readers in Java refuse the whole file."""
        found: Sequence[BadRecord] = _not_for_orc(rows, kafka_ms)
        return found

    def advice(self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str) -> None:
        """ORC's writer finds out by itself."""

    def begin(
        self,
        stream: ByteStream,
        schema: pa.Schema,  # noqa: ARG002  the first rows have it, too
        options: WriteOptions,
    ) -> OrcWriter:
        """Begin a file."""
        writer: OrcWriter = _writer(stream, options)
        return writer

    def open(
        self,
        file: BinaryIO,
        as_dictionaries: Sequence[str] = (),  # noqa: ARG002  its reader makes none
    ) -> OrcReader:
        """A file with its footer read."""
        reader: OrcReader = _reader(file)
        return reader

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = OrcFormat()
