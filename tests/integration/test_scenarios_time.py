"""S27 and S28: every way to write a time lands in the right directory, or where the policy says.

The expected directory is computed by Python's own `datetime`, record by record. Sixteen threads
on the pure function are in `tests/unit/datapath/shape/event_time/test_event_time.py`.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import SparkSession

from penstock.model.spec import FeedSpec, PartitionKey, QuarantineSpec, TimeSpec
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record
from tests.integration.lakes import Landed, landed, run_feeds

pytestmark = pytest.mark.xdist_group("kafka")

BERLIN = "Europe/Berlin"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = {
    "plain": datetime(2026, 3, 3, 7, 5, 9, 123456, tzinfo=UTC),
    "before New Year in UTC, after it in Berlin": datetime(2025, 12, 31, 23, 59, 59, 999999, UTC),
    "New Year in UTC": datetime(2026, 1, 1, tzinfo=UTC),
    "last second before New Year in Berlin": datetime(2025, 12, 31, 22, 59, 59, tzinfo=UTC),
    "the hour that spring leaves out": datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC),
    "after it": datetime(2026, 3, 29, 1, 0, tzinfo=UTC),
    "the hour that autumn has twice, first": datetime(2025, 10, 26, 0, 30, tzinfo=UTC),
    "the same hour again": datetime(2025, 10, 26, 1, 30, tzinfo=UTC),
    "a leap day": datetime(2024, 2, 29, 23, 30, tzinfo=UTC),
}  # fmt: skip


def notations(moment: datetime) -> dict[str, object]:
    """One moment in every way that `auto` reads, each exact to the second at least."""
    micros = (moment - EPOCH) // timedelta(microseconds=1)
    local = moment.astimezone(ZoneInfo("America/St_Johns"))  # half an hour off the others
    return {
        "s": micros // 10**6,
        "ms": micros // 10**3,
        "us": micros,
        "ns": micros * 1000 + 7,
        "text of s": str(micros // 10**6),
        "iso": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "iso with nanos": moment.strftime("%Y-%m-%dT%H:%M:%S.%f") + "789Z",
        "iso with an offset": local.isoformat(),
    }


def expected(moment: datetime, zone: str) -> str:
    """The directory of a moment."""
    local = moment.astimezone(ZoneInfo(zone))
    return f"day={local:%Y-%m-%d}/hour={local:%H}"


def a_feed(name: str, topic: str, **time: Any) -> FeedSpec:
    """One dataset, by day and hour; bad ones never stop it."""
    return FeedSpec(
        name=name,
        topics=(topic,),
        time=TimeSpec(**time),
        partition=(PartitionKey("day"), PartitionKey("hour")),
        quarantine=QuarantineSpec(min_records=1_000_000),
    )


def test_s27_every_notation_lands_in_its_hour_in_any_zone(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Three feeds on one topic: a nested field in UTC and in Berlin, and Kafka's own timestamp."""
    client.create_topic("notations", config={"retention.ms": "-1"})  # these are old records
    told = [
        (moment, name, value)
        for moment in MOMENTS.values()
        for name, value in notations(moment).items()
    ]
    records = [
        Record(
            json.dumps({"n": n, "how": name, "meta": {"at": value, "by": f"u{n}"}}).encode(),
            timestamp_ms=(moment - EPOCH) // timedelta(milliseconds=1),
        )
        for n, (moment, name, value) in enumerate(told)
    ]
    client.produce("notations", 0, records)
    zones = {"utc": "UTC", "berlin": BERLIN, "kafka": BERLIN}
    feeds = [
        a_feed(name, "notations", field="" if name == "kafka" else "meta.at", zone=zone)
        for name, zone in zones.items()
    ]
    code, said = run_feeds(spark, kafka, LocalStore(tmp_path), *feeds)
    assert code == 0, said
    directories: dict[str, set[str]] = {}
    for name, zone in zones.items():
        found = landed(tmp_path, client, "notations", feed=name)
        assert len(found.data) == len(told)
        directories[name] = {row.below for row in found.data.values()}
        for (_, _, offset), row in found.data.items():
            moment, how, value = told[offset]
            assert row.below == expected(moment, zone), (how, value)
    utc, berlin = directories["utc"], directories["berlin"]
    assert directories["kafka"] == berlin
    # 02:00 is left out in spring and comes twice in autumn; Berlin's new year begins at 23:00 UTC.
    assert "day=2026-03-29/hour=02" not in berlin
    assert {"day=2026-03-29/hour=01", "day=2026-03-29/hour=03"} <= berlin
    assert {"day=2025-10-26/hour=00", "day=2025-10-26/hour=01"} <= utc
    assert {d for d in berlin if "2025-10-26" in d} == {"day=2025-10-26/hour=02"}
    assert len(utc) == 9
    assert len(berlin) == 8


def test_s28_times_that_are_missing_or_not_believed_follow_the_policy(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("unbelieved", config={"retention.ms": "-1"})
    now = datetime.now(UTC)
    sent = now - timedelta(days=40)
    values: list[tuple[dict[str, object], str]] = [
        ({"at": now.isoformat()}, "good"),
        ({}, "TIME_MISSING"),
        ({"at": None}, "TIME_MISSING"),
        ({"at": "yesterday"}, "TIME_UNREADABLE"),
        ({"at": {"s": 1}}, "TIME_UNREADABLE"),
        ({"at": True}, "TIME_UNREADABLE"),
        ({"at": (now + timedelta(days=30)).isoformat()}, "TIME_TOO_LATE"),
        ({"at": "9999-12-31T23:59:59Z"}, "TIME_TOO_LATE"),
        ({"at": "1969-12-31T23:59:59Z"}, "TIME_TOO_EARLY"),
        ({"at": (now + timedelta(days=1)).isoformat()}, "good"),
    ]
    client.produce(
        "unbelieved",
        0,
        [
            Record(json.dumps({"n": n} | said).encode(), timestamp_ms=int(sent.timestamp() * 1000))
            for n, (said, _) in enumerate(values)
        ],
    )
    policies = {"refuses": "quarantine", "asks-kafka": "kafka", "stands-in": "2001-02-03"}
    feeds = [
        a_feed(name, "unbelieved", field="at", missing=missing)
        for name, missing in policies.items()
    ]
    code, said = run_feeds(spark, kafka, LocalStore(tmp_path), *feeds)
    assert code == 0, said
    for name, stand_in in (
        ("refuses", None),
        ("asks-kafka", expected(sent, "UTC")),
        ("stands-in", "day=2001-02-03/hour=00"),
    ):
        found = landed(tmp_path, client, "unbelieved", feed=name)
        for offset, (_, fate) in enumerate(values):
            _check_fate(found, offset, fate, stand_in)


def _check_fate(found: Landed, offset: int, fate: str, stand_in: str | None) -> None:
    """Good ones are data; a missing one goes where the stand-in says; a wrong one never does."""
    place = ("unbelieved", 0, offset)
    if fate == "good":
        assert place in found.data
    elif fate == "TIME_MISSING" and stand_in is not None:
        assert found.data[place].below == stand_in
    else:
        assert found.refused[place]["reason"] == fate
