"""The configurations of docs/stores.md for S3 load, and its store takes every setting in them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.config.load import load
from penstock.ports.store.s3.s3_bucket_rules import LEAST_DAYS
from penstock.ports.store.s3.s3_settings import KNOWN, read_settings
from tests.docs.shell import ROOT, STORES

TEXT = STORES.read_text(encoding="utf-8")


def fenced(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


ON_S3 = [text for text in fenced("yaml") if "lake: s3://" in text]


@pytest.mark.parametrize("text", ON_S3, ids=range(len(ON_S3)))
def test_every_configuration_is_one_that_the_store_takes(text: str, tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(text)
    spec = load(tmp_path / "penstock.yaml", {})
    assert spec.lake.scheme == "s3"
    assert read_settings(spec.lake).uri == spec.lake.uri


def test_there_are_configurations_for_aws_another_store_and_encryption() -> None:
    assert len(ON_S3) == 4
    used = {word for text in ON_S3 for word in re.findall(r"^  (\w+):", text, re.MULTILINE)}
    assert {"profile", "endpoint", "path_style", "sse", "kms_key", "ca", "secret_key"} <= used


def test_the_table_of_settings_has_each_and_no_other() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    table = page.split("## A lake on S3")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)
    assert {word for row in rows for word in re.findall(r"`(\w+)`", row)} == set(KNOWN)


def test_the_lifecycle_rule_leaves_uploads_alone_for_long_enough() -> None:
    (text,) = fenced("json")
    (rule,) = rules(text)
    assert rule["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"] >= LEAST_DAYS
    assert (rule["Status"], rule["Filter"]) == ("Enabled", {"Prefix": "shop/"})


def rules(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["Rules"]
    return found
