"""A field that changes its kind, on real parts: told, and one column where its type is settled."""

from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.model.spec import DecodeSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import audit_deep, event, mixed_feed, run_feeds

pytestmark = pytest.mark.xdist_group("kafka")

CONFIG = """version: 1
lake: ./lake
kafka: {bootstrap.servers: "localhost:1"}
feeds:
  events: {topics: [drifting], route: {by: "field:type"}, time: {field: event_time}}
"""
IDS = (17, "C-17", 12345678901234567890, 1.5, True, None)


def rows(lake: Path, feed: str, columns: str) -> list[Any]:
    """What DuckDB reads, in the order of the offsets."""
    found: list[Any] = (
        duckdb.connect()
        .execute(
            f"select {columns} from read_parquet('{lake}/{feed}/order/**/*.parquet', "
            "hive_partitioning=true, union_by_name=true) order by _offset"
        )
        .fetchall()
    )
    return found


def test_a_drift_is_told_and_cured_in_another_feed(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config, lake = tmp_path / "penstock.yaml", tmp_path / "lake"
    config.write_text(CONFIG)
    store, feed = LocalStore(lake), mixed_feed("drifting")
    client.create_topic("drifting", partitions=1)
    client.produce("drifting", 0, [event("order", n, customer_id=n) for n in range(20)])
    assert run_feeds(spark, kafka, store, feed)[0] == 0
    later = [event("order", 20 + n, customer_id=each) for n, each in enumerate(IDS)]
    client.produce("drifting", 0, later)
    code, told = run_feeds(spark, kafka, store, feed)
    assert code == 0
    [sentence] = [each for each in told if "another kind" in each]
    assert "customer_id of order is read as int64; 4 records" in sentence

    def said(*words: str) -> str:
        assert main([*words, "-c", str(config)]) == 0
        return capsys.readouterr().out

    capsys.readouterr()
    assert "rows with `_rest`: 4 of 26 in order: customer_id" in said("status")
    conflicts = said("schema", "conflicts", "events/order")
    assert '"C-17"' in conflicts
    assert '"order": {types: {"customer_id": string}}' in conflicts
    assert [row for row in rows(lake, "events", "customer_id, _rest") if row[1]] == [
        (None, '{"customer_id":"C-17"}'),
        (None, '{"customer_id":12345678901234567890}'),
        (None, '{"customer_id":1.5}'),
        (None, '{"customer_id":true}'),
    ]

    types = DecodeSpec(types=(("customer_id", "string"), ("event_time", "timestamp")))
    typed = msgspec.structs.replace(feed, name="typed", decode=types)
    code, told = run_feeds(spark, kafka, store, typed)
    assert code == 0
    assert not any("another kind" in each for each in told)
    found = rows(lake, "typed", "customer_id, _rest, epoch_ms(event_time) > 0")
    assert [row[0] for row in found[:20]] == [str(n) for n in range(20)]
    assert [row[0] for row in found[20:]] == [
        "17", "C-17", "12345678901234567890", "1.5", "true", None,
    ]  # fmt: skip
    assert {row[1:] for row in found} == {(None, True)}
    assert audit_deep(spark, kafka, lake, "typed").verdict == "ok"
