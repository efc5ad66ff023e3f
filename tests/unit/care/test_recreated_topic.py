"""A topic that was deleted and made again: the same offsets twice, each record delivered once."""

import json
import random
from pathlib import Path

import msgspec
import pyarrow.dataset as ds

from penstock.audit.shallow import audit
from penstock.care.replay import live_records, lives, replay
from penstock.care.replay_stager import ReplayStager
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.formats.parquet.parquet import FORMAT as PARQUET
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.datapath.stage.task import shred_batches
from penstock.model.entries import PartitionStart, Rebind, Start, Window
from penstock.model.layout import Layout
from penstock.model.manifest import RecordSet, groups_of
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.spec import TimeSpec
from penstock.model.steps import DELIVER
from penstock.model.window import StagedWindow, StageOrder
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.protocol.loop.prove import counts_of, prove
from penstock.protocol.publish.finisher import Finisher
from penstock.runtime.parallel import in_this_process
from penstock.runtime.surroundings import Surroundings
from tests.helpers.shredding import BY_TYPE, NOON_MS, TOPIC, a_batch, an_event

AROUND = Surroundings(lambda: NOON_MS / 1000, lambda _s: None, random.Random(1))
MENDED = msgspec.structs.replace(BY_TYPE, time=TimeSpec(field="at", unit="ms", missing="kafka"))


def no_time(who: int) -> bytes:
    return json.dumps({"type": "click", "n": who}).encode()


class Lake:
    """A lake whose feed has delivered windows of single partitions."""

    def __init__(self, directory: Path) -> None:
        self.store = LocalStore(str(directory))
        self.journal = FeedJournal(
            self.store, Layout("f"), lake_identity(self.store, AROUND), AROUND
        )
        self.fold: FeedFold = self.journal.open()
        self.journal.bind(self.fold, "a cluster", "parquet")
        self.epoch = self.journal.claim(self.fold, "me")
        self.learning = Learning(self.store, self.journal.layout, BY_TYPE, None)
        schema = JsonDecoder().infer([an_event("click", n=1)], "click")
        self.learning.schemas._keep(schema)

    def deliver(self, topic_id: str, window: str, values: list[bytes]) -> None:
        """A whole window."""
        covered = OffsetRange(TOPIC, topic_id, 0, 0, len(values))
        order = StageOrder("f", window, self.journal.layout.staging, (covered,))
        plan = ShredPlan(
            order=order,
            feed=BY_TYPE,
            schemas=dict(self.learning.schemas.known),
            now_s=NOON_MS / 1000,
            format=PARQUET,
        )
        batches = [a_batch(values, [None] * len(values))]
        (report,) = shred_batches(plan, self.store, f"attempt-{window}", batches)
        content = prove(order, StagedWindow(report.files, (report.evidence,), report.quarantined))
        body = Window(
            window=window,
            groups=groups_of(content, DELIVER),
            content=content,
            ranges=(covered,),
            counts=counts_of(content),
        )
        sealed = self.journal.append(self.fold, body, self.epoch)
        Finisher(self.journal, self.fold, AROUND, self.epoch).finish_fresh(sealed, content)

    def decode(self) -> ReplayStager:
        """As `errors replay` does, with the configuration mended."""
        return ReplayStager(MENDED, self.store, self.learning, in_this_process, AROUND)


def lived_twice(directory: Path, first: bytes, second: bytes) -> Lake:
    """A lake with one record of each life of a topic."""
    lake = Lake(directory / "lake")
    starts = [(PartitionStart(TOPIC, topic_id, 0, 0),) for topic_id in ("first", "second")]
    lake.journal.append(lake.fold, Start(starts[0]), lake.epoch)
    lake.deliver("first", "1-1", [first])
    again = Rebind(TOPIC, "first", "second", starts[1], "me", "it was made again")
    lake.journal.append(lake.fold, again, lake.epoch)
    lake.deliver("second", "1-2", [second])
    return lake


def test_both_lives_of_a_topic_come_back_from_the_quarantine(tmp_path: Path) -> None:
    lake = lived_twice(tmp_path, no_time(1), no_time(2))
    assert audit(lake.journal).verdict == "ok"
    found = lives(live_records(lake.journal.open(deep=True)))
    assert found == [{"first"}, {"second"}]
    for topic_ids in found:
        replay(lake.journal, AROUND, "me", lake.decode(), topic_ids)
    receipt = audit(lake.journal)
    assert (receipt.verdict, receipt.differences) == ("ok", ())
    rows = ds.dataset(tmp_path / "lake/f/click").to_table().to_pylist()
    assert sorted(row["n"] for row in rows) == [1, 2]
    assert live_records(lake.journal.open(deep=True)) == ()


def test_a_replay_that_is_not_told_takes_one_life_of_each_topic(tmp_path: Path) -> None:
    lake = lived_twice(tmp_path, no_time(1), no_time(1))
    replay(lake.journal, AROUND, "me", lake.decode())
    assert [part.topic_id for part in live_records(lake.journal.open(deep=True))] == ["second"]


def test_lives_are_of_one_name_each() -> None:
    def of(topic: str, topic_id: str, partition: int = 0) -> RecordSet:
        return RecordSet(topic, topic_id, partition, "", OffsetSet.of([1]))

    assert lives([]) == [frozenset()]
    records = [of("a", "1"), of("a", "1", 1), of("b", "2"), of("a", "3"), of("c", "4")]
    assert lives(records) == [{"1", "2", "4"}, {"3"}]
