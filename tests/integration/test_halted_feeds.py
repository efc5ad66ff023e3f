"""Halted feeds on real parts: one process halts, others show why, and a person lets it go on."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import event

pytestmark = pytest.mark.xdist_group("kafka")

TOPIC = "halted-feeds"
CONFIG = """\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark: {{spark.master: "local[2]"}}
feeds:
  untimed:
    topics: [halted-feeds]
    route: {{by: "field:type"}}
    time: {{field: evnet_time, unit: ms}}
  misspelt: {{topics: [halted-fedes]}}
"""


def penstock(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=180, check=False
    )


def rows(ran: subprocess.CompletedProcess[str], code: int = 0) -> list[dict[str, Any]]:
    assert ran.returncode == code, ran.stderr[-2000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_feeds_that_halt_are_shown_by_other_processes_and_go_on_when_a_person_says_so(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: a wrong time field and a wrong topic are red everywhere, although both are small."""
    client.create_topic(TOPIC, partitions=2)
    records = [event("click", number) for number in range(60)]
    for partition in (0, 1):
        client.produce(TOPIC, partition, records)
    (tmp_path / "penstock.yaml").write_text(CONFIG.format(bootstrap=kafka.bootstrap))
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 5, ran.stderr[-2000:]
    assert "QUARANTINE_RATIO: 120 of 120 records" in ran.stderr
    assert f"for example TIME_MISSING at {TOPIC}/0/0" in ran.stderr
    assert "TOPIC_MISSING: Topic 'halted-fedes'" in ran.stderr

    shown = rows(penstock(tmp_path, "status", "--output", "json"), code=5)
    found = {row["feed"]: row for row in shown}
    assert {row["state"] for row in found.values()} == {"halted"}
    assert found["misspelt"]["halted"]["code"] == "TOPIC_MISSING"
    halt = found["untimed"]["halted"]
    assert (halt["code"], halt["reasons"]) == ("QUARANTINE_RATIO", {"TIME_MISSING": 120})
    assert [(each["first"], each["last"]) for each in halt["groups"]] == [
        (f"{TOPIC}/0/0", f"{TOPIC}/1/59")
    ]
    checked = {
        row["what"]: row for row in rows(penstock(tmp_path, "check", "--output", "json"), code=5)
    }
    assert checked["feed untimed"]["state"] == "halted"
    listed = rows(penstock(tmp_path, "errors", "list", "untimed", "--halted", "--output", "json"))
    assert [(group["reason"], group["count"]) for group in listed] == [("TIME_MISSING", 120)]
    assert {base64.b64decode(each["value_base64"]) for each in listed[0]["records"]} <= set(records)

    accept = ("errors", "accept", "untimed", "--reason", "known", "--output", "json")
    [accepted] = rows(penstock(tmp_path, *accept))
    assert [(each["start"], each["end"]) for each in accepted["ranges"]] == [(0, 60), (0, 60)]
    ran = penstock(tmp_path, "run", "untimed", "--once")
    assert ran.returncode == 0, ran.stderr[-2000:]
    [row] = rows(penstock(tmp_path, "status", "untimed", "--output", "json"))
    assert (row["state"], row["halted"], row["counts"]["quarantined"]) == ("stopped", None, 120)
    assert list((tmp_path / "lake" / "_penstock" / "untimed" / "halted").glob("*")) == []
    assert penstock(tmp_path, "audit", "untimed").returncode == 0
