"""The way back from the quarantine, on real parts: once, whatever happens on the way."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.audit.ledger import open_ledger
from penstock.audit.quarantine_records import groups
from penstock.care.clean import clean
from penstock.care.replay import live_records
from penstock.errors import EntryRefused
from penstock.model.spec import DatasetSpec, FeedSpec, TimeSpec
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.fault_script import Died
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import (
    audit_deep,
    deep_fold,
    event,
    journal_of,
    mixed_feed,
    positions_in,
    run_once,
)
from tests.integration.replays import TORN, Replays

pytestmark = pytest.mark.xdist_group("kafka")

UNTIMED = [json.dumps({"type": "click", "n": n, "who": f"u{n}"}).encode() for n in range(6)]
NEW_TYPE = [json.dumps({"type": "late", "n": n, "more": {"x": n}}).encode() for n in range(3)]


def broken_feed(topic: str) -> FeedSpec:
    """A feed that refuses records without a time."""
    return mixed_feed(topic, datasets=(DatasetSpec("click", team="web"),))


def mended(feed: FeedSpec) -> FeedSpec:
    """The same feed, content with Kafka's time."""
    time = TimeSpec(field="event_time", unit="ms", missing="kafka")
    return msgspec.structs.replace(feed, time=time)


def a_lake_with_refused(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, lake: Path, topic: str
) -> FeedSpec:
    """Two partitions with good, mendable and hopeless records, delivered in two windows."""
    client.create_topic(topic, partitions=2)
    feed = broken_feed(topic)
    for turn in (0, 1):
        for partition in (0, 1):
            good = [event("click", 100 * turn + n) for n in range(20)]
            refused = [*UNTIMED, *(NEW_TYPE if turn else ()), *TORN]
            client.produce(topic, partition, [*good, *refused])
        assert run_once(spark, kafka, lake, feed)[0] == 0
    return feed


def check_replayed(lake: Path, client: KafkaClient, topic: str) -> None:
    """Every record once in the data, but for the hopeless ones, which are all still there."""
    clean(journal_of(lake))
    fold = deep_fold(lake)
    data, _ = positions_in(lake, fold)
    torn = {(r.partition, r.offset) for r in client.read_all(topic) if r.value in TORN}
    every = {(r.partition, r.offset) for r in client.read_all(topic)}
    assert data == Counter(every - torn)
    left = {(part.partition, at) for part in live_records(fold) for at in part.offsets}
    assert left == torn
    assert not list(lake.rglob("*.staged"))


def test_what_is_mended_is_delivered_once_and_the_rest_stays(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    feed = a_lake_with_refused(spark, kafka, client, tmp_path, "replayed")
    records = list(client.read_all("replayed"))
    replays = Replays(spark, tmp_path, mended(feed))
    decode = replays.run()
    assert (decode.tried, sum(decode.stays.values())) == (38, 8)
    assert set(decode.stays) == {"NOT_JSON", "NOT_UTF8"}
    check_replayed(tmp_path, client, "replayed")
    assert audit_deep(spark, kafka, tmp_path).differences == ()
    with pytest.raises(EntryRefused, match="none of the records"):
        replays.run()
    check_replayed(tmp_path, client, "replayed")
    assert len(records) == 2 * (2 * 20 + 2 * 6 + 3 + 2 * 2)


def test_a_replay_of_one_group_leaves_the_others(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Also when Kafka has forgotten the records: their bytes are in the quarantine."""
    topic = "replayed-group"
    feed = a_lake_with_refused(spark, kafka, client, tmp_path, topic)
    torn = {(r.partition, r.offset) for r in client.read_all(topic) if r.value in TORN}
    for partition in (0, 1):
        client.delete_records(topic, partition, before=59)
    journal = journal_of(tmp_path)
    found = groups(journal.store, *open_ledger(journal)).shown
    groups_of = {group.reason: group.fingerprint for group in found}
    replays = Replays(spark, tmp_path, mended(feed))
    with pytest.raises(EntryRefused, match="none of the records"):
        replays.run(fingerprint=groups_of["NOT_UTF8"])
    assert replays.run(fingerprint=groups_of["TIME_MISSING"]).stays == {}
    left = live_records(deep_fold(tmp_path))
    assert {(part.partition, at) for part in left for at in part.offsets} == torn
    assert audit_deep(spark, kafka, tmp_path).differences == ()


def test_two_replays_at_once_deliver_every_record_once(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: the journal lets one through. Method: the second runs when the first has staged."""
    feed = a_lake_with_refused(spark, kafka, client, tmp_path, "replayed-twice")
    replays = Replays(spark, tmp_path, mended(feed))

    class Interrupted(LocalStore):
        """Before the first entry is appended, somebody else replays everything."""

        met = False

        def create(self, key: str, data: bytes) -> bool:
            if "/journal/" in key and not self.met:
                Interrupted.met = True
                replays.run()
            return super().create(key, data)

        def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
            return LocalStore, (self.root,)

    with pytest.raises(EntryRefused, match="are not live any more"):
        replays.run(Interrupted(tmp_path))
    check_replayed(tmp_path, client, "replayed-twice")
    assert audit_deep(spark, kafka, tmp_path).differences == ()


class DyingAt(LocalStore):
    """A store whose process dies before, or after, the nth act that changes something."""

    def __init__(self, root: Path, nth: int, after: bool) -> None:
        super().__init__(root)
        self.left, self._after = nth, after

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
        return LocalStore, (self.root,)

    def _count(self, after: bool) -> None:
        if after == self._after:
            self.left -= 1
            if self.left == 0:
                raise Died("on purpose")

    def create(self, key: str, data: bytes) -> bool:
        self._count(after=False)
        created = super().create(key, data)
        self._count(after=True)
        return created

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        self._count(after=False)
        half = set(super().publish_all(handles[: len(handles) // 2]))
        self._count(after=True)
        return half | super().publish_all(handles[len(handles) // 2 :])

    def discard(self, ref: StagedRef) -> None:
        self._count(after=False)
        super().discard(ref)
        self._count(after=True)


@pytest.mark.parametrize("after", [False, True])
def test_a_death_at_any_act_of_a_replay_neither_loses_nor_doubles(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path, after: bool
) -> None:
    topic = f"replay-dies-{after}"
    feed = a_lake_with_refused(spark, kafka, client, tmp_path / "origin", topic)
    acts = 0
    for nth in range(1, 50):
        lake = tmp_path / f"lake-{nth}"
        copy_lake(tmp_path / "origin", lake)
        store = DyingAt(lake, nth, after)
        replays = Replays(spark, lake, mended(feed))
        try:
            replays.run(store)
        except Died:
            acts += 1
        # The owner cleans up after whoever died, and finishes what was decided.
        assert run_once(spark, kafka, lake, feed)[0] == 0
        with suppress(EntryRefused):  # it may have been decided before the death
            replays.run()
        check_replayed(lake, client, topic)
        if store.left > 0:
            break
    assert acts >= 4


def copy_lake(origin: Path, target: Path) -> None:
    """The same lake in another place."""
    for path in sorted(origin.rglob("*")):
        there = target / path.relative_to(origin)
        if path.is_dir():
            there.mkdir(parents=True, exist_ok=True)
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(path.read_bytes())
