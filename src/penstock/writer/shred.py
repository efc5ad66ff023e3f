"""The shredder: one pass over the batches of a range, from bytes to staged files.

Per batch: count and hash what was read; peek at the few fields that decide where a record goes;
group rows by dataset; decode each group as columns; split by partition directory; buffer. What
fails on the way goes to the quarantine with its raw bytes, alone. A dataset that the plan does
not know is sampled and not written: the driver learns it and asks again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codec.json_codec import JsonCodec, arrow_schema
from penstock.model.entries import LastRecord
from penstock.model.evidence import RangeEvidence
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.rows import BadRecord
from penstock.model.schema import DatasetSchema
from penstock.model.spec import DatasetSpec, FeedSpec, PartitionKey
from penstock.shape.partition import partition_directories
from penstock.shape.route import Router, group, header_values
from penstock.shape.time import Times, event_times
from penstock.writer.columns import meta_columns
from penstock.writer.output import Sink
from penstock.writer.plan import ShredPlan, TaskReport, file_name
from penstock.writer.quarantine import QuarantineRows
from penstock.writer.samples import Sampling
from penstock.writer.tally import Tally, runs_of, sum_mod64

TOMBSTONE = "TOMBSTONE"


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of one dataset on their way to files: columns, event times, and fields by path."""

    schema: DatasetSchema
    rows: Any
    columns: Any
    micros: Any
    fields: dict[str, list[Any]]

    def only(self, good: Any) -> "Piece":
        """The rows that a mask keeps."""
        if good.all():
            return self
        fields = {path: list(compress(column, good)) for path, column in self.fields.items()}
        columns = self.columns.filter(pa.array(good))
        return Piece(self.schema, self.rows[good], columns, self.micros[good], fields)


