"""Files by volume on a real broker: many partitions, many types, few files, and each record once.

Goal: a window's files do not multiply with Kafka's partitions, and what a kill has lost of them
comes back as it was decided, with another number of cores. Method: 200 partitions, 50 types, 2
days; the owner dies right after its decision and its staged files are lost; DuckDB counts the rows.
`PENSTOCK_VOLUME_RECORDS=1000000` with `-s` is the long proof, which prints how long each part took.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
from pyspark.sql import SparkSession

from penstock.model.entries import Replace, Window
from penstock.model.names import parse_name
from penstock.model.spec import FilesSpec, WindowSpec
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.loop.owner import Owner
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.fault_script import Died
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import audit_deep, bodies, event, mixed_feed, run_feeds, run_once

RECORDS = int(os.environ.get("PENSTOCK_VOLUME_RECORDS", "100000"))
PARTITIONS, TYPES, DAYS = 200, 50, 2
MOST_FILES = 250
LONG_S = 300 * max(RECORDS // 100_000, 1)

pytestmark = [pytest.mark.xdist_group("kafka"), pytest.mark.timeout(LONG_S)]


@contextmanager
def clocked(what: str) -> Iterator[None]:
    """Say how long a part of the proof took."""
    began = time.monotonic()
    try:
        yield
    finally:
        sys.stdout.write(f"{RECORDS:,} records, {what}: {time.monotonic() - began:.1f} s\n")


@pytest.fixture(scope="module")
def topic(client: KafkaClient) -> Iterator[str]:
    """Every type and day in every partition."""
    name = "volume"
    client.create_topic(name, PARTITIONS)
    each = RECORDS // PARTITIONS
    for partition in range(PARTITIONS):
        numbers = range(partition * each, (partition + 1) * each)
        # A prime number of steps, so that types and days meet in all ways.
        made = (event(f"kind{n % TYPES:02}", n, days_ago=n // TYPES % DAYS) for n in numbers)
        client.produce(name, partition, list(made))
    yield name
    client.delete_topic(name)


def test_many_partitions_and_types_are_few_files_also_when_they_are_derived_again(
    topic: str, spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    window = WindowSpec(max_records=2 * RECORDS, max_bytes=10**10)
    feed = mixed_feed(topic, window=window, max_new_types=TYPES, files=FilesSpec())
    store = LocalStore(tmp_path)
    with (
        patch.object(Owner, "publish", side_effect=Died("kill -9")),
        pytest.raises(Died),
        clocked("staged and decided"),
    ):
        run_feeds(spark, kafka, store, feed)
    lost = list(store.list_staged("_penstock/events/staging", ()))
    assert 0 < len(lost) <= MOST_FILES
    for each in lost:
        store.discard(each)
    with (
        patch.object(KafkaSource, "tasks_at_once", return_value=1),
        clocked("derived again"),
    ):
        code, told = run_feeds(spark, kafka, store, feed, take_over=True)
    assert code == 0, told
    sys.stdout.write(f"{len(lost)} files were lost and derived again\n")
    entries = bodies(tmp_path)
    assert any(isinstance(each, Replace) for each in entries)
    for body in (body for body in entries if isinstance(body, Window)):
        assert sum(group.files for group in body.groups) <= MOST_FILES
        assert sum(body.file_plan.groups) == len(body.ranges)
    with clocked("counted by DuckDB"):
        check_exact_by_duckdb(tmp_path, topic)
    with clocked("audited, and read again from Kafka"):
        receipt = audit_deep(spark, kafka, tmp_path)
    assert receipt.differences == ()


def asked(query: str) -> list[tuple[Any, ...]]:
    """What DuckDB answers."""
    found = duckdb.sql(query)
    assert found is not None
    return list(found.fetchall())


def check_exact_by_duckdb(lake: Path, topic: str) -> None:
    """Every offset once, each in the directory of its type and day, and rows in order."""
    each = RECORDS // PARTITIONS
    (found,) = asked(
        f"""
        select count(*), count(distinct (_partition, _offset)), min(_offset), max(_offset),
               count(distinct _partition), count(distinct (dataset, day)),
               count(*) filter (where n <> _partition * {each} + _offset
                                   or dataset <> 'kind' || lpad((n % {TYPES})::varchar, 2, '0'))
        from (select *, split_part(filename, '/', -3) as dataset
              from read_parquet('{lake}/events/*/day=*/*.parquet',
                                filename=true, hive_partitioning=true, union_by_name=true))
        """
    )
    assert found == (RECORDS, RECORDS, 0, each - 1, PARTITIONS, TYPES * DAYS, 0)
    files = sorted(lake.rglob("events/kind*/day=*/*.parquet"))
    assert all(parse_name(str(path)) is not None for path in files)
    for path in files[:20]:
        rows = asked(f"select _partition, _offset from read_parquet('{path}')")
        assert rows == sorted(rows), "rows lie in the order of partitions and offsets"


def test_tasks_get_exactly_the_ranges_that_are_asked_for(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """With several cores a window of few ranges has several file groups, each of one task."""
    name = "volume-tasks"
    client.create_topic(name, 9)
    for partition in range(9):
        made = (event(f"kind{n % 3}", 9 * n + partition, text="x" * 300) for n in range(2_500))
        client.produce(name, partition, list(made))
    feed = mixed_feed(name, files=FilesSpec())
    with (
        patch.object(KafkaSource, "tasks_at_once", return_value=4),
        patch("penstock.protocol.loop.file_planning.GROUP_BYTES", 1_000_000),
    ):
        code, told = run_once(spark, kafka, tmp_path, feed)
    assert code == 0, told
    (window,) = (each for each in bodies(tmp_path) if isinstance(each, Window))
    assert len(window.file_plan.groups) == 4
    assert audit_deep(spark, kafka, tmp_path).differences == ()
    client.delete_topic(name)
