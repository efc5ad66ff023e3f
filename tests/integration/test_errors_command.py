"""`penstock errors` and `penstock audit` over records that real Spark has quarantined."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, TimeSpec
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import an_event, run_once

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "errors-command"
FEED = FeedSpec(
    name="events",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="event_time", unit="ms"),
    quarantine=QuarantineSpec(min_records=10_000),
)
CONFIG = f"""\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "nowhere:1"}}
feeds: {{events: {{topics: [{TOPIC}]}}}}
"""
UNTIMED = b'{"type": "click", "text": "\xff\x1b[2J"}'


def test_quarantined_records_are_listed_and_shown_and_the_lake_passes_its_audit(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        client.produce(TOPIC, partition, [*(an_event(n) for n in range(120)), UNTIMED])
    code, told = run_once(spark, kafka, tmp_path / "lake", FEED)
    assert code == 0, told
    config = tmp_path / "penstock.yaml"
    config.write_text(CONFIG)

    def penstock(*words: str) -> list[dict[str, Any]]:
        assert main([*words, "-c", str(config), "--output", "json"]) == 0, capsys.readouterr().err
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    [receipt] = penstock("audit")
    assert receipt["verdict"] == "ok"
    assert (receipt["read"], receipt["quarantined"], receipt["empty"]) == (242, 8, 0)
    groups = penstock("errors", "list", "events")
    assert sum(group["count"] for group in groups) == 8
    torn = next(group for group in groups if group["count"] == 6)
    assert (torn["first"], torn["last"]) == (f"{TOPIC}/0/13", f"{TOPIC}/1/113")
    positions = {
        (record["partition"], record["offset"])
        for record in penstock("errors", "show", "events", torn["fingerprint"])
    }
    assert positions == {(p, o) for p in (0, 1) for o in (13, 63, 113)}
    [record] = penstock("errors", "show", "events", f"{TOPIC}/1/120")
    assert base64.b64decode(record["value_base64"]) == UNTIMED
    assert "\\xff\\x1b[2J" in record["value"]
