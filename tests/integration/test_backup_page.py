"""docs/backup.md from top to bottom: its commands, its configuration and its program."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.config.backup_feeds import backup_warnings
from penstock.config.example import example_text
from penstock.config.load import load
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.docs.shell import BACKUP, OPERATE, blocks_of
from tests.integration.lakes import data_files
from tests.integration.odd_records import compare_bytes
from tests.integration.page_topic import NAME, fill_topic_of_pages

pytestmark = pytest.mark.xdist_group("kafka")


def of_kind(kind: str) -> str:
    """The only block of a kind."""
    text = BACKUP.read_text(encoding="utf-8")
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(found)


def test_the_pair_of_the_page_is_the_one_that_init_writes(tmp_path: Path) -> None:
    feeds = {}
    for name, text in (("page", of_kind("yaml")), ("init", example_text(with_backup=True))):
        (tmp_path / name).write_text(text)
        feeds[name] = {feed.name: feed for feed in load(tmp_path / name, {}).feeds}
    assert feeds["page"]["raw_events"] == feeds["init"]["raw_events"]
    assert feeds["page"]["events"].backup == feeds["init"]["events"].backup == "raw_events"
    every = feeds["init"].values()
    assert list(backup_warnings(feeds["init"]["events"], every)) == []


@pytest.mark.timeout(600)
def test_the_page_about_backups_does_what_it_says(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: a stranger gets a byte-exact backup, and keeps it running. Method: paste every block,
    those of docs/operate.md too."""
    fill_topic_of_pages(client)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }

    def run(command: list[str]) -> str:
        ran = subprocess.run(
            command,
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        return ran.stdout

    pages = [*blocks_of(BACKUP), *blocks_of(OPERATE)]
    for block in (each for each in pages if not each.why_not):
        told = run(["/bin/sh", "-e", "-c", block.text])
        assert "its backup" not in told
    pair = (tmp_path / "penstock.yaml").read_text()
    (tmp_path / "penstock.yaml").write_text(pair.replace("tombstones: keep", "tombstones: filter"))
    told = run(["penstock", "check"])
    assert "its backup 'raw_events' leaves out records without a value" in told
    assert run([sys.executable, "-c", of_kind("python")]) == "2000 records\n"
    seen = compare_bytes(data_files(tmp_path / "lake", "raw_events"), client, NAME)
    assert seen["all"] == 2000
    assert seen["null value"] > 0
