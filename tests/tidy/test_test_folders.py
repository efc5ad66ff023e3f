"""Folders of unit and property tests have the names of the rooms that they test.

So the tests of a module are found without a search, and a room that moves takes its tests along.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
MIRRORS = ("tests/unit", "tests/property", "tests/programs")
# What is tested and is not a room: the benches, and the runner of the long proof.
NOT_ROOMS = frozenset({"bench", "certify"})


def complaints(folders: Iterable[str], package: Path = PACKAGE) -> list[str]:
    """Folders of tests, named from their mirror on, that no room of the package has."""
    return [
        f"{folder} is not a room of src/penstock"
        for folder in folders
        if folder not in NOT_ROOMS and not (package / folder / "__init__.py").is_file()
    ]


def folders_of_tests(mirror: Path) -> list[str]:
    """Every folder with a module in it, also when that is deeper down."""
    found = {
        folder.relative_to(mirror).as_posix()
        for file in mirror.rglob("*.py")
        for folder in file.parents
        if folder.is_relative_to(mirror)
    }
    return sorted(found - {"."})


@pytest.mark.parametrize("mirror", MIRRORS)
def test_every_folder_of_tests_has_its_room(mirror: str) -> None:
    folders = folders_of_tests(ROOT / mirror)
    assert folders
    assert complaints(folders) == []


def test_the_exceptions_are_there_and_are_not_rooms() -> None:
    folders = {folder for mirror in MIRRORS for folder in folders_of_tests(ROOT / mirror)}
    assert folders >= NOT_ROOMS
    assert [name for name in NOT_ROOMS if (PACKAGE / name).exists()] == []


def test_a_planted_folder_is_caught(tmp_path: Path) -> None:
    for name in ("attic", "attic/boxes", "cellar", "bench"):
        (tmp_path / "tests" / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name / "test_it.py").touch()
    (tmp_path / "src" / "attic").mkdir(parents=True)
    (tmp_path / "src" / "attic" / "__init__.py").touch()
    (tmp_path / "src" / "cellar").mkdir()  # left behind, without a module
    found = complaints(folders_of_tests(tmp_path / "tests"), tmp_path / "src")
    assert found == [
        "attic/boxes is not a room of src/penstock",
        "cellar is not a room of src/penstock",
    ]
