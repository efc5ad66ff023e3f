"""Avro container files, for those whose tools read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

from penstock.api.file_format import ByteStream, FormatTraits, TableClause, WriteOptions
from penstock.api.later import Later
from penstock.datapath.formats.avro.avro_names import avro_names
from penstock.model.bad_records import BadRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from penstock.datapath.formats.avro.avro_container_reader import AvroContainerReader
    from penstock.datapath.formats.avro.avro_container_writer import AvroContainerWriter

_COMPRESSIONS = ("zstd", "snappy", "deflate")
_SUFFIXES = {**{each: f"{each}.avro" for each in _COMPRESSIONS}, "none": "avro"}
# Hive and Trino know milliseconds only, and take all other times for numbers.
_NUMBERS = {"timestamp_us": "bigint", "local_us": "bigint"}
_CLAUSES = {
    "spark": TableClause("USING AVRO", names=avro_names),
    "hive": TableClause("STORED AS AVRO", {**_NUMBERS, "kafka_ms": "timestamp"}, avro_names),
    "trino": TableClause("format = 'AVRO'", {**_NUMBERS, "kafka_ms": "timestamp(3)"}, avro_names),
}
# Imported when the first file is written or read.
_writer = Later("penstock.datapath.formats.avro.avro_container_writer:AvroContainerWriter")
_reader = Later("penstock.datapath.formats.avro.avro_container_reader:AvroContainerReader")


class AvroFormat:
    """Avro container files, as `penstock.api.file_format` asks for them."""

    __slots__ = ()

    name = "avro"
    traits = FormatTraits(has_end=False)
    suffixes: Mapping[str, str] = _SUFFIXES
    endings = (".avro",)
    table_clauses: Mapping[str, TableClause] = _CLAUSES

    def refused(
        self,
        rows: pa.RecordBatch,  # noqa: ARG002
        kafka_ms: npt.NDArray[np.int64],  # noqa: ARG002
    ) -> Sequence[BadRecord]:
        """Avro holds whatever a schema of ours can describe."""
        return ()

    def advice(self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str) -> None:
        """There is one way to write Avro."""

    def begin(
        self, stream: ByteStream, schema: pa.Schema, options: WriteOptions
    ) -> AvroContainerWriter:
        """Begin a file."""
        writer: AvroContainerWriter = _writer(stream, schema, options)
        return writer

    def open(
        self,
        file: BinaryIO,
        as_dictionaries: Sequence[str] = (),  # noqa: ARG002  texts come one by one
    ) -> AvroContainerReader:
        """A file with its header read."""
        reader: AvroContainerReader = _reader(file)
        return reader

    def __reduce__(self) -> str:
        return "FORMAT"


FORMAT = AvroFormat()
