"""The shredder: one pass over the batches of a range, from bytes to staged files.

Per batch: count and hash what was read; peek at the few fields that decide where a record goes;
group rows by dataset; decode each group as columns; gather, and split by directory. What
fails on the way goes to the quarantine with its raw bytes, alone. A dataset that the plan does
not know is sampled and not written: the driver learns it and asks again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.codec import JsonRecords
from penstock.datapath.codec.codecs import codec_of
from penstock.datapath.codec.json.decoder import DatasetRecords, json_decoder
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.shape.event_time.event_time import Times, event_times
from penstock.datapath.shape.route.placing import ForkAnswers
from penstock.datapath.shape.route.router import Router
from penstock.datapath.stage.convert_rows import Converters
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.own_columns import extra_columns
from penstock.datapath.stage.placement import Placement, chosen
from penstock.datapath.stage.quarantine_writer import QuarantineRows, StayingRows
from penstock.datapath.stage.range_tally import Tally
from penstock.datapath.stage.record_rows import (
    ROW,
    as_fork,
    fork_members,
    largest_of,
    numbers_of,
    spread_arrays,
)
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport, data_suffix, file_name
from penstock.datapath.stage.split_rows import Piece, Splitter
from penstock.evidence.position_columns import runs_of, sum_mod64
from penstock.model.bad_records import BadRecord
from penstock.model.entries import LastRecord
from penstock.model.evidence import RangeEvidence, lowest_rows
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.schema import DatasetSchema

TOMBSTONE = "TOMBSTONE"


class RangeShredder:
    """One range of one Kafka partition, batch by batch. Used by one thread of one attempt."""

    def __init__(
        self, plan: ShredPlan, covered: OffsetRange, files: OpenFiles, router: Router
    ) -> None:
        self._plan = plan
        self._feed = plan.feed
        self._covered = covered
        self._files = files
        self._router = router
        self._placement = Placement(plan.feed, covered, router)
        self._codec = json_decoder(codec_of(plan.feed.decode).json or JsonRecords())
        self._paths = self._placement.paths
        self._one_pass = self._codec.one_pass(*self._usual(), self._paths)
        self._declared = {encode_component(d.route): d for d in plan.feed.datasets}
        name = file_name(plan.order, covered, data_suffix(plan))
        self._splitter = Splitter(plan, covered, files, name, self._declared)
        self._kept_paths = self._placement.kept_paths
        self._converters = Converters(plan, covered)
        kind = StayingRows if plan.is_replay else QuarantineRows
        self._quarantine = kind(plan, covered, files, self._declared)
        self._forks = plan.feed.forks
        self._only_to = ""
        self._extra = Tally(covered.topic, covered.partition)
        self._numbers: set[int] = set()
        self._read = Tally(covered.topic, covered.partition)
        self._filtered = Tally(covered.topic, covered.partition)
        self._offsets: list[Any] = []
        self._content_sum = 0
        self._read_bytes = 0
        self._largest = 0
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
        self._largest = max(self._largest, largest_of(batch))
        for part in self._spread(batch) if self._feed.decode.spread else [batch]:
            self._shred_values(part, self._with_value(part))

    def take_again(self, batch: Any, dataset: str) -> None:
        """Take quarantined records that were meant for a dataset, or for none that is known.

        What has a dataset was asked by all forks when it came first. A row of a fork stays one.
        """
        self._forks = () if dataset else self._feed.forks
        numbers = numbers_of(batch, slice(None))
        is_fork = numbers is not None and bool((numbers >= FORK_ROWS).any())
        self._only_to = dataset if is_fork else ""
        self.take(batch)

    def settle(self) -> None:
        """Hand everything to the files: there may be other ranges to come."""
        self._splitter.split()

    def report(self) -> TaskReport:
        """Close the files of the range and tell what happened."""
        offsets = np.concatenate(self._offsets) if self._offsets else np.empty(0, np.int64)
        if self._plan.is_replay:
            offsets.sort()  # files of the quarantine overlap
        evidence = RangeEvidence(
            range=self._covered,
            offsets=runs_of(offsets),
            read=self._read.total(),
            content_sum=self._content_sum,
            filtered=self._filtered.total(),
            quarantined=self._quarantine.evidence(),
            extra=self._extra.total(),
            rows=lowest_rows(self._numbers),
        )
        if self.is_learning:
            self._files.abandon()
            return TaskReport(
                evidence,
                samples=self._samples.all(),
                named=self._samples.named(),
                unlearned=self._samples.unlearned(),
            )
        self._splitter.split_last()
        return TaskReport(
            evidence,
            files=tuple(self._files.finish_range(self._covered)),
            quarantined=self._quarantine.record_sets(),
            last_record=self._last,
            samples=self._samples.all(),
            reasons=dict(self._quarantine.reasons),
            misfits=dict(self._quarantine.misfits),
            named=self._samples.named(),
            read_bytes=self._read_bytes,
            largest_bytes=self._largest,
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
                self._filter(batch, gone)
            elif self._feed.tombstones == "keep" and not self._placement.needs_a_value:
                self._keep_tombstones(batch, gone)
            else:
                self._refuse(batch, gone, _tombstones(len(gone), "no value"), "")
            rows = rows[~nulls]
        return rows

    def _keep_tombstones(self, batch: Any, rows: Any) -> None:
        """Records without a value as rows without event columns, at Kafka's time."""
        for dataset, mine in self._routed(batch, rows, {}, np.ones(len(rows), dtype=bool)):
            gone = rows[mine]
            if not dataset:
                self._filter(batch, gone)
                continue
            schema = self._plan.schemas.get(dataset)
            schema = self._plan.file_schemas.get(dataset, schema)
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
        piece = self._piece(batch, rows, schema, empty, times.micros, fields)
        self._wait(batch, rows, *self._partitioned(batch, rows, piece, good))

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

    def _shred_values(self, batch: Any, rows: Any) -> None:
        """Bring the values of a batch to their files, or to the quarantine."""
        self._shred_singly(batch, self._shred_together(batch, rows))

    def _texts(self, batch: Any, rows: Any) -> Any:
        """The JSON of some records."""
        return take(batch["value"], rows)

    def _shred_together(self, batch: Any, rows: Any) -> Any:
        """Shred what the parser can read in one pass; returns the rows that are left."""
        if len(rows) == 0 or self._only_to:
            return rows

        def put(part: DatasetRecords) -> None:
            mine, dataset = rows[part.members], part.schema.dataset
            asked, sure = self._ask_forks(batch, mine, dataset, part.fields.__getitem__)
            times = self._times(batch, mine, part.fields)
            late = [bad for bad in times.bad if sure[bad.index]]
            good = self._refuse(batch, mine, late, dataset) & sure
            piece = self._piece(batch, mine, part.schema, part.batch, times.micros, part.fields)
            self._put(batch, mine, piece, good)
            self._fork(batch, mine, dataset, part.fields, asked)

        return rows[self._one_pass.read(self._texts(batch, rows), put)]

    def _shred_singly(self, batch: Any, rows: Any) -> None:
        """Look where each record belongs, then decode group by group."""
        if len(rows) == 0:
            return
        partial = self._codec.partial_decode(self._texts(batch, rows), self._paths)
        good = self._refuse(batch, rows, partial.bad, "")
        fields = dict(zip(self._paths, partial.fields, strict=True))
        for dataset, members in self._routed(batch, rows, fields, good):
            mine = {path: [column[m] for m in members] for path, column in fields.items()}
            some = rows[members]
            asked, sure = self._ask_forks(batch, some, dataset, mine.__getitem__)
            if not dataset:
                self._filter(batch, some[sure])
            elif sure.all():
                self._shred_dataset(batch, some, dataset, mine)
            else:
                left = {path: list(compress(column, sure)) for path, column in mine.items()}
                self._shred_dataset(batch, some[sure], dataset, left)
            self._fork(batch, some, dataset, mine, asked)

    def _ask_forks(
        self, batch: Any, rows: Any, dataset: str, values: Callable[[str], Any]
    ) -> tuple[ForkAnswers | None, Any]:
        """What fork functions say, and a mask of the records for which none of them fails.

        The others go to the quarantine whole, before any row of theirs has gone anywhere.
        """
        asked = self._placement.forked(self._forks, dataset, batch, rows, values)
        if asked is None:
            return None, np.ones(len(rows), dtype=bool)
        return asked, self._refuse(batch, rows, asked.bad, "")

    def _fork(
        self,
        batch: Any,
        rows: Any,
        dataset: str,
        fields: Mapping[str, Any],
        asked: ForkAnswers | None,
    ) -> None:
        """Shred records for further datasets, too, if they fulfil what a fork asks."""
        for fork, members, again in self._forked(batch, rows, dataset, fields, asked):
            mine: dict[str, Any] = {p: chosen(column, members) for p, column in fields.items()}
            self._shred_dataset(again, np.arange(len(members)), fork.dataset, mine)

    def _forked(
        self,
        batch: Any,
        rows: Any,
        dataset: str,
        fields: Mapping[str, Any],
        asked: ForkAnswers | None,
    ) -> Iterator[tuple[ForkSpec, Any, Any]]:
        """Each fork that records of a dataset take: which of them, and a batch of their rows."""
        for place, fork in enumerate(self._forks, start=1):
            members = fork_members(fork, dataset, fields, len(rows), asked)
            if len(members):
                again = as_fork(batch, rows[members], place)
                self._count_extra(again, slice(None))
                yield fork, members, again

    def _spread(self, batch: Any) -> Iterator[Any]:
        """A batch in which the elements of arrays are rows; empty arrays meet their fate."""
        for spread in spread_arrays(batch):
            part = spread.batch
            if len(spread.fresh):
                self._count_extra(part, spread.fresh)
            if len(spread.empty):
                self._filter(part, spread.empty)
                part = part.take(pa.array(np.delete(np.arange(part.num_rows), spread.empty)))
            yield part

    def _count_extra(self, batch: Any, rows: Any) -> None:
        numbers = batch[ROW].to_numpy()[rows]
        self._extra.add(batch["offset"].to_numpy()[rows], numbers)
        self._numbers = {*lowest_rows((*self._numbers, *np.unique(numbers).tolist()))}

    def _routed(
        self, batch: Any, rows: Any, fields: Mapping[str, Any], good: Any, schema_name: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """The members of each dataset among the good rows; those without one are refused.

        Those that are to be filtered come under no name: there may be forks for them.
        """
        if self._only_to:
            return iter([(self._only_to, np.flatnonzero(good))])
        places = self._placement.routed(batch, rows, fields, good, schema_name)
        self._refuse(batch, rows, places.bad, "")
        return places.groups()

    def _filter(self, batch: Any, rows: Any) -> None:
        """Let records go; those of the quarantine are not forgotten so easily."""
        if self._plan.is_replay:
            self._quarantine.keep("FILTERED", batch, rows)
        else:
            self._filtered.add(batch["offset"].to_numpy()[rows], numbers_of(batch, rows))

    @property
    def refused(self) -> dict[int, OffsetSet]:
        """The offsets of the rows that were refused so far, by their number in the record."""
        return self._quarantine.offsets()

    @property
    def reasons(self) -> Counter[str]:
        """How many were refused so far, by reason."""
        return Counter(self._quarantine.reasons)

    def _refuse(self, batch: Any, rows: Any, bad: list[BadRecord], dataset: str) -> Any:
        """Quarantine the bad ones; a mask of those that are left."""
        good = np.ones(len(rows), dtype=bool)
        if bad:
            self._quarantine.add(batch, rows, bad, dataset)
            good[[record.index for record in bad]] = False
        return good

    def _shred_dataset(
        self, batch: Any, rows: Any, dataset: str, fields: dict[str, list[Any]]
    ) -> None:
        schema = self._plan.schemas.get(dataset)
        values = self._texts(batch, rows)
        if schema is None:
            self._samples.add_new(dataset, values)
            return
        for chunk in self._codec.row_ranges(values, schema):
            part = slice(chunk.start, chunk.stop)
            mine = {path: column[part] for path, column in fields.items()}
            self._decode(batch, rows[part], values[part], schema, mine)

    def _decode(
        self, batch: Any, rows: Any, values: Any, schema: DatasetSchema, fields: dict[str, Any]
    ) -> None:
        """Decode records of one dataset, as many as may be columns at a time."""
        times = self._times(batch, rows, fields)
        decoded = self._codec.decode(values, schema)
        late = {bad.index for bad in decoded.bad}
        untimely = [bad for bad in times.bad if bad.index not in late]
        fits = self._refuse(batch, rows, [*decoded.bad, *untimely], schema.dataset)
        if decoded.unknown:
            self._samples.add_unknown(schema.dataset, values, decoded)
        good = decoded.good
        if not fits[good].any():
            return  # what is looked at singly is often broken, all of it
        mine = {path: chosen(column, good) for path, column in fields.items()}
        piece = self._piece(batch, rows[good], schema, decoded.batch, times.micros[good], mine)
        self._put(batch, rows[good], piece, fits[good])

    def _times(self, batch: Any, rows: Any, fields: Mapping[str, list[Any] | pa.Array]) -> Times:
        spec = self._feed.time
        raw = fields[spec.field] if spec.field else None
        return event_times(raw, batch["timestamp"].to_numpy()[rows], spec, self._plan.now_s)

    def _piece(
        self, batch: Any, rows: Any, schema: DatasetSchema, columns: Any, micros: Any, fields: Any
    ) -> Piece:
        """Rows of a batch with what was made of them."""
        return Piece(
            schema,
            batch["offset"].to_numpy()[rows],
            batch["timestamp"].to_numpy()[rows],
            columns,
            micros,
            {path: fields[path] for path in self._kept_paths},
            extra_columns(self._feed, batch, rows),
            numbers_of(batch, rows),
        )

    def _put(self, batch: Any, rows: Any, piece: Piece, good: Any) -> None:
        """Convert the good rows, and let what becomes of them wait for their files."""
        dataset = piece.schema.dataset
        piece, good = self._partitioned(batch, rows, piece, good)
        if dataset in self._converters and not self.is_learning:
            piece, rows = piece.only(good), rows[good]
            converted = self._converters.convert(piece)
            left = self._refuse(batch, rows, converted.bad, dataset)
            if len(converted.filtered):
                self._filter(batch, rows[converted.filtered])
                left[converted.filtered] = False
            piece, rows = converted.piece, rows[left]
            good = np.ones(len(rows), dtype=bool)
        self._wait(batch, rows, piece, good)

    def _partitioned(self, batch: Any, rows: Any, piece: Piece, good: Any) -> tuple[Piece, Any]:
        """A piece with the directories that plug-ins name, and the mask of those left in it."""
        piece, bad = self._placement.partitioned(batch, rows, piece, good)
        if bad:
            good = self._refuse(batch, rows, bad, piece.schema.dataset) & good
        return piece, good

    def _wait(self, batch: Any, rows: Any, piece: Piece, good: Any) -> None:
        """Let the good rows wait for their files; while learning nothing is written."""
        if self.is_learning:
            return self._splitter.forget()
        piece = piece.only(good)
        unfit = list(self._plan.format.refused(piece.columns, piece.kafka_ms))
        if unfit:
            piece = piece.only(self._refuse(batch, rows[good], unfit, piece.schema.dataset))
        return self._splitter.add(piece)


def _tombstones(count: int, why: str) -> list[BadRecord]:
    return [BadRecord(index, TOMBSTONE, why) for index in range(count)]


def take(column: Any, rows: Any) -> Any:
    """Some rows of a column or a batch, in their order; all of them are not copied."""
    return column if len(rows) == len(column) else column.take(pa.array(rows))
