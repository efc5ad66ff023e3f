"""Runs against a secured Kafka: Spark's tasks get the same settings, and no secret shows up."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
import yaml
from pyspark.sql import SparkSession

from penstock.api.source import SourceTools
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.ports.source.errors import KafkaRefused, LoginRefused, NotAuthorized
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.testing.contracts.source import read, rows
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.kafka_users import KafkaUsers, Right
from penstock.testing.secured_broker import LOGIN, SecuredKafka
from tests.integration.secured_clients import by_certificate, by_password, by_token, revealed

pytestmark = pytest.mark.xdist_group("kafka")

WAIT_S = 30.0
CANARIES = {"SCRAM_PASSWORD": "canary-4711-scram", "CLIENT_SECRET": "canary-4712-oauth"}
CANARY = "canary-471"


@pytest.fixture(scope="module")
def users(secured: SecuredKafka) -> KafkaUsers:
    return KafkaUsers(secured.kafka.bootstrap)


@pytest.fixture(scope="module")
def client(secured: SecuredKafka) -> KafkaClient:
    return KafkaClient(secured.kafka.bootstrap)


def until_read(source: KafkaSource, covered: OffsetRange) -> int:
    """How many records a read brings, once rights and passwords have reached the broker."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            source.look()
            return len(rows(read(source, covered)))
        except KafkaRefused:
            if time.monotonic() > deadline:
                raise


def refused(source: KafkaSource, covered: OffsetRange) -> KafkaRefused:
    """Why the tasks are refused, once what was taken has reached the broker."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            read(source, covered)
        except KafkaRefused as error:
            return error
        assert time.monotonic() < deadline, "the read goes on working"


def test_tasks_are_refused_by_name_and_read_again_when_it_is_mended(
    spark: SparkSession,
    secured: SecuredKafka,
    users: KafkaUsers,
    client: KafkaClient,
    tmp_path: Path,
) -> None:
    """K19. Method: take the right to read in mid-run, then rotate the password."""
    topic_id = client.create_topic("tasks")
    client.produce("tasks", 0, [b"{}"] * 7)
    file = tmp_path / "password"
    file.write_text("canary-4713-old")
    users.set_password("tasks", "canary-4713-old")
    users.allow("tasks", Right.on_topic("tasks", "READ", "DESCRIBE"))
    settings = by_password(secured, "tasks", f"${{file:{file}}}")
    options = partial(revealed, settings)
    source = KafkaSource(
        FeedSpec(name="tasks", topics=("tasks",)),
        SourceTools(lambda: spark, options(), options_now=options),
    )
    covered = OffsetRange("tasks", topic_id, 0, 0, 7)
    try:
        assert until_read(source, covered) == 7
        users.revoke("tasks", Right.on_topic("tasks", "READ"))
        error = refused(source, covered)
        assert isinstance(error, NotAuthorized)
        assert error.names == ("tasks",)
        assert error.while_reading
        users.allow("tasks", Right.on_topic("tasks", "READ"))
        assert until_read(source, covered) == 7

        users.set_password("tasks", "canary-4714-new")
        error = refused(source, covered)
        assert isinstance(error, LoginRefused)
        assert CANARY not in str(error)
        file.write_text("canary-4714-new")
        assert until_read(source, covered) == 7
    finally:
        source.close()


@pytest.fixture(scope="module")
def configured(
    secured: SecuredKafka,
    users: KafkaUsers,
    client: KafkaClient,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A directory with a file of three feeds, each with its own way to log in."""
    place = tmp_path_factory.mktemp("secured-run")
    users.set_password("run-scram", CANARIES["SCRAM_PASSWORD"])
    secured.tokens.clients["run-token"] = CANARIES["CLIENT_SECRET"]
    key = secured.ca.sign("run-cert")
    for name in ("by_scram", "by_token", "by_cert"):
        client.create_topic(name)
        client.produce(name, 0, [json.dumps({"n": n}).encode() for n in range(20)])
        user = name.replace("by_", "run-")
        users.allow(user, Right.on_topic(name, "READ", "DESCRIBE"))
    users.allow("run-cert", Right.on_group("penstock-by_cert", "READ"))
    kafka = by_password(secured, "run-scram", "${env:SCRAM_PASSWORD}")
    token = by_token(secured, "run-token", "${env:CLIENT_SECRET}")
    certificate = by_certificate(secured, key)
    events = place / "events"
    events.mkdir()
    spark = {
        "spark.master": "local[2]",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": events.as_uri(),
        "spark.eventLog.rolling.enabled": "false",
        "spark.eventLog.compress": "false",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
    }
    feeds = {
        "by_scram": {"topics": ["by_scram"]},
        "by_token": {"topics": ["by_token"], "kafka": token},
        "by_cert": {"topics": ["by_cert"], "kafka": certificate},
    }
    text = yaml.safe_dump(
        {"version": 1, "lake": "./lake", "kafka": kafka, "spark": spark, "feeds": feeds}
    )
    (place / "penstock.yaml").write_text(text)
    return place


