"""Late data on real parts: a day is declared complete, a record of it arrives, nobody is misled."""

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.care.finalize import finalize
from penstock.care.retire import retire_old
from penstock.cli.main import main
from penstock.feeds.feed_upkeep import Caring
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import FeedSpec, FinalizeSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import AROUND, NOON_MS, audit_deep, event, feed_tools, mixed_feed

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "completeness"
YESTERDAY = datetime.fromtimestamp(NOON_MS / 1000, UTC).date().isoformat()
CONFIG = """\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{}"}}
feeds:
  events: {{topics: [{}], finalize: {{}}}}
"""


def run(spark: SparkSession, kafka: EmbeddedKafka, lake: Path, feed: FeedSpec) -> list[Event]:
    """`penstock run --once`, in this process, with what the run does beside its loop."""
    found: list[Event] = []
    tools = feed_tools(spark, {"bootstrap.servers": kafka.bootstrap}, LocalStore(lake), AROUND)
    tools = dataclasses.replace(tools, caring=Caring(finalize=finalize, retire=retire_old))
    once = RunSpec(once=True, take_over=True)
    assert Runner((feed,), tools, found.append, lambda: False, once).run() == 0
    return found


def test_a_late_record_of_a_complete_day_is_delivered_and_marked(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both partitions are read to their end today, so yesterday is over; then a record comes."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "penstock.yaml").write_text(CONFIG.format(kafka.bootstrap, TOPIC))
    lake = tmp_path / "lake"
    client.create_topic(TOPIC, partitions=2)
    client.produce(TOPIC, 0, [event("click", n) for n in range(20)])
    feed = mixed_feed(TOPIC, finalize=FinalizeSpec(delay_s=0.0))
    first = run(spark, kafka, lake, feed)
    assert [each.facts["directories"] for each in first if each.name == "finalized"][-1:] == [1]
    directory = lake / "events" / "click" / f"day={YESTERDAY}"
    complete = json.loads((directory / "_SUCCESS").read_text())
    assert main(["wait", "events", "--complete", YESTERDAY, "--timeout", "0s"]) == 0
    client.produce(TOPIC, 1, [event("click", 100), event("click", 101), event("order", 102)])
    second = run(spark, kafka, lake, feed)
    [told] = [each for each in second if each.name == "late_rows" and each.facts["rows"] == 2]
    late = json.loads((directory / "_LATE").read_text())
    assert (late["rows"], late["window"]) == (2, told.facts["window"])
    assert complete["entry"] < late["entry"]
    assert main(["status", "events"]) == 0
    assert main(["files", "events/click", "--day", YESTERDAY]) == 0
    receipt = audit_deep(spark, kafka, lake)
    assert receipt.differences == ()
