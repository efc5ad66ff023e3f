"""Decoding records without a schema, which are JSON: in one pass, and singly what is left.

The parser reads records of known datasets in one pass, and tells the datasets apart meanwhile. In
the records that it leaves, the few fields are looked up that decide where a record goes; these are
decoded afterwards, dataset by dataset. A dataset that the plan does not know is sampled.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from penstock.api.codec import JsonRecords
from penstock.datapath.codec.json.decoder import DatasetRecords, json_decoder
from penstock.datapath.stage.batch_decoder import (
    DatasetPart,
    GroupReceiver,
    RecordGroup,
    renumbered,
)
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.row_arrays import BatchRows, Column, Fields, Rows, chosen, take
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.settled_times import read_as, with_times
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.model.bad_records import BadRecord
from penstock.model.pinned_types import feed_types
from penstock.model.read_ways import Misfits, ReadCounts
from penstock.model.schema import DatasetSchema


class JsonBatchDecoder:
    """Reads values that are JSON. Used by one thread of one attempt."""

    def __init__(
        self, plan: ShredPlan, records: JsonRecords, placement: Placement, samples: Sampling
    ) -> None:
        self.schemas = plan.schemas
        self.samples = samples
        self.zone = ZoneInfo(plan.feed.time.zone)
        self.codec = json_decoder(records, feed_types(plan.feed))
        self._paths = placement.paths
        datasets, field = placement.datasets_by_text()
        known = {text: read_as(plan.schemas[name]) for text, name in datasets.items()}
        self._one_pass = self.codec.one_pass(known, field, self._paths)

    def decode(self, some: BatchRows, dataset: str | None, receiver: GroupReceiver) -> None:
        """Read the values of some rows."""
        self.decode_texts(some, some.column("value"), dataset, receiver)

    def decode_texts(
        self, some: BatchRows, texts: pa.Array, dataset: str | None, receiver: GroupReceiver
    ) -> None:
        """Read some rows by the JSON that was made of their values.

        The one pass goes by the route, so it is not for records whose dataset is given.
        """
        if dataset is None and len(some):
            left = self._read_together(some, texts, receiver)
            some, texts = some.take(left), take(texts, left)
        if len(some):
            self._read_singly(some, texts, dataset, receiver)

    def _read_together(self, some: BatchRows, texts: pa.Array, receiver: GroupReceiver) -> Rows:
        """Hand over what the parser can read in one pass; returns which are left."""

        def put(part: DatasetRecords) -> None:
            content = JsonContent(self, texts, part.members, part.fields, part)
            origin = some.take(part.members)
            receiver.take_group(RecordGroup(origin, content, part.schema.dataset))

        return self._one_pass.read(texts, put)

    def _read_singly(
        self, some: BatchRows, texts: pa.Array, dataset: str | None, receiver: GroupReceiver
    ) -> None:
        """Look at the fields that decide where a record goes."""
        partial = self.codec.partial_decode(texts, self._paths)
        fields = dict(zip(self._paths, partial.fields, strict=True))
        content = JsonContent(self, texts, np.arange(len(some)), fields)
        good = receiver.refuse(some, partial.bad)
        receiver.take_group(RecordGroup(some, content, dataset).take(np.flatnonzero(good)))


@dataclass(frozen=True, slots=True)
class JsonContent:
    """Records as JSON: `members` of some texts, and the fields that were looked at.

    `ready` has the columns of the dataset that they were read for, if they were read in one pass.
    """

    decoder: JsonBatchDecoder
    texts: pa.Array
    members: Rows
    fields: Fields
    ready: DatasetRecords | None = None

    def column(self, path: str) -> Column:
        """The values of one of the fields that were looked at."""
        return self.fields[path]

    def take(self, members: Rows) -> "JsonContent":
        """The content of some of the records."""
        fields = {path: chosen(column, members) for path, column in self.fields.items()}
        ready = self.ready
        if ready is not None:
            # Which of the records have the values that do not fit is found by reading them again.
            ready = None if ready.counts.misfits else ready.take(members)
        return JsonContent(self.decoder, self.texts, self.members[members], fields, ready)

    def parts(self, dataset: str) -> Iterator[DatasetPart]:
        """The records as columns of a dataset; payloads are sampled where it cannot hold them."""
        samples, codec = self.decoder.samples, self.decoder.codec
        schema = self.decoder.schemas.get(dataset)
        if self.ready is not None and self.ready.schema.dataset == dataset and schema is not None:
            numbers = np.arange(len(self.members))
            if self.ready.unknown:
                texts = take(self.texts, self.members)
                samples.add_unknown(dataset, texts, self.ready.unknown)
            yield self._part(schema, self.ready.batch, numbers, [], self.ready.counts)
            return
        texts = take(self.texts, self.members)
        if schema is None:
            samples.add_new(dataset, texts)
            return
        reading = read_as(schema)
        for chunk in codec.row_ranges(texts, reading):
            some = texts.slice(chunk.start, len(chunk))
            decoded = codec.decode(some, reading)
            if decoded.unknown:
                unknown = dict(zip(decoded.unknown, decoded.unknown_at, strict=True))
                samples.add_unknown(dataset, some, unknown)
            numbers = np.arange(chunk.start, chunk.stop)
            bad = renumbered(decoded.bad, numbers)
            counts = decoded.counts.moved(chunk.start)
            yield self._part(schema, decoded.batch, numbers[decoded.good], bad, counts)

    def _part(
        self,
        schema: DatasetSchema,
        read: pa.RecordBatch,
        good: Rows,
        bad: list[BadRecord],
        counts: ReadCounts,
    ) -> DatasetPart:
        """A part with times where they are settled."""
        columns, misfits = with_times(schema, read, self.decoder.zone)
        for misfit, (records, first) in misfits.items():
            counts.add_misfit(misfit, int(good[first]), records)
        recount = partial(self._misfits_of, schema) if counts.misfits else None
        return DatasetPart(schema, columns, good, bad, counts, recount)

    def _misfits_of(self, schema: DatasetSchema, numbers: Rows) -> Misfits:
        """What did not fit in some of the records, which are read once more for that."""
        codec, reading = self.decoder.codec, read_as(schema)
        texts, found = take(self.texts, self.members[numbers]), ReadCounts()
        for chunk in codec.row_ranges(texts, reading):
            decoded = codec.decode(texts.slice(chunk.start, len(chunk)), reading)
            mine = numbers[chunk.start : chunk.stop]
            for misfit, (records, first) in decoded.counts.misfits.items():
                found.add_misfit(misfit, int(mine[first]), records)
            _, times = with_times(schema, decoded.batch, self.decoder.zone)
            for misfit, (records, first) in times.items():
                found.add_misfit(misfit, int(mine[decoded.good][first]), records)
        return found.misfits
