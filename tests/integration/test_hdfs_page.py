"""The section about HDFS of docs/stores.md: its configuration, commands and programs, on HDFS."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kafka_client import KafkaClient
from tests.docs.shell import STORES, blocks, unshown
from tests.helpers.hdfs_servers import site_of
from tests.integration.page_topic import fill_topic_of_pages

pytestmark = pytest.mark.xdist_group("kafka")

_, HEADING, REST = STORES.read_text(encoding="utf-8").partition("## A lake on HDFS")
TEXT = HEADING + REST.partition("\n## ")[0]


def pasted(command: list[str], place: Path, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, timeout=900,
        check=False,
    )  # fmt: skip
    assert ran.returncode == 0, f"{command}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
    return ran.stdout


@pytest.mark.timeout(1200)
def test_the_section_about_hdfs_does_what_it_says(
    kafka: EmbeddedKafka, client: KafkaClient, hdfs: EmbeddedHdfs, tmp_path: Path
) -> None:
    """Goal: a stranger gets from nothing to a lake on HDFS. Method: paste every block.

    The name service of the page is that of the files in `HADOOP_CONF_DIR`.
    """
    fill_topic_of_pages(client)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HADOOP_CONF_DIR": str(site_of(hdfs, "lakes", tmp_path / "conf")),
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }
    config = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "penstock.yaml").write_text(config)
    for block in blocks(TEXT, STORES.name):
        if not block.why_not:
            printed = pasted(["/bin/sh", "-e", "-c", block.text], tmp_path, environment)
            assert unshown(block.shown, printed) == "", f"{block.text}\n{printed}"
    programs = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    answers = [pasted([sys.executable, "-c", each], tmp_path, environment) for each in programs]
    assert [answer.split()[0] for answer in answers[:1]] == ["251"]
    assert all("2026-11-03" in answer and " 44" in answer for answer in answers[1:])
    assert len(answers) == 3
