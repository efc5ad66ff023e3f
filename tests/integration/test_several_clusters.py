"""S23: feeds of one file that read two clusters, with topics of one name: no cross-talk."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from penstock.spark.java import Java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient

pytestmark = pytest.mark.xdist_group("kafka")

WEST_ID = "UGVuc3RvY2tUZXN0cy0wMg"
TOPIC = "shared-name"
CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{east}", ssl.key.password: "${{env:EAST_PASSWORD}}"}}
spark: {{spark.master: "local[2]"}}
defaults: {{topics: [{topic}], route: {{by: topic}}}}
feeds:
  east: {{}}
  west:
    kafka: {{bootstrap.servers: "{west}", ssl.key.password: "${{env:WEST_PASSWORD}}",
      request.timeout.ms: 5000, default.api.timeout.ms: 5000}}
"""


@pytest.fixture
def west(tmp_path: Path, broker_jars: list[Path], java: Java) -> Iterator[EmbeddedKafka]:
    """A second cluster."""
    place = tmp_path / "west"
    with EmbeddedKafka(place, broker_jars, java.path, cluster_id=WEST_ID) as cluster:
        yield cluster


def penstock(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory."""
    secrets = {"EAST_PASSWORD": "east-secret", "WEST_PASSWORD": "west-secret"}
    done = subprocess.run(
        ["env", *(f"{name}={word}" for name, word in secrets.items()),
         sys.executable, "-m", "penstock", *words],
        cwd=directory, capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert not any(secret in done.stdout + done.stderr for secret in secrets.values())
    return done


def rows(directory: Path, *words: str) -> list[dict[str, Any]]:
    done = penstock(directory, *words, "--output", "json")
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def delivered(directory: Path, feed: str) -> dict[int, str]:
    """What an independent reader finds in the lake, by offset."""
    files = ds.dataset(directory / "lake" / feed / TOPIC, format="parquet")
    table = files.to_table(["_offset", "from"])
    found = dict(zip(*(table[name].to_pylist() for name in ("_offset", "from")), strict=True))
    assert len(found) == table.num_rows
    return found


def test_feeds_of_two_clusters_keep_apart_and_one_that_is_gone_harms_no_other(
    kafka: EmbeddedKafka, client: KafkaClient, west: EmbeddedKafka, tmp_path: Path
) -> None:
    other = KafkaClient(west.bootstrap)
    for each, name, count in ((client, "east", 30), (other, "west", 50)):
        each.create_topic(TOPIC, partitions=1)
        each.produce(TOPIC, 0, [json.dumps({"from": name}).encode()] * count)
    text = CONFIG.format(east=kafka.bootstrap, west=west.bootstrap, topic=TOPIC)
    (tmp_path / "penstock.yaml").write_text(text)

    checked = {row["what"]: " ".join(row["found"]) for row in rows(tmp_path, "check")}
    assert kafka.bootstrap in checked["kafka"]
    assert checked["kafka west"] == f"cluster {WEST_ID} at {west.bootstrap}"
    assert "next window: 30 records" in checked["feed east"]
    assert "next window: 50 records" in checked["feed west"]

    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert delivered(tmp_path, "east") == dict.fromkeys(range(30), "east")
    assert delivered(tmp_path, "west") == dict.fromkeys(range(50), "west")
    assert client.group_offsets("penstock-east", TOPIC) == {0: 30}
    assert other.group_offsets("penstock-west", TOPIC) == {0: 50}
    assert client.group_offsets("penstock-west", TOPIC) == {}
    lags = {row["feed"]: row["lag_records"] for row in rows(tmp_path, "status", "--live")}
    assert lags == {"east": 0, "west": 0}
    for receipt in rows(tmp_path, "audit", "--deep"):
        assert receipt["differences"] == []
        assert receipt["deep"]["kafka"]["agreed"] == {"east": 30, "west": 50}[receipt["feed"]]
    costs = {row["feed"]: row["records"] for row in rows(tmp_path, "cost")}
    assert costs == {"east": 30, "west": 50}

    west.stop()
    client.produce(TOPIC, 0, [json.dumps({"from": "east"}).encode()] * 5)
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 1
    assert west.bootstrap in ran.stderr
    assert delivered(tmp_path, "east") == dict.fromkeys(range(35), "east")
