"""docs/quickstart.md from top to bottom, as a user would paste it, against a real broker."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.docs.shell import QUICKSTART, blocks_of, unshown
from tests.integration.page_topic import fill_topic_of_pages

pytestmark = pytest.mark.xdist_group("kafka")


@pytest.mark.timeout(600)
def test_the_quickstart_does_what_it_says(
    kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    """Goal: a stranger can paste every line. Method: run each block in a shell that stops at the
    first error, and compare what it prints. Only the broker's address is another."""
    fill_topic_of_pages(client)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }
    for block in blocks_of(QUICKSTART):
        if block.why_not:
            continue
        ran = subprocess.run(
            ["/bin/sh", "-e", "-c", block.text],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{block.text}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        assert unshown(block.shown, ran.stdout) == "", f"{block.text}\n{ran.stdout}"