@pytest.fixture
def command_lines() -> Iterator[set[str]]:
    """Every command line that any process of this machine has while the test runs."""
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.1):
            for path in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    seen.add(path.read_text(errors="replace"))
                except OSError:
                    continue

    thread = threading.Thread(target=look)
    thread.start()
    yield seen
    over.set()
    thread.join()


def penstock(place: Path, *words: str, **secrets: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *words],
        cwd=place, capture_output=True, text=True, timeout=240, check=False,
        env={**os.environ, **CANARIES, **secrets, "XDG_STATE_HOME": str(place / "state")},
    )  # fmt: skip


def found(place: Path, *words: str, **secrets: str) -> dict[str, Any]:
    done = penstock(place, *words, "--output", "json", **secrets)
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return {row["what"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_three_feeds_with_their_own_logins_are_delivered_and_no_secret_shows(
    configured: Path, client: KafkaClient, command_lines: set[str]
) -> None:
    checked = found(configured, "check")
    assert {row["state"] for row in checked.values()} == {"ok", "warning"}
    for feed in ("by_scram", "by_token"):
        told = " ".join(checked[f"feed {feed}"]["found"])
        assert "next window: 20 records" in told
        assert f"may not use the group 'penstock-{feed}'" in told
    assert checked["feed by_cert"]["state"] == "ok"

    ran = penstock(configured, "run", "--once")
    assert ran.returncode == 0, ran.stderr[-3000:]
    for feed in ("by_scram", "by_token", "by_cert"):
        files = ds.dataset(configured / "lake" / feed / feed, format="parquet")
        assert sorted(files.to_table(["n"])["n"].to_pylist()) == list(range(20))
    assert client.group_offsets("penstock-by_cert", "by_cert") == {0: 20}
    warned = [line for line in ran.stderr.splitlines() if "could not be exported" in line]
    assert len(warned) == 2, ran.stderr
    assert all("KAFKA_NOT_AUTHORIZED" in line for line in warned)

    shown = [ran.stdout, ran.stderr, *command_lines]
    shown += [penstock(configured, words).stdout for words in ("status",)]
    written = [path for path in configured.rglob("*") if path.is_file()]
    assert any(path.parent.name == "events" for path in written)
    shown += [path.read_bytes().decode(errors="replace") for path in written]
    log = next((configured / "events").iterdir()).read_text()
    assert "by_scram" in log, "the plans of the jobs are in the event log"
    assert [text[:300] for text in shown if CANARY in text] == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ({"SCRAM_PASSWORD": "canary-4719-wrong"}, "KAFKA_LOGIN"),
        ({"PENSTOCK__KAFKA__SECURITY_PROTOCOL": "SASL_PLAINTEXT"}, "KAFKA_PROTOCOL"),
        ({"PENSTOCK__KAFKA__SSL_TRUSTSTORE_LOCATION": "/no.pem"}, "KAFKA_SETTINGS"),
        ({"PENSTOCK__FEEDS__BY_SCRAM__TOPICS": "[by_token]"}, "KAFKA_NOT_AUTHORIZED"),
    ],
)
def test_a_check_names_what_is_wrong(
    words: dict[str, str], code: str, configured: Path, secured: SecuredKafka
) -> None:
    checked = found(configured, "check", **words)
    wrong = "feed by_scram" if code == "KAFKA_NOT_AUTHORIZED" else "kafka"
    assert checked[wrong]["state"] == "failed"
    assert checked[wrong]["exit_code"] == 1
    assert any(said.startswith(f"{code}: ") for said in checked[wrong]["found"])
    assert checked["kafka by_cert"]["state"] == "ok", "another feed's cluster is not harmed"
    assert secured.servers(LOGIN) in " ".join(checked["kafka by_token"]["found"])
