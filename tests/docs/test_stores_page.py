"""What the page about stores says to do is done, on a lake on disk, and audited afterwards."""

import re
import shutil
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.config.load import load
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.programs import FEED

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")


def block_with(word: str) -> str:
    """The Python block that has a word."""
    found: str
    (found,) = [b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if word in b]
    return found


def test_the_configuration_is_one(tmp_path: Path) -> None:
    found = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (text,) = [each for each in found if "journal:" in each]
    (tmp_path / "penstock.yaml").write_text(text)
    spec = load(tmp_path / "penstock.yaml", {})
    assert spec.journal is not None
    assert spec.journal.uri == "/data/journal"


@pytest.mark.parametrize(
    ("elsewhere", "word", "place"),
    [(True, "former.rename", "./moved/journal"), (False, '"bind"', "./journal")],
)
def test_a_journal_is_moved_as_the_page_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    word: str,
    place: str,
    *,
    elsewhere: bool,
) -> None:
    lake = DiskLake(tmp_path, elsewhere=elsewhere)
    delivered(lake.room(["a", "b", "a"]))
    monkeypatch.chdir(tmp_path)
    exec(compile(block_with(word), "stores.md", "exec"), {})
    assert main(lake.words("audit", FEED)) == 5
    assert f"journal: {tmp_path / place}" in capsys.readouterr().err
    text = lake.config.read_text().replace("journal: ./journal\n", "")
    lake.config.write_text(f"{text}journal: {place}\n")
    assert main(lake.words("audit", FEED)) == 0
    assert "verdict    ok" in capsys.readouterr().out


def test_a_journal_comes_back_into_the_lake_as_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = DiskLake(tmp_path, elsewhere=True)
    delivered(lake.room(["a", "b", "a"]))
    shutil.copytree(lake.journals / "_penstock", lake.root / "_penstock", dirs_exist_ok=True)
    (lake.root / FEED / "_tail" / "journal.json").unlink()
    lake.config.write_text(lake.config.read_text().replace("journal: ./journal\n", ""))
    assert main(lake.words("audit", FEED)) == 0
    assert "verdict    ok" in capsys.readouterr().out
