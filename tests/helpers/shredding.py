"""What the shredder's tests share: records as Spark hands them over, one task, and its files."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import shred_batches
from penstock.model.convert_spec import ConvertSpec
from penstock.model.layout import Layout
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange
from penstock.model.schema import DatasetSchema
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.loop.prove import prove
from penstock.testing.memory_store import MemoryStore

TOPIC = "orders"
NOON_MS = 1_794_830_400_000  # 2026-11-16T12:00:00Z
LAYOUT = Layout("f")
BY_TYPE = FeedSpec(
    name="f",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="at", unit="ms"),
)
BY_TOPIC = FeedSpec(name="f", topics=(TOPIC,), tombstones="keep")


@dataclass(frozen=True)
class Shredded:
    """A task's report and the rows of its files, by dataset."""

    report: TaskReport
    store: MemoryStore

    def finals(self) -> list[str]:
        return [file.handle.final for file in self.report.files]

    def rows(self, dataset: str) -> list[dict[str, Any]]:
        """Rows of all files of a dataset, by offset."""
        found = []
        for file in self.report.files:
            if file.dataset == dataset:
                self.store.publish(file.handle)
                table = pq.read_table(io.BytesIO(self.store.read(file.handle.final) or b""))
                found += table.to_pylist()
        return sorted(found, key=lambda row: int(row["_offset"]))

    def files(self, dataset: str) -> list[Any]:
        """The Parquet files of a dataset, open."""
        found = [file.handle for file in self.report.files if file.dataset == dataset]
        for handle in found:
            self.store.publish(handle)
        return [pq.ParquetFile(io.BytesIO(self.store.read(h.final) or b"")) for h in found]

    def refused(self) -> list[dict[str, Any]]:
        return self.rows(QUARANTINE)


def an_event(kind: str, **fields: object) -> bytes:
    return json.dumps({"type": kind, "at": NOON_MS, **fields}).encode()


def header(name: str, value: str) -> str:
    """Headers as the reader's select makes them."""
    return json.dumps([{"key": name, "value": base64.b64encode(value.encode()).decode()}])


def learned(*samples: bytes) -> dict[str, DatasetSchema]:
    """Schemas by type, from one event each."""
    names = [json.loads(sample)["type"] for sample in samples]
    return {
        name: JsonDecoder().infer(
            [s for s, n in zip(samples, names, strict=True) if n == name], name
        )
        for name in names
    }


def shred(
    feed: FeedSpec,
    values: Sequence[bytes | None],
    schemas: Mapping[str, DatasetSchema],
    *,
    headers: Sequence[str | None] | None = None,
    batch_rows: int = 10_000,
    kafka_ms: int = NOON_MS,
    **plan: Any,
) -> Shredded:
    """Run one task over the values; what it brings back must pass the owner's proof."""
    covered = OffsetRange(TOPIC, "id", 0, 0, len(values))
    order = StageOrder(feed.name, "1-1", "_penstock/f/staging", (covered,))
    whole = a_batch(values, headers or [None] * len(values), kafka_ms)
    batches = [whole.slice(at, batch_rows) for at in range(0, len(values), batch_rows)]
    store = MemoryStore()
    given = ShredPlan(
        order=order,
        feed=feed,
        schemas=dict(schemas),
        now_s=NOON_MS / 1000,
        format=find(FORMATS, feed.format),
        **plan,
    )
    (report,) = shred_batches(given, store, "attempt", batches)
    is_learning = report.unlearned or any(sample.is_new for sample in report.samples)
    if not is_learning and not given.is_replay:
        prove(order, StagedWindow(report.files, (report.evidence,), report.quarantined))
    return Shredded(report, store)


def a_batch(
    values: Sequence[bytes | None], headers: Sequence[str | None], kafka_ms: int = NOON_MS
) -> pa.RecordBatch:
    """Records of one partition, at offsets from 0."""
    count = len(values)
    offsets = np.arange(count, dtype=np.int64)
    return pa.RecordBatch.from_pydict(
        {
            "topic": pa.array([TOPIC] * count, pa.string()),
            "partition": pa.array(np.zeros(count, np.int32)),
            "offset": pa.array(offsets),
            "timestamp": pa.array(np.full(count, kafka_ms, np.int64)),
            "key": pa.array([b"key"] * count, pa.binary()),
            "value": pa.array(list(values), pa.binary()),
            "headers": pa.array(list(headers), pa.string()),
            "hash": pa.array(offsets),
        }
    )


def with_steps(feed: FeedSpec, *steps: ConvertSpec) -> FeedSpec:
    return msgspec.structs.replace(feed, convert=steps)
