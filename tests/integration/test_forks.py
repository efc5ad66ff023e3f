"""One record in several datasets, and several records in one, on real parts."""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from penstock.audit.receipt import Receipt
from penstock.model.convert_spec import Condition
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec
from penstock.model.staged import StagingSpot
from penstock.ports.store.local.local_staged import LocalStagedWriter
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import NOON_MS, audit_deep, mixed_feed, run_feeds
from tests.integration.replays import Replays

pytestmark = pytest.mark.xdist_group("kafka")

FORKS = (
    ForkSpec("even", (Condition("n", multiple_of=2),)),
    ForkSpec("odd", (Condition("odd", one_of=(True,)),)),
    ForkSpec("third", (Condition("n", multiple_of=3),)),
)
COUNT = 600


class DyingTasks(LocalStore):
    """Tasks that use it die a few times in all, each when it has begun its third file."""

    DEATHS = 2

    def __reduce__(self) -> tuple[type[LocalStore], tuple[str]]:
        return DyingTasks, (self.root,)

    def open_staged(self, final: str, spot: StagingSpot) -> LocalStagedWriter:
        """As a local store does, as long as the task lives."""
        if spot.attempt.endswith("-3"):
            for death in range(self.DEATHS):
                try:
                    os.close(os.open(f"{self.root}.died-{death}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os._exit(1)
        return super().open_staged(final, spot)


@pytest.fixture
def tasks_that_die() -> Iterator[None]:
    """Lets the store above travel to workers that do not know this module."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    yield
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def an_integer(n: int, kind: str = "number") -> bytes:
    said = {"type": kind, "event_time": NOON_MS, "n": n, "odd": n % 2 == 1}
    return json.dumps(said).encode()


def rows_of(lake: Path, dataset: str) -> Counter[tuple[int, int, int, int]]:
    """Partition, offset, number of the row and the integer, as readers of the directory see it."""
    table: Any = ds.dataset(lake / "events" / dataset, partitioning="hive").to_table()
    columns = ("_partition", "_offset", "_row", "n")
    return Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))


def balanced(receipt: Receipt) -> Receipt:
    assert receipt.differences == ()
    for part in receipt.partitions:
        fates = part.written + part.quarantined + part.filtered
        assert fates == part.read + part.extra
    return receipt


@pytest.mark.usefixtures("tasks_that_die")
def test_d5_integers_go_to_every_dataset_that_wants_them_though_tasks_die(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("integers", partitions=2)
    for partition in (0, 1):
        values = [an_integer(n, "late" if n % 50 == 7 else "number") for n in range(COUNT)]
        client.produce("integers", partition, values)
    lake = tmp_path / "lake"
    lake.mkdir()
    feed = mixed_feed("integers", forks=FORKS, unknown="quarantine")
    feed = msgspec.structs.replace(feed, datasets=(DatasetSpec("number"),))
    code, told = run_feeds(spark, kafka, DyingTasks(lake), feed)
    assert code == 0, told
    assert len(list(tmp_path.glob("lake.died-*"))) == DyingTasks.DEATHS

    def wanted(late: bool, dataset: str, row: int, step: int, rest: int) -> None:
        numbers = [n for n in range(rest, COUNT, step) if late or n % 50 != 7]
        assert rows_of(lake, dataset) == Counter((p, n, row, n) for p in (0, 1) for n in numbers)

    wanted(False, "number", 0, 1, 0)
    wanted(False, "even", FORK_ROWS, 2, 0)
    wanted(False, "odd", 2 * FORK_ROWS, 2, 1)
    wanted(False, "third", 3 * FORK_ROWS, 3, 0)
    receipt = balanced(audit_deep(spark, kafka, lake))
    assert sum(part.quarantined for part in receipt.partitions) == 24

    mended = msgspec.structs.replace(feed, unknown="create")
    decode = Replays(spark, lake, mended).run()
    assert (decode.tried, decode.delivered, dict(decode.stays)) == (24, 24, {})
    wanted(True, "even", FORK_ROWS, 2, 0)
    wanted(True, "odd", 2 * FORK_ROWS, 2, 1)
    wanted(True, "third", 3 * FORK_ROWS, 3, 0)
    receipt = balanced(audit_deep(spark, kafka, lake))
    assert sum(part.quarantined for part in receipt.partitions) == 0
    assert sum(part.read for part in receipt.partitions) == 2 * COUNT


def test_s32_elements_of_an_array_keep_one_offset_with_a_row_number(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("arrays", partitions=1)
    sizes = [n % 5 for n in range(200)]
    arrays = [b"[" + b",".join(an_integer(n) for n in range(size)) + b"]" for size in sizes]
    broken = [b"[1, 2]", b"[{}", an_integer(77)]
    client.produce("arrays", 0, [*arrays, *broken])
    feed: FeedSpec = mixed_feed("arrays", decode=DecodeSpec(spread=True))
    code, told = run_feeds(spark, kafka, LocalStore(tmp_path), feed)
    assert code == 0, told
    wanted = Counter((0, at, n, n) for at, size in enumerate(sizes) for n in range(size))
    assert rows_of(tmp_path, "number") == wanted + Counter([(0, 202, 0, 77)])
    receipt = balanced(audit_deep(spark, kafka, tmp_path))
    (part,) = receipt.partitions
    assert (part.read, part.filtered, part.quarantined) == (203, 40, 2)
    quarantine = next((tmp_path / "_penstock/events/quarantine").rglob("*.parquet"))
    assert pq.read_table(quarantine)["_row"].to_pylist() == [0, 0]
    read = spark.read.parquet(str(tmp_path / "events/number"))
    assert read.select("_offset", "_row").distinct().count() == read.count() == part.written
