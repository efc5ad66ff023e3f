"""Decoding records that were written with a schema: Avro, Protobuf, JSON with a JSON Schema.

Records are read schema by schema, all of a batch that name the same one together, into the columns
of that schema; later these are projected onto the columns of a dataset. A schema that the plan does
not know, and a dataset whose columns do not cover it, are told to the driver, which learns and asks
again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
import pyarrow as pa

from penstock.api.codec import (
    Codec,
    DecodedBatch,
    Frame,
    FramedRecords,
    RecordReader,
    RecordSchemas,
)
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import record_reader
from penstock.datapath.codec.shared.framing import frames_of
from penstock.datapath.codec.shared.projection import project
from penstock.datapath.stage.batch_decoder import (
    DatasetPart,
    GroupReceiver,
    RecordGroup,
    refused,
)
from penstock.datapath.stage.field_columns import column_at
from penstock.datapath.stage.row_arrays import BatchRows, Rows, take
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, Unlearned
from penstock.model.read_ways import OTHER_FORM, ReadCounts
from penstock.model.schema import DatasetSchema, Field
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE, Incompatible, merged

UNKNOWN_SCHEMA = "UNKNOWN_SCHEMA"
SCHEMA_UNSUPPORTED = "SCHEMA_UNSUPPORTED"

FIXED = "fixed"  # what the one schema is called that the configuration gives
ONLY = (0,)  # the message of a schema that has one, or whose first one is meant


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """Why no record of a schema can be read."""

    reason: str
    detail: str


class SchemaBatchDecoder:
    """Reads records by the schemas that they name. Used by one thread of one attempt."""

    def __init__(
        self, plan: ShredPlan, codec: Codec, schemas: RecordSchemas, samples: Sampling
    ) -> None:
        self.schemas = plan.schemas
        self.samples = samples
        self._record_schemas = plan.record_schemas
        self._codec = codec
        self._traits = schemas

    def decode(self, some: BatchRows, dataset: str | None, receiver: GroupReceiver) -> None:
        """Read the values of some rows, one schema after the other."""
        if len(some) == 0:
            return
        values = some.column("value")
        found = self._framed(some, values)
        receiver.refuse(some, found.bad)
        for frame, members in found.groups:
            mine = some.take(members)
            reader = self._reader(frame)
            if isinstance(reader, _Unreadable):
                receiver.refuse(mine, refused(len(mine), reader.reason, reader.detail))
            elif reader is not None:
                payloads = take(values, members)
                for part in self._read(mine, payloads, frame, reader, receiver):
                    receiver.take_group(replace(part, dataset=dataset))

    def _framed(self, some: BatchRows, values: pa.Array) -> FramedRecords:
        """Which schema each record names; with one for all, none does."""
        if FIXED in self._record_schemas:
            frame = Frame(FIXED, ONLY, 0)
            return FramedRecords([(frame, np.arange(len(values)))], [])
        headers = some.column("headers")
        if self._traits.frames is not None:
            return self._traits.frames(values, headers)
        return frames_of(values, headers, self._traits.has_messages)

    def _reader(self, frame: Frame) -> RecordReader | _Unreadable | None:
        """What reads records of a frame; None: the driver has to find the schema first."""
        is_known = frame.key in self._record_schemas
        self.samples.add_named(frame.key, frame.message, is_known=is_known)
        if not is_known:
            return None
        schema = self._record_schemas[frame.key]
        if schema is None:
            return _Unreadable(UNKNOWN_SCHEMA, f"no schema is called {frame.key}")
        reader = record_reader(schema, frame.message, self._codec)
        if isinstance(reader, SchemaUnsupported):
            return _Unreadable(SCHEMA_UNSUPPORTED, f"{frame.key}: {reader}")
        return reader

    def _read(
        self,
        some: BatchRows,
        payloads: pa.Array,
        frame: Frame,
        reader: RecordReader,
        receiver: GroupReceiver,
    ) -> Iterator[RecordGroup]:
        """The records of one frame, in groups that bound the memory."""
        for chunk in reader.row_ranges(payloads):
            mine = some.take(np.arange(chunk.start, chunk.stop))
            read = reader.read(payloads.slice(chunk.start, len(chunk)), frame.skipped)
            receiver.refuse(mine, read.bad)
            content = SchemaContent(self, frame, reader, read)
            yield RecordGroup(mine.take(read.good), content, schema_name=reader.name)


@dataclass(frozen=True, slots=True)
class SchemaContent:
    """Records as columns of the schema that they were written with."""

    decoder: SchemaBatchDecoder
    frame: Frame
    reader: RecordReader
    read: DecodedBatch

    def column(self, path: str) -> pa.Array:
        """The column of a field; nulls where the schema has none."""
        return column_at(self.read.batch, self.reader.fields, path)

    def take(self, members: Rows) -> "SchemaContent":
        """The content of some of the records."""
        return SchemaContent(self.decoder, self.frame, self.reader, self.read.take(members))

    def parts(self, dataset: str) -> Iterator[DatasetPart]:
        """The records as columns of a dataset, if it holds theirs; the driver is told if not."""
        schema = self.decoder.schemas.get(dataset)
        verdict = covers(schema, self.reader.fields)
        count, read = len(self.read.good), self.read
        if schema is None or verdict is False:
            unlearned = Unlearned(dataset, self.frame.key, self.frame.message)
            self.decoder.samples.add_unlearned(unlearned)
        elif verdict is None:
            columns = project(read.batch, self.reader.fields, schema, read.rest)
            yield DatasetPart(schema, columns, np.arange(count), [], self._counts())
        else:
            bad = refused(count, SCHEMA_INCOMPATIBLE, f"{self.frame.key}: {verdict}")
            yield DatasetPart.without_rows(schema, bad)

    def _counts(self) -> ReadCounts:
        """How many records were read each way."""
        singly = 0 if self.read.by_reference is None else int(self.read.by_reference.sum())
        counts = ReadCounts(fast=len(self.read.good) - singly, reference=singly)
        if singly:
            counts.add_reason(OTHER_FORM, records=singly)
        return counts


@lru_cache(maxsize=4096)
def covers(
    schema: DatasetSchema | None, fields: tuple[Field, ...]
) -> Incompatible | Literal[False] | None:
    """None when a dataset's columns hold all of a record's; else why not, or False: not yet."""
    if schema is None:
        return False
    try:
        return None if merged(schema.fields, fields) == schema.fields else False
    except Incompatible as error:
        return error
