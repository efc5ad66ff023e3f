"""Coming from another consumer on a real broker: its group, a file, and resets to both."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.api.source import SourceTools
from penstock.model.entries import Seek
from penstock.model.spec import FeedSpec
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.desks import Desk
from tests.integration.lakes import an_event

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "from-group"


def test_a_feed_begins_where_a_group_stopped_and_is_moved_to_where_it_is(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        client.produce(TOPIC, partition, [an_event(n) for n in range(40)])
    tools = SourceTools(lambda: spark, {"bootstrap.servers": kafka.bootstrap})
    other = KafkaSource(FeedSpec(name="other", topics=(TOPIC,)), tools)
    other.export_offsets("old", {(TOPIC, 0): 15})
    desk = Desk(tmp_path, kafka.bootstrap, TOPIC).watched_by(capsys)
    desk.config.write_text(desk.config.read_text() + "    start: {group: old}\n")
    code, rows, _ = desk.types("check")
    assert code == 2
    assert f"has no offset for {TOPIC}/1" in str(rows)
    code, told = desk.runs(spark, kafka)
    assert code == 2, told
    other.export_offsets("old", {(TOPIC, 1): 38})
    code, rows, _ = desk.types("check")
    assert code == 0
    partitions: Any = rows[-1]["partitions"]
    assert [row["start"] for row in partitions] == [15, 38]
    code, told = desk.runs(spark, kafka)
    assert code == 0, told
    wanted = {(0, offset) for offset in range(15, 40)} | {(1, 38), (1, 39)}
    assert set(desk.positions()) == wanted
    assert set(desk.positions().values()) == {1}
    for partition in (0, 1):
        client.produce(TOPIC, partition, [an_event(n) for n in range(40, 60)])
    other.export_offsets("old", {(TOPIC, 0): 45, (TOPIC, 1): 41})
    code, rows, err = desk.types("offsets", "reset", "events", "--to-group", "old")
    assert [(row["from"], row["to"]) for row in rows] == [(40, 45), (40, 41)]
    assert "dry run" in err
    code, _, err = desk.types("offsets", "reset", "events", "--to-group", "nobody")
    assert (code, "has no offset for" in err) == (2, True)
    (tmp_path / "offsets.csv").write_text(f"{TOPIC},0,50\n")
    file = ("offsets", "reset", "events", "--from-file", str(tmp_path / "offsets.csv"))
    assert desk.types(*file)[0] == 2
    moved = (*file, "--topic", f"{TOPIC}:0", "--reason", "handed over", "--execute")
    code, rows, _ = desk.types(*moved)
    assert [(row["from"], row["to"], row["skipped"]) for row in rows] == [(40, 50, 10)]
    body: Any = desk.last_body()
    assert body["kind"] == Seek.__struct_config__.tag
    assert desk.runs(spark, kafka)[0] == 0
    wanted |= {(0, offset) for offset in range(50, 60)} | {(1, offset) for offset in range(40, 60)}
    assert set(desk.positions()) == wanted
