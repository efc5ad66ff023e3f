"""The shredder for formats whose records are written with a schema of their own.

Records are read schema by schema, all of a batch that name the same one together; then they are
routed, and projected onto the columns of their dataset. A schema that the plan does not know, and a
dataset whose columns do not cover it, are told to the driver, which learns and asks again.
"""

from collections.abc import Iterator
from functools import cached_property, lru_cache, partial
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.codec import (
    Codec,
    DecodedBatch,
    Frame,
    FramedRecords,
    RecordReader,
    RecordSchemas,
)
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import codec_of, record_reader
from penstock.datapath.codec.shared.framing import frames_of
from penstock.datapath.codec.shared.projection import project
from penstock.datapath.shape.event_time.event_time import Times, event_times
from penstock.datapath.shape.route.placing import ForkAnswers
from penstock.datapath.stage.shred_plan import Unlearned
from penstock.datapath.stage.shredder import RangeShredder, take
from penstock.model.bad_records import BadRecord
from penstock.model.schema import DatasetSchema, Field
from penstock.model.schema_merging import SCHEMA_INCOMPATIBLE, Incompatible, merged
from penstock.model.spec import TimeSpec

UNKNOWN_SCHEMA = "UNKNOWN_SCHEMA"
SCHEMA_UNSUPPORTED = "SCHEMA_UNSUPPORTED"

FIXED = "fixed"  # what the one schema is called that the configuration gives
ONLY = (0,)  # the message of a schema that has one, or whose first one is meant
_DAY_US = 86_400_000_000


class WrittenShredder(RangeShredder):
    """One range of one Kafka partition, batch by batch. Used by one thread of one attempt."""

    @cached_property
    def _codec_of_feed(self) -> Codec:
        return codec_of(self._feed.decode)

    @property
    def _schemas(self) -> RecordSchemas:
        found = self._codec_of_feed.schemas
        if found is None:
            raise ValueError("records of this feed have no schemas")
        return found

    def _shred_values(self, batch: Any, rows: Any) -> None:
        if len(rows) == 0:
            return
        values = take(batch["value"], rows)
        found = self._framed(batch, values, rows)
        self._refuse(batch, rows, found.bad, "")
        for frame, members in found.groups:
            mine = rows[members]
            schema = self._plan.record_schemas.get(frame.key)
            self._samples.add_named(frame.key, frame.key in self._plan.record_schemas)
            if frame.key not in self._plan.record_schemas:
                continue
            if schema is None:
                self._refuse_all(batch, mine, UNKNOWN_SCHEMA, f"no schema is called {frame.key}")
                continue
            reader = record_reader(schema, frame.message, self._codec_of_feed)
            if isinstance(reader, SchemaUnsupported):
                self._refuse_all(batch, mine, SCHEMA_UNSUPPORTED, f"{frame.key}: {reader}")
                continue
            payloads = take(values, members)
            for chunk in reader.row_ranges(payloads):
                some = mine[chunk.start : chunk.stop]
                read = reader.read(payloads.slice(chunk.start, len(chunk)), frame.skipped)
                self._refuse(batch, some, read.bad, "")
                self._shred_read(batch, some[read.good], frame, reader, read)

    def _framed(self, batch: Any, values: Any, rows: Any) -> FramedRecords:
        """Which schema each record names; with one for all, none does."""
        if FIXED in self._plan.record_schemas:
            frame = Frame(FIXED, ONLY, 0)
            return FramedRecords([(frame, np.arange(len(values)))], [])
        schemas, headers = self._schemas, take(batch["headers"], rows)
        if schemas.frames is not None:
            return schemas.frames(values, headers)
        return frames_of(values, headers, schemas.has_messages)

    def _shred_read(
        self, batch: Any, rows: Any, frame: Frame, reader: RecordReader, read: DecodedBatch
    ) -> None:
        """Route records that were read, and put them where they belong."""
        wanted = self._placement.route_paths
        fields = {path: values_of(column_at(read.batch, reader.fields, path)) for path in wanted}
        for dataset, members in self._placed(batch, rows, fields, reader):
            mine, some = rows[members], read.take(members)
            values = partial(_values_at, some.batch, reader.fields)
            asked, sure = self._ask_forks(batch, mine, dataset, values)
            left = np.flatnonzero(sure)
            if dataset:
                self._put_dataset(batch, mine[left], dataset, frame, reader, some.take(left))
            else:
                self._filter(batch, mine[left])
            self._fork_read(batch, mine, dataset, frame, reader, some, asked)

    def _fork_read(
        self,
        batch: Any,
        rows: Any,
        dataset: str,
        frame: Frame,
        reader: RecordReader,
        read: DecodedBatch,
        asked: ForkAnswers | None,
    ) -> None:
        """Put records to further datasets, too, if they fulfil what a fork asks."""
        paths = {condition.path for fork in self._forks for condition in fork.when}
        columns = {path: column_at(read.batch, reader.fields, path) for path in paths}
        for fork, members, again in self._forked(batch, rows, dataset, columns, asked):
            mine = np.arange(len(members))
            self._put_dataset(again, mine, fork.dataset, frame, reader, read.take(members))

    def _put_dataset(
        self,
        batch: Any,
        rows: Any,
        dataset: str,
        frame: Frame,
        reader: RecordReader,
        read: DecodedBatch,
    ) -> None:
        """Put records to a dataset whose columns hold theirs; tell the driver if they do not."""
        schema = self._plan.schemas.get(dataset)
        verdict = covers(schema, reader.fields)
        if isinstance(verdict, Incompatible):
            detail = f"{frame.key}: {verdict}"
            self._refuse_all(batch, rows, SCHEMA_INCOMPATIBLE, detail, dataset)
        elif schema is None or verdict is not None:
            self._samples.add_unlearned(Unlearned(dataset, frame.key, frame.message))
        else:
            fields = {
                path: values_of(column_at(read.batch, reader.fields, path))
                for path in self._kept_paths
            }
            self._put_rows(batch, rows, schema, reader, read, fields)

    def _placed(
        self, batch: Any, rows: Any, fields: dict[str, list[Any]], reader: RecordReader
    ) -> Iterator[tuple[str, Any]]:
        """The members of each dataset. Where the schema names it, all of them are of one."""
        if self._feed.route.kind != "schema" or self._only_to:
            every = np.ones(len(rows), dtype=bool)
            return self._routed(batch, rows, fields, every, reader.name)
        known = self._router.accepted(reader.name)
        if known is not None:
            return iter([(known, np.arange(len(rows)))])
        routed = self._router.assign([reader.name])
        if routed.datasets:
            return iter([(routed.datasets[0], np.arange(len(rows)))])
        if len(routed.filtered):
            return iter([("", np.arange(len(rows)))])
        for bad in routed.bad:
            self._refuse_all(batch, rows, bad.reason, bad.detail)
        return iter(())

    def _put_rows(
        self,
        batch: Any,
        rows: Any,
        schema: DatasetSchema,
        reader: RecordReader,
        read: DecodedBatch,
        fields: dict[str, list[Any]],
    ) -> None:
        """Records of one dataset, as columns of their writer."""
        spec = self._feed.time
        column = column_at(read.batch, reader.fields, spec.field) if spec.field else None
        times = times_of(column, batch["timestamp"].to_numpy()[rows], spec, self._plan.now_s)
        good = self._refuse(batch, rows, times.bad, schema.dataset)
        projected = project(read.batch, reader.fields, schema, read.rest)
        piece = self._piece(batch, rows, schema, projected, times.micros, fields)
        self._put(batch, rows, piece, good)

    def _refuse_all(
        self, batch: Any, rows: Any, reason: str, detail: str, dataset: str = ""
    ) -> None:
        bad = [BadRecord(index, reason, detail) for index in range(len(rows))]
        self._refuse(batch, rows, bad, dataset)