class RangeShredder:
    """One range of one Kafka partition, batch by batch. Used by one thread of one attempt."""

    def __init__(self, plan: ShredPlan, covered: OffsetRange, sink: Sink, router: Router) -> None:
        self._plan = plan
        self._feed = plan.feed
        self._covered = covered
        self._sink = sink
        self._router = router
        self._codec = JsonCodec()
        compression = plan.feed.compression
        suffix = "parquet" if compression == "none" else f"{compression}.parquet"
        self._name = file_name(plan.order, covered, suffix)
        self._paths = peek_paths(plan.feed)
        self._one_pass = self._codec.one_pass(*self._usual(), self._paths)
        self._declared = {encode_component(d.route): d for d in plan.feed.datasets}
        self._quarantine = QuarantineRows(plan, covered, sink, self._declared)
        self._read = Tally(covered.topic, covered.partition)
        self._filtered = Tally(covered.topic, covered.partition)
        self._offsets: list[Any] = []
        self._content_sum = 0
        self._read_bytes = 0
        self._last: LastRecord | None = None
        self._samples = Sampling()

    def take(self, batch: Any) -> None:
        """Take the next batch of records of this range, in offset order."""
        offsets = batch["offset"].to_numpy()
        hashes = batch["hash"].to_numpy()
        self._offsets.append(offsets)
        self._read.add(offsets)
        self._content_sum = (self._content_sum + sum_mod64(hashes)) % 2**64
        last_hash = int(np.uint64(hashes[-1].astype(np.uint64)))
        place = self._covered
        self._last = LastRecord(
            place.topic_id,
            place.partition,
            int(offsets[-1]),
            last_hash,
            batch["timestamp"][-1].as_py(),
        )
        self._read_bytes += int(batch["key"].nbytes) + int(batch["value"].nbytes)
        self._shred_singly(batch, self._shred_together(batch, self._with_value(batch)))

    def report(self) -> TaskReport:
        """Close the files of the range and tell what happened."""
        offsets = np.concatenate(self._offsets) if self._offsets else np.empty(0, np.int64)
        evidence = RangeEvidence(
            range=self._covered,
            offsets=runs_of(offsets),
            read=self._read.total(),
            content_sum=self._content_sum,
            filtered=self._filtered.total(),
            quarantined=self._quarantine.evidence(),
        )
        if self.is_learning:
            self._sink.abandon()
            return TaskReport(evidence, samples=self._samples.all())
        return TaskReport(
            evidence,
            files=tuple(self._sink.finish_range(self._covered)),
            quarantined=self._quarantine.record_sets(),
            last_record=self._last,
            samples=self._samples.all(),
            reasons=dict(self._quarantine.reasons),
            read_bytes=self._read_bytes,
        )

    @property
    def is_learning(self) -> bool:
        """True when a dataset was met that the plan does not know."""
        return self._samples.has_new

    def _with_value(self, batch: Any) -> Any:
        """The rows that have a value; tombstones meet their fate here."""
        nulls = batch["value"].is_null().to_numpy(zero_copy_only=False)
        rows = np.arange(batch.num_rows)
        if nulls.any():
            gone = rows[nulls]
            if self._feed.tombstones == "filter":
                self._filtered.add(batch["offset"].to_numpy()[gone])
            elif self._feed.tombstones == "keep" and self._feed.route.kind != "field":
                self._keep_tombstones(batch, gone)
            else:
                self._refuse(batch, gone, _tombstones(len(gone), "no value"), "")
            rows = rows[~nulls]
        return rows

    def _keep_tombstones(self, batch: Any, rows: Any) -> None:
        """Records without a value as rows without event columns, at Kafka's time."""
        for dataset, mine in self._routed(batch, rows, {}, np.ones(len(rows), dtype=bool)):
            gone = rows[mine]
            schema = self._plan.schemas.get(dataset)
            if schema is None:
                self._samples.add_new(dataset, batch["value"].slice(0, 0))
            elif any(not field.nullable for field in schema.fields):
                why = "no value, and the schema has fields that may not be null"
                self._refuse(batch, gone, _tombstones(len(gone), why), dataset)
            else:
                self._put_tombstones(batch, gone, schema)

    def _put_tombstones(self, batch: Any, rows: Any, schema: DatasetSchema) -> None:
        kafka_ms = batch["timestamp"].to_numpy()[rows]
        times = event_times(None, kafka_ms, self._feed.time, self._plan.now_s)
        good = self._refuse(batch, rows, times.bad, schema.dataset)
        columns = arrow_schema(schema)
        nulls = [pa.nulls(len(rows), column.type) for column in columns]
        fields: dict[str, list[Any]] = {path: [None] * len(rows) for path in self._paths}
        empty = pa.RecordBatch.from_arrays(nulls, schema=columns)
        self._put(batch, Piece(schema, rows, empty, times.micros, fields).only(good))

    def _usual(self) -> tuple[dict[str, DatasetSchema], str]:
        """The datasets that can be told apart while parsing, by text, and the field of the text."""
        schemas, route = self._plan.schemas, self._feed.route
        texts = self._router.known_texts()
        if route.kind == "field" and "." not in route.name:
            return {text: schemas[name] for text, name in texts.items()}, route.name
        topic = self._covered.topic
        if route.kind == "topic" and topic in texts:
            return {topic: schemas[texts[topic]]}, ""
        return {}, ""

    def _shred_together(self, batch: Any, rows: Any) -> Any:
        """Shred what the parser can read in one pass; returns the rows that are left."""
        if len(rows) == 0:
            return rows
        parts, left = self._one_pass.read(_take(batch["value"], rows))
        for part in parts:
            mine = rows[part.members]
            times = self._times(batch, mine, part.fields)
            good = self._refuse(batch, mine, times.bad, part.schema.dataset)
            piece = Piece(part.schema, mine, part.batch, times.micros, part.fields)
            self._put(batch, piece.only(good))
        return rows[left]

    def _shred_singly(self, batch: Any, rows: Any) -> None:
        """Look where each record belongs, then decode group by group."""
        if len(rows) == 0:
            return
        peeked = self._codec.peek(_take(batch["value"], rows), self._paths)
        good = self._refuse(batch, rows, peeked.bad, "")
        fields = dict(zip(self._paths, peeked.fields, strict=True))
        for dataset, members in self._routed(batch, rows, fields, good):
            mine = {path: [column[m] for m in members] for path, column in fields.items()}
            self._shred_dataset(batch, rows[members], dataset, mine)

    def _routed(
        self, batch: Any, rows: Any, fields: dict[str, list[Any]], good: Any
    ) -> Iterator[tuple[str, Any]]:
        """The members of each dataset among the good rows; those of no dataset meet their fate."""
        routed = self._router.assign(self._route_values(batch, rows, fields))
        self._refuse(batch, rows, [b for b in routed.bad if good[b.index]], "")
        dropped = np.asarray(routed.filtered, dtype=np.int64)
        dropped = dropped[good[dropped]]
        self._filtered.add(batch["offset"].to_numpy()[rows[dropped]])
        return _groups(np.where(good, routed.codes, -1), routed.datasets)

    def _refuse(self, batch: Any, rows: Any, bad: list[BadRecord], dataset: str) -> Any:
        """Quarantine the bad ones; a mask of those that are left."""
        good = np.ones(len(rows), dtype=bool)
        if bad:
            self._quarantine.add(batch, rows, bad, dataset)
            good[[record.index for record in bad]] = False
        return good

    def _route_values(self, batch: Any, rows: Any, fields: dict[str, list[Any]]) -> list[Any]:
        route = self._feed.route
        if route.kind == "field":
            return fields[route.name]
        if route.kind == "header":
            return list(header_values(_take(batch["headers"], rows), route.name))
        return [self._covered.topic] * len(rows)

    def _shred_dataset(
        self, batch: Any, rows: Any, dataset: str, fields: dict[str, list[Any]]
    ) -> None:
        schema = self._plan.schemas.get(dataset)
        values = _take(batch["value"], rows)
        if schema is None:
            self._samples.add_new(dataset, values)
            return
        times = self._times(batch, rows, fields)
        decoded = self._codec.decode(values, schema)
        late = {bad.index for bad in decoded.bad}
        self._refuse(batch, rows, decoded.bad, dataset)
        fits = self._refuse(batch, rows, [b for b in times.bad if b.index not in late], dataset)
        if decoded.unknown:
            self._samples.add_unknown(dataset, values, decoded)
        good = decoded.good
        mine = {path: [column[g] for g in good] for path, column in fields.items()}
        piece = Piece(schema, rows[good], decoded.batch, times.micros[good], mine)
        self._put(batch, piece.only(fits[good]))

    def _times(self, batch: Any, rows: Any, fields: dict[str, list[Any]]) -> Times:
        spec = self._feed.time
        raw = fields[spec.field] if spec.field else None
        return event_times(raw, batch["timestamp"].to_numpy()[rows], spec, self._plan.now_s)

    def _put(self, batch: Any, piece: Piece) -> None:
        """Add our columns, split by directory, and buffer."""
        if len(piece.rows) == 0 or self.is_learning:
            return
        schema = piece.schema
        keys = partition_keys(self._feed, self._declared.get(schema.dataset))
        found = partition_directories(piece.micros, keys, self._feed.time.zone, piece.fields)
        whole = meta_columns(self._feed, self._plan.order, batch, piece.rows, piece.columns)
        offsets = batch["offset"].to_numpy()[piece.rows]
        base = f"{self._plan.order.feed}/{schema.dataset}"
        for path, members in _groups(found.codes, found.paths):
            directory = f"{base}/{path}" if path else base
            output = self._sink.output(
                schema.dataset, schema.version, directory, self._covered, self._name
            )
            # Copied and not sliced: a slice would keep the rows of all directories in memory.
            part = whole if len(members) == len(offsets) else whole.take(pa.array(members))
            self._sink.add(output, part, offsets[members])


