"""Where a process may not write, by owners and modes, without trying."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.api.store import ShowsWriteRights
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.local_store import LocalStore

NOBODY = 65534


class Refusing(Disk):
    """A disk with directories of other users."""

    def __init__(self, *refused: Path) -> None:
        super().__init__()
        self._refused = set(map(str, refused))

    def may_write(self, path: str) -> bool:
        return path not in self._refused


def test_directories_of_others_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    for name in ("_penstock/feed/journal/0", "_penstock/feed/done", "feed/click"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "feed" / "a file").touch()
    before = sorted(tmp_path.rglob("*"))
    refused = ["_penstock/feed/done", "_penstock/feed/journal/0", "feed/click"]
    store = LocalStore(tmp_path, Refusing(*(tmp_path / name for name in refused)))
    assert isinstance(store, ShowsWriteRights)
    assert store.unwritable("_penstock/feed") == ["_penstock/feed/done"]
    assert store.unwritable("_penstock/feed/journal/0") == ["_penstock/feed/journal/0"]
    assert store.unwritable("_penstock/feed/journal/1") == []
    assert store.unwritable("feed") == ["feed/click"]
    assert sorted(tmp_path.rglob("*")) == before


def test_what_is_not_there_would_be_made_in_the_nearest_directory_above(tmp_path: Path) -> None:
    (tmp_path / "_penstock").mkdir()
    store = LocalStore(tmp_path, Refusing(tmp_path, tmp_path / "_penstock"))
    assert store.unwritable("feed") == ["."]
    assert store.unwritable("_penstock/feed/journal/0") == ["_penstock"]
    assert LocalStore(tmp_path / "none", Refusing(tmp_path / "none")).unwritable("feed") == []


def test_the_system_is_asked_for_the_user_that_writes() -> None:
    """Method: a directory without the right to write; root, which may always, becomes nobody."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made)
        for name in ("open", "closed"):
            (root / name).mkdir()
        with as_somebody(root, root / "open", root / "closed"):
            (root / "closed").chmod(0o500)
            assert LocalStore(root).unwritable("open") == []
            assert LocalStore(root).unwritable("closed") == ["closed"]
            (root / "closed").chmod(0o700)


@contextmanager
def as_somebody(*directories: Path) -> Iterator[None]:
    """As a user who owns the directories and is not root."""
    if os.geteuid() != 0:
        yield
        return
    for each in directories:
        os.chown(each, NOBODY, NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
