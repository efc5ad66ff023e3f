"""A task that cannot write says why in one line, in the store's own words; traces go to a log."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.integration.lakes import an_event

pytestmark = pytest.mark.xdist_group("processes")

CONFIG = """
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark: {{spark.master: "local[2]"{more}}}
feeds:
  events:
    topics: [task-errors]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
"""


def penstock(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory."""
    return subprocess.run(
        [sys.executable, "-m", "penstock", *words],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "XDG_STATE_HOME": str(directory / "state")},
    )


def test_a_disk_that_refuses_in_a_task_is_told_in_its_own_words(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Method: a file lies where the tasks' directory should be, which stops even root."""
    client.create_topic("task-errors", partitions=1)
    client.produce("task-errors", 0, [an_event(n) for n in range(90)])
    (tmp_path / "penstock.yaml").write_text(CONFIG.format(bootstrap=kafka.bootstrap, more=""))
    staging = tmp_path / "lake" / "_penstock" / "events" / "staging"
    staging.parent.mkdir(parents=True)
    staging.write_text("in the way")
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 1
    events = [json.loads(line) for line in ran.stderr.splitlines()]  # and nothing between them
    assert [event["event"] for event in events if event["level"] != "info"] == [
        "trouble",
        "trouble",
        "stopped",
    ]
    assert events[-1]["code"] == "STORE_UNAVAILABLE"
    assert "Not a directory" in events[-1]["message"]
    assert "\n" not in events[-1]["message"]
    logs = list((tmp_path / "state").rglob("*.log"))
    assert logs == [], "what is explained leaves no trace"
    staging.unlink()
    again = penstock(tmp_path, "run", "--once")
    assert again.returncode == 0, again.stderr[-2000:]
    assert penstock(tmp_path, "audit").returncode == 0


def test_a_job_that_fails_says_why_and_names_the_log_with_the_rest(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Method: a driver that takes no result of any task."""
    client.create_topic("task-results", partitions=1)
    client.produce("task-results", 0, [an_event(n) for n in range(30)])
    config = CONFIG.format(bootstrap=kafka.bootstrap, more=', spark.driver.maxResultSize: "1"')
    (tmp_path / "penstock.yaml").write_text(config.replace("task-errors", "task-results"))
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 1
    last = [json.loads(line) for line in ran.stderr.splitlines()][-1]  # and no trace between them
    assert last["code"] == "READ_FAILED"
    assert "is bigger than spark.driver.maxResultSize" in last["message"]
    (log,) = (tmp_path / "state").rglob("*.log")
    assert f"(the whole trace is in {log})" in last["message"]
    assert "maxResultSize" in log.read_text()


@pytest.mark.parametrize("words", [("check",), ("run", "--once")], ids=" ".join)
def test_a_dead_broker_is_told_before_anybody_gives_up_on_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    limits = ', default.api.timeout.ms: "4000", request.timeout.ms: "2000"'
    config = CONFIG.format(bootstrap="127.0.0.1:1", more="").replace(
        '127.0.0.1:1"', f'127.0.0.1:1"{limits}'
    )
    (tmp_path / "penstock.yaml").write_text(config)
    ran = penstock(tmp_path, *words)
    assert ran.returncode == 1, ran.stderr
    lines = [line for line in ran.stderr.splitlines() if "waiting for Kafka at" in line]
    assert len(lines) == 1, "told once, on a pipe too"
    assert "no server accepts a connection (Connection refused)" in lines[0]
    assert "Kafka's client gives up 4 s after it is asked" in lines[0]
    assert "KAFKA_UNAVAILABLE" in ran.stdout + ran.stderr


def test_what_nobody_can_explain_is_in_a_log_that_the_message_names(tmp_path: Path) -> None:
    """Method: settings with which Spark's JVM cannot start."""
    more = ', spark.driver.extraJavaOptions: "-javaagent:/no/such/agent.jar"'
    config = CONFIG.format(bootstrap="localhost:1", more=more)
    (tmp_path / "penstock.yaml").write_text(config)
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 2, ran.stderr
    (line,) = [line for line in ran.stderr.splitlines() if not line.startswith("{")]
    assert line.startswith("SPARK_FAILED: Spark did not start: ")
    assert "/no/such/agent.jar" in line
    (log,) = (tmp_path / "state").rglob("*.log")
    assert str(log) in line
    assert "/no/such/agent.jar" in log.read_text()