def _tombstones(count: int, why: str) -> list[BadRecord]:
    return [BadRecord(index, TOMBSTONE, why) for index in range(count)]


def _groups(codes: Any, names: list[str]) -> Iterator[tuple[str, Any]]:
    """The rows of each name that has any."""
    for name, members in zip(names, group(codes, len(names)), strict=True):
        if len(members):
            yield name, members


def _take(column: Any, rows: Any) -> Any:
    return column if len(rows) == len(column) else column.take(pa.array(rows))


def peek_paths(feed: FeedSpec) -> tuple[str, ...]:
    """The fields that decide where a record goes, each once."""
    paths = [feed.route.name] if feed.route.kind == "field" else []
    paths += [feed.time.field] if feed.time.field else []
    every = (*feed.partition, *(k for d in feed.datasets for k in d.partition or ()))
    paths += [key.path for key in every if key.kind == "field"]
    return tuple(dict.fromkeys(paths))


def partition_keys(feed: FeedSpec, declared: DatasetSpec | None) -> tuple[PartitionKey, ...]:
    """A dataset's own partitioning, or the feed's."""
    if declared is not None and declared.partition is not None:
        return declared.partition
    return feed.partition


def split_by_place(batch: Any) -> Iterator[tuple[str, int, Any]]:
    """The parts of a batch that are of one topic and partition each, in order."""
    partitions = batch["partition"].to_numpy()
    topics = batch["topic"]
    changes = np.flatnonzero(np.diff(partitions)) + 1
    bounds = [0, *changes.tolist(), batch.num_rows]
    for start, end in pairwise(bounds):
        piece = batch.slice(start, end - start)
        names = topics.slice(start, end - start).unique().to_pylist()
        if len(names) == 1:
            yield names[0], int(partitions[start]), piece
            continue
        for name in names:  # two topics, same partition number, side by side in one batch
            mask = pa.compute.equal(piece["topic"], name)
            yield name, int(partitions[start]), piece.filter(mask)
