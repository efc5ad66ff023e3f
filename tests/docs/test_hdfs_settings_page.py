"""The configuration of docs/stores.md for HDFS loads, and the table has every setting."""

import re
from pathlib import Path

from penstock.config.load import load
from penstock.ports.store.hdfs.hdfs_settings import KNOWN, read_settings
from tests.docs.shell import ROOT, STORES


def test_the_configuration_is_one_that_the_store_takes(tmp_path: Path) -> None:
    text = STORES.read_text(encoding="utf-8").split("## A lake on HDFS")[1].split("\n## ")[0]
    (config,) = re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "penstock.yaml").write_text(config)
    lake = load(tmp_path / "penstock.yaml", {}).lake
    assert (lake.scheme, read_settings(lake).uri) == ("hdfs", "hdfs://lakes/shop")


def test_the_table_of_settings_has_each_and_no_other() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    table = page.split("## A lake on HDFS")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert {word for row in rows for word in re.findall(r"`(\w+)`", row)} == set(KNOWN)
