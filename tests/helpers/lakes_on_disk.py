"""Lakes on a real disk, with a configuration beside them, for tests of commands."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.api.store import Store
from penstock.datapath.driver.stager import staged_window
from penstock.datapath.schemas.dataset_schemas import DatasetSchemas
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.task import shred_batches
from penstock.model.spec import FeedSpec
from penstock.model.window import (
    Available,
    PartitionOffsets,
    StagedWindow,
    StageOrder,
    TopicOffsets,
)
from penstock.ports.store.discard_windows import discard_windows
from penstock.ports.store.local.local_store import LocalStore
from penstock.ports.store.split_store import split_store
from penstock.protocol.journal.lake_identity import LAKE_FORMAT, LAKE_KEY, LakeIdentity
from tests.helpers.journals import LAYOUT
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import FEED, LAKE, Room, surroundings

CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed: {topics: [events]}
  other: {topics: [events]}
"""
NOW_S = 1_800_000_000.0

Payload = bytes | None


class DiskLake:
    """A directory with `penstock.yaml` and a lake that the simulator's processes can use.

    With `elsewhere` its journals lie in a directory of their own.
    """

    def __init__(self, directory: Path, *, elsewhere: bool = False) -> None:
        self.config = directory / "penstock.yaml"
        self.config.write_text(CONFIG + "journal: ./journal\n" * elsewhere)
        self.root = directory / "lake"
        self.journals = directory / "journal"
        self.store = LocalStore(self.root)
        self.stores: Store = self.store
        identity = msgspec.json.encode(LakeIdentity(LAKE_FORMAT, LAKE))
        self.store.create(LAKE_KEY, identity)
        if elsewhere:
            journal = LocalStore(self.journals)
            journal.create(LAKE_KEY, identity)
            self.stores = split_store(self.store, journal, str(self.journals))

    def room(self, *fates: list[str]) -> Room:
        """A process beside this lake; the topic has these fates, partition by partition."""
        return Room("test", self.stores, surroundings("test"), SimKafka(dict(enumerate(fates))))

    def files(self, directory: str = FEED, ending: str = "*") -> list[Path]:
        """The visible data files below a directory of the lake."""
        found = (self.root / directory).rglob(ending)
        return sorted(f for f in found if f.is_file() and "_tail" not in f.parts)

    def words(self, *words: str) -> list[str]:
        """A command's words with the configuration behind them."""
        return [*words, "-c", str(self.config)]


class ShreddedSource:
    """A source of payloads that stages with the real writer, and without Spark."""

    def __init__(
        self,
        store: Store,
        feed: FeedSpec,
        payloads: Iterable[Payload],
        topic_id: str = TOPIC_ID,
    ) -> None:
        self._store = store
        self._feed = feed
        self._schemas = DatasetSchemas(store, LAYOUT, feed)
        self._topic_id = topic_id
        self.payloads = list(payloads)

    def look(self) -> Available:
        """One partition, from the beginning."""
        offsets = {0: PartitionOffsets(0, len(self.payloads))}
        return Available(CLUSTER, (TopicOffsets(TOPIC, self._topic_id, offsets),))

    def stage(self, order: StageOrder) -> StagedWindow:
        """Shred; learn new types and shred again."""
        for attempt in ("a", "b"):
            schemas = dict(self._schemas.known)
            plan = ShredPlan(
                order=order,
                feed=self._feed,
                schemas=schemas,
                now_s=NOW_S,
                format=find(FORMATS, self._feed.format),
            )
            (covered,) = order.ranges
            batch = self.batch(covered.start, covered.end)
            reports = list(shred_batches(plan, self._store, attempt, [batch]))
            samples = [each for report in reports for each in report.samples]
            if not self._schemas.learn(samples):
                return staged_window(reports)
            discard_windows(self._store, order.staging, (), {order.window})
        raise AssertionError("new types in two reads in a row")

    def batch(self, start: int, end: int) -> pa.RecordBatch:
        """The records [start, end) as Spark hands them over."""
        count = end - start
        offsets = np.arange(start, end)
        return pa.RecordBatch.from_pydict(
            {
                "topic": pa.array([TOPIC] * count),
                "partition": pa.array([0] * count, pa.int32()),
                "offset": pa.array(offsets, pa.int64()),
                "timestamp": pa.array([int(NOW_S * 1000)] * count, pa.int64()),
                "key": pa.array([b"k%d" % at for at in offsets], pa.binary()),
                "value": pa.array(self.payloads[start:end], pa.binary()),
                "headers": pa.array(['[{"key":"h"}]'] * count, pa.string()),
                "hash": pa.array(offsets * 7919, pa.int64()),
            }
        )
