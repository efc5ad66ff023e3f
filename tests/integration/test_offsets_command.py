"""`check` and `offsets` on a real broker, then the feed goes on: compared with another consumer."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from penstock.cli.main import main
from penstock.model.entries import Gap, Rebind, Seek
from penstock.protocol.journal.lake_identity import LAKE_KEY
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.servers import free_ports
from tests.integration.desks import Desk
from tests.integration.lakes import an_event

pytestmark = pytest.mark.xdist_group("kafka")


def held(client: KafkaClient, topic: str) -> Counter[tuple[int, int]]:
    """What an independent consumer finds."""
    return Counter((record.partition, record.offset) for record in client.read_all(topic))


def test_check_tells_what_is_there_and_what_comes_next_and_leaves_no_trace(
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.create_topic("off-check", partitions=2)
    client.produce("off-check", 1, [an_event(n) for n in range(30)])
    desk = Desk(tmp_path, kafka.bootstrap, "off-check, off-absent").watched_by(capsys)
    code, rows, err = desk.types("check")
    assert (code, err) == (5, "")  # as `run --once` would end
    states = {str(row["what"]): row["state"] for row in rows}
    assert states == {
        "file": "ok", "java": "ok", "jars": "ok", "lake": "ok", "kafka": "ok",
        "feed events": "halted",
    }  # fmt: skip
    assert kafka.cluster_id in str(rows[4]["found"])
    assert "'off-absent' does not exist" in str(rows[5]["found"])
    parts = rows[5]["partitions"]
    assert isinstance(parts, list)
    assert [(p["partition"], p["start"], p["next_records"]) for p in parts] == [
        (0, 0, 0),
        (1, 0, 30),
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["penstock.yaml"]
    assert main(["check", "-c", str(desk.config)]) == 5
    assert "next window: 30 records of 1 partition" in capsys.readouterr().out


def test_a_feed_that_never_ran_has_no_offsets_and_says_so(
    kafka: EmbeddedKafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(tmp_path, kafka.bootstrap, "off-never").watched_by(capsys)
    (desk.lake / LAKE_KEY).parent.mkdir(parents=True)
    (desk.lake / LAKE_KEY).write_text('{"format": 1, "id": "x"}')
    word = ["--reason", "test", "--execute"]
    for words in (["show", "events"], ["reset", "events", "--to-latest", *word]):
        code, _, err = desk.types("offsets", *words)
        assert code == 2
        assert "never run" in err


def test_reset_shows_first_then_skips_by_name_and_never_goes_back_over_delivered_offsets(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.create_topic("off-reset", partitions=2)
    for partition in (0, 1):
        client.produce("off-reset", partition, [an_event(n) for n in range(60)])
    desk = Desk(tmp_path, kafka.bootstrap, "off-reset").watched_by(capsys)
    assert desk.runs(spark, kafka)[0] == 0
    client.produce("off-reset", 0, [an_event(n) for n in range(40)])
    _, shown, _ = desk.types("offsets", "show", "events")
    assert [(r["start"], r["watermark"], r["log_end"], r["lag"]) for r in shown] == [
        (0, 60, 100, 40),
        (0, 60, 60, 0),
    ]
    assert shown[0]["last_window"]

    words = ["offsets", "reset", "events", "--topic", "off-reset:0", "--to-offset", "85"]
    before = desk.last_body()
    code, rows, err = desk.types(*words)
    assert (code, desk.last_body()) == (0, before)
    assert [(r["from"], r["to"], r["skipped"], r["entry"]) for r in rows] == [(60, 85, 25, None)]
    assert "dry run" in err

    word = ["--execute", "--author", "ann", "--reason", "bad deploy"]
    code, rows, _ = desk.types("offsets", "reset", "events", "--to-earliest", *word)
    assert (code, desk.last_body()) == (2, before)
    assert [str(r["note"]) for r in rows] == ["refused: delivered up to 60"] * 2

    code, rows, _ = desk.types(*words, *word)
    assert code == 0
    assert rows[0]["entry"] is not None
    body = desk.last_body()
    assert isinstance(body, dict)
    assert body["kind"] == Seek.__struct_config__.tag
    assert (body["from_offset"], body["to_offset"]) == (60, 85)
    assert (body["author"], body["reason"]) == ("ann", "bad deploy")

    code, rows, _ = desk.types(
        "offsets", "reset", "events", "--to-datetime", "2100-01-01T00:00:00Z"
    )
    assert (code, [(r["to"], r["skipped"]) for r in rows]) == (0, [(100, 15), (60, 0)])

    assert desk.runs(spark, kafka)[0] == 0
    skipped = Counter((0, offset) for offset in range(60, 85))
    assert desk.positions() == held(client, "off-reset") - skipped


def test_a_gap_stops_the_feed_until_its_range_is_accepted_by_name(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    client.create_topic("off-gap", partitions=2)
    for partition in (0, 1):
        client.produce("off-gap", partition, [an_event(n) for n in range(30)])
    desk = Desk(tmp_path, kafka.bootstrap, "off-gap").watched_by(capsys)
    assert desk.runs(spark, kafka)[0] == 0
    word = ["--reason", "late", "--execute"]
    assert desk.types("offsets", "accept-gap", "events", *word)[:2] == (0, [])
    delivered = desk.positions()
    for partition in (0, 1):
        client.produce("off-gap", partition, [an_event(n) for n in range(40)])
        client.delete_records("off-gap", partition, 50 + partition)
    code, rows, _ = desk.types("check")
    assert (code, rows[-1]["state"]) == (5, "halted")
    assert "GAP" in str(rows[-1]["found"])

    lost = [(0, 30, 50, 20), (1, 30, 51, 21)]
    code, rows, err = desk.types("offsets", "accept-gap", "events")
    assert code == 0
    assert [(r["partition"], r["from"], r["to"], r["lost"]) for r in rows] == lost
    assert "dry run" in err
    assert desk.runs(spark, kafka)[0] == 5

    code, rows, _ = desk.types("offsets", "accept-gap", "events", *word)
    assert (code, len({r["entry"] for r in rows})) == (0, 2)
    body = desk.last_body()
    assert isinstance(body, dict)
    assert (body["kind"], body["reason"]) == (Gap.__struct_config__.tag, "late")
    assert desk.runs(spark, kafka)[0] == 0
    assert desk.positions() == delivered + held(client, "off-gap")


def test_a_recreated_topic_is_read_from_its_new_beginning_once_somebody_rebinds_it(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    client: KafkaClient,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    old_id = client.create_topic("off-again", partitions=1)
    client.produce("off-again", 0, [an_event(n) for n in range(20)])
    desk = Desk(tmp_path, kafka.bootstrap, "off-again").watched_by(capsys)
    assert desk.runs(spark, kafka)[0] == 0
    delivered = desk.positions()
    words = ["offsets", "rebind", "events", "--topic", "off-again"]
    word = ["--author", "ann", "--reason", "moved", "--execute"]
    code, _, err = desk.types(*words, *word)
    assert code == 2
    assert "was not recreated" in err

    client.delete_topic("off-again")
    new_id = client.create_topic("off-again", partitions=2)
    for partition in (0, 1):
        client.produce("off-again", partition, [an_event(n) for n in range(35)])
    tree = sorted(desk.lake.rglob("*"))
    code, rows, _ = desk.types("check")
    assert code == 5
    assert "TOPIC_REPLACED" in str(rows[-1]["found"])
    assert sorted(desk.lake.rglob("*")) == tree
    assert desk.types("offsets", "reset", "events", "--to-latest")[0] == 5
    shown = desk.types("offsets", "show", "events")[1]
    assert new_id in str(shown[0]["note"])

    before = desk.last_body()
    code, rows, _ = desk.types(*words)
    assert [(r["partition"], r["start"], r["log_end"]) for r in rows] == [(0, 0, 35), (1, 0, 35)]
    assert (code, desk.last_body()) == (0, before)
    assert desk.types(*words, *word)[0] == 0
    body = desk.last_body()
    assert isinstance(body, dict)
    assert body["kind"] == Rebind.__struct_config__.tag
    assert (body["old_id"], body["new_id"], body["author"]) == (old_id, new_id, "ann")
    assert desk.runs(spark, kafka)[0] == 0
    assert desk.positions() == delivered + held(client, "off-again")


def test_kafka_that_does_not_answer_is_told_in_a_sentence_and_the_rest_is_still_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = f"127.0.0.1:{free_ports(1, Random())[0]}"
    limits = ', default.api.timeout.ms: "1500", request.timeout.ms: "1000"'
    desk = Desk(tmp_path, server, "x", limits).watched_by(capsys)
    code, rows, err = desk.types("check")
    assert code == 1
    assert err.startswith(f"waiting for Kafka at {server}: no server accepts a connection")
    assert err.count("\n") == 1
    states = {str(row["what"]): row["state"] for row in rows}
    assert (states["kafka"], states["lake"], states["feed events"]) == ("failed", "ok", "ok")
    sentence = str(rows[4]["found"])
    assert "KAFKA_UNAVAILABLE" in sentence
    assert server in sentence
    assert "TimeoutException" in sentence
    assert "\\tat " not in sentence


def test_ctrl_c_ends_a_command_and_its_jvm_without_a_trace(tmp_path: Path) -> None:
    """Goal: nothing is left of it. Method: interrupt it while it waits for a server."""
    desk = Desk(tmp_path, f"127.0.0.1:{free_ports(1, Random())[0]}", "x")
    command = [sys.executable, "-m", "penstock", "check", "-c", str(desk.config)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        jvm = _child_of(running.pid)
        time.sleep(1.5)  # until it waits for Kafka
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=90)
    assert running.returncode == 1, out + err
    assert "Traceback" not in err
    assert "interrupted" in out + err
    with pytest.raises(ProcessLookupError):
        os.kill(jvm, 0)


def _child_of(parent: int) -> int:
    """The JVM that a command started to talk to Kafka."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            if "py4j.GatewayServer" in Path(f"/proc/{child}/cmdline").read_text():
                return int(child)
        time.sleep(0.05)
    raise AssertionError("the command started no JVM")