@lru_cache(maxsize=4096)
def covers(schema: DatasetSchema | None, fields: tuple[Field, ...]) -> Incompatible | bool | None:
    """None when a dataset's columns hold all of a writer's; else why not, or False: not yet."""
    if schema is None:
        return False
    try:
        return None if merged(schema.fields, fields) == schema.fields else False
    except Incompatible as error:
        return error


def column_at(batch: pa.RecordBatch, fields: tuple[Field, ...], path: str) -> pa.Array:
    """The values of a field by its dotted path; null where there is no such field."""
    arrays, count = batch.columns, batch.num_rows
    names = path.split(".")
    for depth, name in enumerate(names):
        places = [place for place, field in enumerate(fields) if field.name == name]
        if not places:
            break
        array, field = arrays[places[0]], fields[places[0]]
        if depth == len(names) - 1:
            return array
        if field.type.kind != "struct":
            break
        arrays, fields = array.flatten(), field.type.fields
    return pa.nulls(count, pa.string())


def _values_at(batch: pa.RecordBatch, fields: tuple[Field, ...], path: str) -> list[Any]:
    return values_of(column_at(batch, fields, path))


def values_of(column: pa.Array) -> list[Any]:
    """A column as values that can name a dataset or a directory; times as counts, others as are.

    Decimals without digits behind the point are the whole numbers that they are, such as uint64 of
    Protobuf. Others are nothing, as bytes are: 1.5 and 1.50 would be two names for one value.
    """
    kind = column.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        whole = _whole(column)
        return whole if isinstance(whole, list) else whole.to_pylist()
    if pa.types.is_timestamp(kind):
        return column.view(pa.int64()).to_pylist()
    if pa.types.is_date(kind):
        return column.view(pa.int32()).to_pylist()
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return [None] * len(column)
    return column.to_pylist()


def _whole(column: pa.Array) -> pa.Array | list[int | None]:
    """Decimals without a scale as whole numbers; a list where one of them has over 64 bits."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return [None if value is None else int(value) for value in column.to_pylist()]


def times_of(column: Any, kafka_ms: Any, spec: TimeSpec, now_s: float) -> Times:
    """Event times; a column that is a time already needs no unit."""
    if column is None:
        return event_times(None, kafka_ms, spec, now_s)
    if pa.types.is_timestamp(column.type):
        return event_times(column.view(pa.int64()), kafka_ms, _in_micros(spec), now_s)
    if pa.types.is_date(column.type):
        micros = pc.multiply(column.view(pa.int32()).cast(pa.int64()), _DAY_US)
        return event_times(micros, kafka_ms, _in_micros(spec), now_s)
    if pa.types.is_int64(column.type):
        return event_times(column, kafka_ms, spec, now_s)
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return event_times(_whole(column), kafka_ms, spec, now_s)
    return event_times(values_of(column), kafka_ms, spec, now_s)


@lru_cache(maxsize=64)
def _in_micros(spec: TimeSpec) -> TimeSpec:
    return msgspec.structs.replace(spec, unit="us")
