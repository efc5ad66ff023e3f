"""The stored durations are there and speak of files that are there, so that lanes are balanced."""

from pathlib import Path

import pytest

from tests.helpers.lanes import LEAST_S, STORED, read_stored, store

ROOT = Path(__file__).parents[2]


def complaints(stored: Path, root: Path) -> list[str]:
    """What is wrong with a file of durations."""
    if not stored.is_file():
        return ["there are no stored durations; run `make durations`"]
    durations = read_stored(stored)
    gone = [
        f"{file} is gone; rename it, or delete its line"
        for file in durations
        if not (root / file).is_file()
    ]
    short = [f"{file} is too short to be stored" for file, s in durations.items() if s < LEAST_S]
    return gone + short or ([] if durations else ["no file is stored"])


def test_the_stored_durations_name_files_that_are_there() -> None:
    assert complaints(STORED, ROOT) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "run `make durations`"),
        ("{}", "no file is stored"),
        ('{"tests/test_a.py": 1.0, "tests/test_gone.py": 2.0}', "tests/test_gone.py is gone"),
        ('{"tests/test_a.py": 0.1}', "tests/test_a.py is too short"),
    ],
)
def test_a_planted_fault_is_caught(tmp_path: Path, content: str | None, complaint: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").touch()
    stored = tmp_path / "durations.json"
    if content is not None:
        stored.write_text(content)
    assert any(complaint in found for found in complaints(stored, tmp_path))


def test_what_was_stored_passes(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").touch()
    store({"test_a.py": 12.34, "test_short.py": 0.1}, tmp_path / "durations.json")
    assert complaints(tmp_path / "durations.json", tmp_path) == []
