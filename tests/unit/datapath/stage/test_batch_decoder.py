"""The shredder with a decoder of a format that it has never seen, and the choice of a decoder."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.datapath.codec.shared.shapes import arrow_schema
from penstock.datapath.shape.route.router import Router
from penstock.datapath.stage.batch_decoder import DatasetPart, GroupReceiver, RecordGroup
from penstock.datapath.stage.cost_tally import CostTally
from penstock.datapath.stage.decode_by_schema import SchemaBatchDecoder
from penstock.datapath.stage.decode_converted import ConvertedBatchDecoder
from penstock.datapath.stage.decode_json import JsonBatchDecoder
from penstock.datapath.stage.feed_decoder import feed_decoder
from penstock.datapath.stage.group_writer import GroupFiles
from penstock.datapath.stage.open_files import OpenFiles
from penstock.datapath.stage.placement import Placement
from penstock.datapath.stage.row_arrays import BatchRows, Column, Rows
from penstock.datapath.stage.samples import Sampling
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.shredder import RangeShredder
from penstock.model.bad_records import BadRecord
from penstock.model.convert_spec import Condition
from penstock.model.file_groups import FileGroup
from penstock.model.fork import ForkSpec
from penstock.model.ranges import OffsetRange
from penstock.model.schema import INT64, DatasetSchema, with_columns
from penstock.model.spec import DecodeSpec, FeedSpec, RouteSpec
from penstock.model.window import StageOrder
from penstock.runtime.worker import worker_tick
from penstock.testing.memory_store import MemoryStore

COVERED = OffsetRange("t", "id", 0, 0, 100)
FEED = FeedSpec(
    name="f",
    topics=("t",),
    route=RouteSpec("field", "parity"),
    tombstones="quarantine",
    forks=(ForkSpec("large", (Condition("n", least=5),)),),
)
FIELDS = with_columns([("n", INT64, True)], top=True)
SCHEMAS = {name: DatasetSchema(name, 1, True, FIELDS) for name in ("even", "odd", "large")}


@dataclass(frozen=True)
class Digits:
    """Numbers, as they were read of records that are one digit each."""

    numbers: Rows

    def column(self, path: str) -> Column:
        parity = [["even", "odd"][number % 2] for number in self.numbers.tolist()]
        return parity if path == "parity" else self.numbers.tolist()

    def take(self, members: Rows) -> "Digits":
        return Digits(self.numbers[members])

    def parts(self, dataset: str) -> Iterator[DatasetPart]:
        """One record at a time; 9 does not fit into any dataset."""
        schema = SCHEMAS[dataset]
        for at, number in enumerate(self.numbers.tolist()):
            if number == 9:
                yield DatasetPart.without_rows(schema, [BadRecord(at, "NINE", "a nine")])
                continue
            columns = [pa.array([number]), pa.nulls(1, pa.string())]
            batch = pa.RecordBatch.from_arrays(columns, schema=arrow_schema(schema))
            yield DatasetPart(schema, batch, np.array([at]), [])


class DigitDecoder:
    def decode(self, some: BatchRows, dataset: str | None, receiver: GroupReceiver) -> None:
        values = some.column("value").to_pylist()
        bad = [
            BadRecord(at, "NOT_A_DIGIT", "a letter")
            for at, value in enumerate(values)
            if not value.isdigit()
        ]
        good = np.flatnonzero(receiver.refuse(some, bad))
        numbers = np.array([int(values[at]) for at in good])
        receiver.take_group(RecordGroup(some.take(good), Digits(numbers), dataset))


def a_plan(feed: FeedSpec) -> ShredPlan:
    order = StageOrder("f", "1-1", "_penstock/f/staging", (COVERED,))
    parquet = find(FORMATS, "parquet")
    return ShredPlan(order=order, feed=feed, schemas=SCHEMAS, now_s=2e9, format=parquet)


def a_placement(plan: ShredPlan) -> Placement:
    return Placement(plan.feed, COVERED, Router(plan.feed, frozenset(plan.schemas), 0))


def shredded(text: str) -> TaskReport:
    """One record for each character; a dot is a record without a value."""
    count = len(text)
    batch = pa.RecordBatch.from_pydict(
        {
            "partition": pa.array(np.zeros(count, np.int32)),
            "offset": pa.array(np.arange(count)),
            "timestamp": pa.array(np.full(count, 1_700_000_000_000)),
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([None if c == "." else c.encode() for c in text], pa.binary()),
            "headers": pa.nulls(count, pa.string()),
            "hash": pa.array(np.zeros(count, np.int64)),
        }
    )
    plan = a_plan(FEED)
    files = OpenFiles(MemoryStore(), plan, "attempt")
    group = GroupFiles(plan, FileGroup(0, ((COVERED,),)), files, {})
    decoder, costs = DigitDecoder(), CostTally(worker_tick)
    shredder = RangeShredder(plan, (COVERED,), group, a_placement(plan), decoder, Sampling(), costs)
    shredder.take(batch)
    return msgspec.structs.replace(shredder.reports()[0], files=group.finish())


def test_the_shredder_needs_nothing_of_a_format_but_its_decoder() -> None:
    report = shredded("1234x679.")
    written: Counter[str] = Counter()
    for file in report.files:
        written[file.dataset] += file.evidence.count
    assert written == {"odd": 3, "even": 3, "large": 2, "_quarantine": 4}
    assert report.reasons == {"NOT_A_DIGIT": 1, "NINE": 2, "TOMBSTONE": 1}
    meant_for = {(each.dataset, each.offsets.runs) for each in report.quarantined}
    assert meant_for == {("", ((4, 5), (8, 9))), ("odd", ((7, 8),)), ("large", ((7, 8),))}


@pytest.mark.parametrize(
    ("decode", "kind"),
    [
        (DecodeSpec(), JsonBatchDecoder),
        (DecodeSpec("json", ids=True), SchemaBatchDecoder),
        (DecodeSpec("msgpack"), ConvertedBatchDecoder),
        (DecodeSpec("avro"), SchemaBatchDecoder),
        (DecodeSpec("protobuf"), SchemaBatchDecoder),
        (DecodeSpec("raw"), SchemaBatchDecoder),
    ],
)
def test_the_codec_of_a_feed_says_which_decoder_reads_it(decode: DecodeSpec, kind: type) -> None:
    plan = a_plan(msgspec.structs.replace(FEED, decode=decode))
    assert type(feed_decoder(plan, a_placement(plan), Sampling())) is kind
