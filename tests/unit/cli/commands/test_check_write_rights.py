"""`check` says before a run that it may not write into the directories of a feed."""

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.ports.store.local.disk import Disk
from tests.helpers.lakes_on_disk import DiskLake


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskLake:
    monkeypatch.setattr("penstock.cli.commands.check._check_kafka", lambda *_: {"feed": False})
    lake = DiskLake(tmp_path)
    lake.config.write_text(CONFIG)
    return lake


CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed: {topics: [events]}
"""


@pytest.mark.parametrize("refused", ["_penstock/feed", "_penstock/feed/done", "feed/click", "feed"])
def test_a_directory_of_another_user_is_named(
    lake: DiskLake,
    tmp_path: Path,
    refused: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = tmp_path / "lake"
    for name in ("_penstock/feed/done", "feed/click"):
        (root / name).mkdir(parents=True, exist_ok=True)
    assert checked(lake, capsys)["exit_code"] == 0
    monkeypatch.setattr(Disk, "may_write", lambda _, path: path != str(root / refused))
    found = checked(lake, capsys)
    assert (found["state"], found["exit_code"]) == ("failed", 1)
    (sentence,) = (each for each in found["found"] if each.startswith("STORE_UNAVAILABLE"))
    assert f"{refused!r}" in sentence
    assert "this user may not write there" in sentence


def checked(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What `check` says of the feed."""
    main(lake.words("check", "--output", "json"))
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    found: dict[str, Any]
    (found,) = (line for line in lines if line["what"] == "feed feed")
    return found
