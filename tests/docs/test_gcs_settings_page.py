"""The configurations of docs/stores.md for GCS load, and its store takes every setting in them."""

import re
from pathlib import Path

import pytest
import yaml

from penstock.config.load import load
from penstock.ports.store.gcs.gcs_settings import KNOWN, read_settings
from tests.docs.shell import ROOT, STORES

TEXT = STORES.read_text(encoding="utf-8")
ON_GCS = [
    text
    for text in re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    if "lake: gs://" in text
]


@pytest.mark.parametrize("text", ON_GCS, ids=range(len(ON_GCS)))
def test_every_configuration_is_one_that_the_store_takes(text: str, tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(text)
    spec = load(tmp_path / "penstock.yaml", {})
    assert spec.lake.scheme == "gs"
    assert read_settings(spec.lake).uri == spec.lake.uri


def test_there_are_configurations_for_google_cloud_a_key_file_and_an_emulator() -> None:
    assert len(ON_GCS) == 3
    used = {word for text in ON_GCS for word in re.findall(r"^  (\w+):", text, re.MULTILINE)}
    assert {"credentials_file", "user_project", "kms_key", "endpoint", "anonymous"} <= used


def test_the_table_of_settings_has_each_and_no_other() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    table = page.split("## A lake on GCS")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert {word for row in rows for word in re.findall(r"`(\w+)`", row)} == set(KNOWN)


def test_the_roles_of_the_page_are_those_that_come_along() -> None:
    table = TEXT.split("### Who may do what on GCS")[1].split("\n### ")[0]
    named = set(re.findall(r"`([\w-]+-role\.yaml)`", table))
    roles = {path.name: path for path in (ROOT / "deploy" / "gcs").glob("*.yaml")}
    assert named == set(roles)
    for path in roles.values():
        assert {"title", "description", "stage", "includedPermissions"} == set(
            yaml.safe_load(path.read_text(encoding="utf-8"))
        )
