"""The commands as a user types them: init, run, status, files."""

import json
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
spark: {{spark.master: "local[2]"}}
feeds:
  events:
    topics: [commands]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
"""


def penstock(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a directory."""
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=180, check=False
    )


def test_a_user_goes_from_a_topic_to_files(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic("commands", partitions=1)
    client.produce("commands", 0, [an_event(n) for n in range(90)])
    (tmp_path / "penstock.yaml").write_text(CONFIG.format(bootstrap=kafka.bootstrap))
    early = penstock(tmp_path, "status")
    assert early.returncode == 2
    assert "penstock run" in early.stderr
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 0, ran.stderr[-2000:]
    status = penstock(tmp_path, "status", "--output", "json")
    row = json.loads(status.stdout)
    assert (row["watermark"], row["undone"], row["parked"]) == ({"commands": {"0": 90}}, 0, {})
    assert (row["lag_records"], row["owner_state"]) == (0, "stopped")
    assert client.group_offsets("penstock-events", "commands") == {0: 90}
    files = penstock(tmp_path, "files", "events/click").stdout.splitlines()
    assert files
    assert all((tmp_path / "lake" / file).is_file() for file in files)


def test_init_writes_a_file_once(tmp_path: Path) -> None:
    assert penstock(tmp_path, "init").returncode == 0
    written = (tmp_path / "penstock.yaml").read_text()
    again = penstock(tmp_path, "init")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    assert (tmp_path / "penstock.yaml").read_text() == written


def test_mistakes_in_the_file_are_told_together_and_nothing_starts(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text("version: 1\nlake: 7\nfeedz: {}\n")
    ran = penstock(tmp_path, "run", "--once")
    assert ran.returncode == 2
    assert "CONFIG_INVALID" in ran.stderr
    assert "feedz" in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["penstock.yaml"]
