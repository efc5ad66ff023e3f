"""docs/stores.md from top to bottom: its configuration, commands and programs, on an object store.

All requests pass a proxy, which counts: what a file costs, and that an audit fetches each once.
"""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_records import Record
from penstock.testing.proxy.s3_policy import Policy
from tests.docs.shell import ROOT, STORES, Block, blocks, unshown
from tests.helpers.object_stores import BUCKET
from tests.integration.page_topic import fill_topic_of_pages

pytestmark = pytest.mark.xdist_group("kafka")

MOST_REQUESTS = 4
# The other sections have tests of their own.
TEXT = STORES.read_text(encoding="utf-8").partition("## A lake on HDFS")[0]


@pytest.fixture
def proxy(object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
    with FaultProxy(object_store.endpoint) as running:
        yield running


class Reader:
    """A user who pastes the blocks, and what each has asked of the store."""

    def __init__(self, place: Path, proxy: FaultProxy, environment: dict[str, str]) -> None:
        self._place = place
        self._proxy = proxy
        self._environment = environment

    def paste(self, command: list[str]) -> tuple[str, list[Record]]:
        before = len(self._proxy.records.all())
        ran = subprocess.run(
            command, cwd=self._place, env=self._environment, capture_output=True, text=True,
            timeout=900, check=False,
        )  # fmt: skip
        assert ran.returncode == 0, f"{command}\n{ran.stdout[-2000:]}\n{ran.stderr[-2000:]}"
        return ran.stdout, self._proxy.records.all()[before:]

    def paste_block(self, block: Block) -> list[Record]:
        printed, asked = self.paste(["/bin/sh", "-e", "-c", block.text])
        assert unshown(block.shown, printed) == "", f"{block.text}\n{printed}"
        return asked


def policy(name: str) -> Policy:
    """One that the page says is enough, for the place of its lake."""
    text = (ROOT / "deploy" / "s3" / f"{name}-policy.json").read_text(encoding="utf-8")
    return Policy.from_json(text, {"BUCKET": BUCKET, "PREFIX": "shop"})


def programs() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(1200)
def test_the_page_about_stores_does_what_it_says(
    kafka: EmbeddedKafka,
    client: KafkaClient,
    object_store: EmbeddedObjectStore,
    proxy: FaultProxy,
    tmp_path: Path,
) -> None:
    """Goal: a stranger gets from nothing to a lake on S3. Method: paste every block."""
    fill_topic_of_pages(client)
    environment = os.environ | object_store.environment | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AWS_ENDPOINT_URL": proxy.url,
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }  # fmt: skip
    reader = Reader(tmp_path, proxy, environment)
    proxy.enforce(policy("ingest"))
    config = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "penstock.yaml").write_text(config)

    ran = [
        (block.text, reader.paste_block(block))
        for block in blocks(TEXT, STORES.name)
        if not block.why_not
    ]
    check_costs(next(asked for text, asked in ran if "run --once" in text))
    check_fetches(next(asked for text, asked in ran if "audit --deep" in text))
    proxy.enforce(policy("reader"))
    answers = [reader.paste([sys.executable, "-c", program])[0] for program in programs()]
    assert [answer.split()[0] for answer in answers[:1]] == ["251"]
    assert all("2026-11-03" in answer and " 44" in answer for answer in answers[1:])
    assert len(answers) == 3


def data_files(asked: list[Record], operation: str) -> Counter[str]:
    found = [each for each in asked if each.operation == operation]
    return Counter(each.key for each in found if each.key.endswith(".parquet"))


def check_costs(asked: list[Record]) -> None:
    """At most four requests for each file, from beginning to end."""
    files = data_files(asked, "CompleteMultipartUpload")
    spent = Counter(each.key for each in asked if each.key in files)
    assert len(files) == 47
    assert spent.total() <= MOST_REQUESTS * len(files), spent.most_common(3)


def check_fetches(asked: list[Record]) -> None:
    """Each file once, data and quarantine: one range of 8 MiB has all of it."""
    fetched = data_files(asked, "GetObject")
    assert len(fetched) == 47
    assert set(fetched.values()) == {1}, fetched
    assert not data_files(asked, "HeadObject")
