"""The section about GCS in docs/stores.md from top to bottom, on the double of it.

All requests pass a proxy, which counts them, and refuses what the roles of the page do not allow.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from penstock.testing.broker import EmbeddedKafka
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.kafka_client import KafkaClient
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_records import Record
from penstock.testing.proxy.proxy_rules import GCS_FORBIDDEN, Rule
from tests.docs.shell import ROOT, STORES, blocks
from tests.helpers.object_stores import BUCKET
from tests.integration.page_reader import Reader
from tests.integration.page_topic import fill_topic_of_pages

pytestmark = pytest.mark.xdist_group("kafka")

TEXT = STORES.read_text(encoding="utf-8").partition("## A lake on Google Cloud Storage")[2]
NEEDS = {
    "storage.objects.create": "objects.insert|objects.rewrite|objects.compose|uploads.*",
    "storage.objects.delete": "objects.delete",
    "storage.objects.get": "objects.get|objects.read",
    "storage.objects.list": "objects.list",
    "storage.objects.update": "objects.patch",
    "storage.buckets.get": "buckets.get",
    "storage.buckets.update": "buckets.patch",
    "storage.buckets.create": "buckets.insert",
}


@pytest.fixture
def proxy(gcs: EmbeddedGcs) -> Iterator[FaultProxy]:
    with FaultProxy(gcs.endpoint) as running:
        yield running


def permissions(role: str) -> set[str]:
    path = ROOT / "deploy" / "gcs" / f"{role}-role.yaml"
    found = yaml.safe_load(path.read_text(encoding="utf-8"))["includedPermissions"]
    assert set(found) <= set(NEEDS)
    return set(found)


def only(granted: set[str]) -> list[Rule]:
    """Everything else is refused."""
    return [
        Rule(GCS_FORBIDDEN, operations, times=None)
        for permission, operations in NEEDS.items()
        if permission not in granted
    ]


def is_not_penstocks_own(key: str) -> bool:
    """What the condition of the page leaves out: rows."""
    return not key.startswith("shop/_penstock/") and "/_tail/" not in key


@pytest.mark.timeout(1200)
def test_the_section_about_gcs_does_what_it_says(
    kafka: EmbeddedKafka,
    client: KafkaClient,
    gcs: EmbeddedGcs,
    proxy: FaultProxy,
    tmp_path: Path,
) -> None:
    """Goal: a stranger gets from nothing to a lake on GCS. Method: paste every block."""
    fill_topic_of_pages(client)
    environment = os.environ | gcs.environment | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STORAGE_EMULATOR_HOST": proxy.url,
        "EMULATOR": f"?scheme=http&endpoint_override={proxy.url.removeprefix('http://')}",
        "PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap,
    }  # fmt: skip
    reader = Reader(tmp_path, proxy, environment)
    proxy.rules.add(*only(permissions("ingest") | permissions("own-objects")))
    proxy.rules.add(Rule(GCS_FORBIDDEN, "objects.delete", is_not_penstocks_own, times=None))
    config = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "penstock.yaml").write_text(config)

    pasted = [block for block in blocks(TEXT, STORES.name) if not block.why_not]
    ran = [(block.text, reader.paste_block(block)) for block in pasted]
    asked = [each for _, some in ran for each in some]
    check_costs(asked)
    check_fetches(next(some for text, some in ran if "audit --deep" in text))
    assert not [each for each in asked if each.status == 403], "the roles suffice"

    proxy.rules.clear()
    proxy.rules.add(*only(permissions("reader")))
    programs = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    answers = [reader.paste([sys.executable, "-c", program])[0] for program in programs]
    assert answers[0].split()[0] == "251"
    assert "2026-11-03" in answers[1]
    assert len(answers) == 2


def check_costs(asked: list[Record]) -> None:
    """Each file is rewritten once, and looked at."""
    rewritten, looked = data_files(asked, "objects.rewrite"), data_files(asked, "objects.get")
    assert len(rewritten) == len(looked) == 47
    assert set(rewritten.values()) == {1}
    assert all(each.bucket == BUCKET for each in asked)


def check_fetches(asked: list[Record]) -> None:
    """A deep audit reads each file once, data and quarantine."""
    fetched = data_files(asked, "objects.read")
    assert len(fetched) == 47
    assert set(fetched.values()) == {1}, fetched


def data_files(asked: list[Record], operation: str) -> Counter[str]:
    """How often each data file was asked for by an operation."""
    found = [each for each in asked if each.operation == operation]
    return Counter(each.key for each in found if each.key.endswith(".parquet"))
