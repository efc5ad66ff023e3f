"""Planted symbolic links: never followed, whichever component of a path they are."""

import os
from pathlib import Path

import pytest

from penstock.api.store import OddName, ShowsOddNames
from penstock.errors import ForeignFile, StoreUnavailable
from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.keys import UNTEXT
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store_staged import STAGING, stage

FINAL = "data/day/a"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    path = tmp_path / "lake"
    path.mkdir()
    return path


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A directory that somebody would like us to write to, or to read from."""
    path = tmp_path / "outside"
    (path / "day").mkdir(parents=True)
    (path / "day" / "a").write_bytes(b"rows")
    (path / "t0.staged").write_bytes(b"rows")
    return path


@pytest.fixture
def handle(lake: Path, tmp_path: Path) -> StagedHandle:
    """A handle as it would be if `rows` had been staged."""
    (tmp_path / "other").mkdir()
    return stage(LocalStore(tmp_path / "other"), FINAL, b"rows")


def contents(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_a_link_in_place_of_a_dataset_is_not_followed(
    lake: Path, outside: Path, handle: StagedHandle
) -> None:
    store, before = LocalStore(lake), contents(outside)
    (lake / "data").symlink_to(outside)
    ours = stage(store, FINAL, b"rows")
    for attempt in (
        lambda: store.create("data/day/new", b""),
        lambda: store.read(FINAL),
        lambda: store.head(FINAL),
        lambda: list_keys(store, "data"),
        lambda: list_keys(store, "data/day"),
        lambda: store.look(handle),
        lambda: store.publish(handle),
        lambda: store.publish(ours),
        lambda: store.delete(FINAL),
        lambda: store.probe("data/probe"),
    ):
        with pytest.raises(StoreUnavailable, match="symbolic link, and links are never followed"):
            attempt()
    assert list_keys(store, "") == [ours.staged]
    assert contents(outside) == before


@pytest.mark.parametrize("planted", ["staging", STAGING, f"{STAGING}/0-1"])
def test_a_link_in_staging_is_not_followed(
    lake: Path, outside: Path, handle: StagedHandle, planted: str
) -> None:
    store, before = LocalStore(lake), contents(outside)
    (lake / planted).parent.mkdir(parents=True, exist_ok=True)
    (lake / planted).symlink_to(outside)
    for attempt in (
        lambda: store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t1")),
        lambda: store.publish(handle),
        lambda: store.look(handle),
        lambda: store.discard(StagedRef(place=handle.staged, window="0-1")),
    ):
        with pytest.raises(StoreUnavailable, match="never followed"):
            attempt()
    assert contents(outside) == before
    assert list_keys(store, "") == []


def test_a_link_in_place_of_a_staged_file_is_refused(
    lake: Path, outside: Path, handle: StagedHandle
) -> None:
    """It would pass for ours by size, and its content can change after the look."""
    store = LocalStore(lake)
    (lake / handle.staged).parent.mkdir(parents=True)
    (lake / handle.staged).symlink_to(outside / "t0.staged")
    with pytest.raises(StoreUnavailable, match="never followed"):
        store.publish(handle)
    with pytest.raises(StoreUnavailable, match="never followed"):
        store.look(handle)
    assert store.list_staged(STAGING, ()) == []
    assert not (lake / FINAL).exists()


@pytest.mark.parametrize("target", ["../../../outside/day/a", "twin"])
def test_a_link_at_the_final_name_is_a_foreign_file(lake: Path, outside: Path, target: str) -> None:
    """Also when it points to a file with our very content, and is itself as long as ours."""
    store = LocalStore(lake)
    ours = stage(store, FINAL, b"rows")
    (lake / FINAL).parent.mkdir(parents=True)
    (lake / FINAL).with_name("twin").write_bytes(b"rows")
    (lake / FINAL).symlink_to(target)
    assert (lake / FINAL).read_bytes() == b"rows"
    assert store.look(ours).final is FinalState.FOREIGN
    with pytest.raises(ForeignFile):
        store.publish(ours)
    assert (lake / FINAL).is_symlink()
    assert store.look(ours).staged


@pytest.mark.parametrize("planted", ["_penstock", "_penstock/tmp"])
def test_a_link_in_place_of_the_temporary_files_is_refused(
    lake: Path, outside: Path, planted: str
) -> None:
    store, before = LocalStore(lake), contents(outside)
    (lake / planted).parent.mkdir(parents=True, exist_ok=True)
    (lake / planted).symlink_to(outside)
    with pytest.raises(StoreUnavailable, match="never followed"):
        store.create("a", b"")
    with pytest.raises(StoreUnavailable, match="never followed"):
        store.sweep()
    assert contents(outside) == before


def test_what_no_listing_shows_is_shown_as_odd(lake: Path, outside: Path) -> None:
    """Links are not followed, nor are directories opened whose name is no text."""
    store = LocalStore(lake)
    store.create("data/day/good", b"")
    (lake / "data" / "link").symlink_to(outside)
    (lake / "data" / "day" / "dangling").symlink_to("nowhere")
    os.mkfifo(lake / "data" / "day" / "pipe")
    odd = lake / "data" / "\udcff"
    odd.mkdir()
    (odd / "inside").write_bytes(b"")
    assert list_keys(store, "data") == ["data/day/good"]
    assert isinstance(store, ShowsOddNames)
    assert store.list_odd("data") == [
        OddName("data/link", "a link"),
        OddName("data/\\xff", UNTEXT),
        OddName("data/day/dangling", "a link"),
        OddName("data/day/pipe", "neither a file nor a directory"),
    ]
    assert store.list_odd("absent") == []
    with pytest.raises(StoreUnavailable, match="links are never followed"):
        store.list_odd("data/link")
