"""The cluster page: its configurations load, and what it says of packages is what is run."""

import re
from pathlib import Path

import pytest

from penstock.config.load import load
from tests.certify import host_cases
from tests.docs.shell import ROOT

PAGE = ROOT / "docs" / "cluster.md"
TEXT = PAGE.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
HEAD = 'version: 1\nlake: ./lake\nkafka: {bootstrap.servers: "a:1"}\n'
FEEDS = "feeds: {a: {topics: [a]}}\n"


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_every_configuration_of_the_page_loads(block: str, tmp_path: Path) -> None:
    text = block if block.startswith("version") else HEAD + block + FEEDS
    (tmp_path / "penstock.yaml").write_text(text)
    assert load(tmp_path / "penstock.yaml", {}).spark


def test_every_case_of_the_certificate_is_in_the_table_and_no_other() -> None:
    named = re.findall(r"^\| (H\d+) \|", TEXT, re.MULTILINE)
    assert named == [case.name for case in host_cases.cases()]


def test_packages_are_shipped_as_the_page_says() -> None:
    """The certificate takes its settings from the page; here only that they are found there."""
    assert host_cases.documented("/x/packages.tar") == (
        '  spark.archives: "/x/packages.tar#packages"\n  spark.executorEnv.PYTHONPATH: packages\n'
    )
