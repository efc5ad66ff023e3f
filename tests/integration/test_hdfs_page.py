"""The section about HDFS in docs/stores.md from top to bottom, on a real name node and data nodes.

Its name service is one of a `HADOOP_CONF_DIR`. Commands run with the rights that the page asks for,
as the owner of the lake's directory, and its programs as somebody who may read it.
"""

import os
import re
import sys
from pathlib import Path

import pytest
from hdfs_native import Client

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.hdfs_server import EmbeddedHdfs
from penstock.testing.kafka_client import KafkaClient
from tests.docs.shell import STORES, blocks
from tests.helpers.hdfs_servers import site_of
from tests.integration.page_reader import Paster
from tests.integration.page_topic import fill_topic_of_pages

pytestmark = [pytest.mark.certify, pytest.mark.xdist_group("kafka"), pytest.mark.timeout(1800)]

TEXT = STORES.read_text(encoding="utf-8").split("## A lake on HDFS")[1].split("\n## ")[0]
OWNER = "etl"
SOMEBODY = "bi"
SERVICE = "lakes"


def fenced(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_the_section_about_hdfs_does_what_it_says(
    kafka: EmbeddedKafka, client: KafkaClient, hdfs: EmbeddedHdfs, tmp_path: Path
) -> None:
    """Goal: a stranger gets from nothing to a lake on HDFS. Method: paste every block."""
    fill_topic_of_pages(client)
    superuser = Client(hdfs.url)
    superuser.mkdirs("/shop", 0o755)
    superuser.set_owner("/shop", OWNER)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HADOOP_CONF_DIR": str(site_of(hdfs, SERVICE, tmp_path / "site")),
        "HADOOP_USER_NAME": OWNER,
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }
    reader = Paster(tmp_path, environment)
    (config,) = fenced("yaml")
    (tmp_path / "penstock.yaml").write_text(config)
    for block in blocks(TEXT, STORES.name):
        if not block.why_not:
            reader.run_block(block)

    counted, duckdb, spark = (
        reader.run([sys.executable, "-c", program], HADOOP_USER_NAME=SOMEBODY)
        for program in fenced("python")
    )
    assert counted.split()[0] == "251"
    assert all("2026-11-03" in answer and " 44" in answer for answer in (duckdb, spark))
    owners = {each.owner for each in superuser.list_status("/shop", recursive=True)}
    assert owners == {OWNER}
