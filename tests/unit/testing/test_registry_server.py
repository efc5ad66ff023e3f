"""Unpacking the archive of a server: once, wholly, and never outside of its directory."""

import io
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from penstock.testing.registry_server import unpacked


def packed(archive: Path, *members: tarfile.TarInfo, text: bytes = b"text") -> Path:
    """An archive of these members; regular files all have the same text."""
    with tarfile.open(archive, "w:gz") as tar:
        for member in members:
            member.size = len(text) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(text) if member.isreg() else None)
    return archive


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, target
    return found


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    archive = packed(
        tmp_path / "a.tar.gz",
        member("a-runner.jar"),
        member("lib", tarfile.DIRTYPE),
        member("lib/b"),
    )
    place = unpacked(archive)
    assert sorted(path.name for path in place.rglob("*")) == ["a-runner.jar", "b", "lib"]
    assert (place / "lib/b").read_bytes() == b"text"
    (place / "lib/b").write_bytes(b"changed")
    assert unpacked(archive) == place
    assert (place / "lib/b").read_bytes() == b"changed"


def test_another_archive_of_the_same_name_is_unpacked_elsewhere(tmp_path: Path) -> None:
    before = unpacked(packed(tmp_path / "a.tar.gz", member("a")))
    after = unpacked(packed(tmp_path / "a.tar.gz", member("a"), text=b"other"))
    assert [(before / "a").read_bytes(), (after / "a").read_bytes()] == [b"text", b"other"]


def test_several_may_unpack_at_once(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tar.gz", *(member(f"lib/{n}") for n in range(50)))
    with ThreadPoolExecutor(4) as pool:
        places = set(pool.map(unpacked, [archive] * 4))
    assert len(places) == 1
    assert len(list(places.pop().rglob("lib/*"))) == 50
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "bad",
    [
        member("../outside"),
        member("lib/../../outside"),
        member("/tmp/outside"),
        member("link", tarfile.SYMTYPE, ".."),
        member("link", tarfile.LNKTYPE, "../outside"),
        member("pipe", tarfile.FIFOTYPE),
        member("device", tarfile.CHRTYPE),
    ],
    ids=lambda bad: f"{bad.name} {bad.type!r}",
)
def test_what_could_lead_outside_is_refused_and_nothing_stays(
    tmp_path: Path, bad: tarfile.TarInfo
) -> None:
    archive = packed(tmp_path / "a.tar.gz", member("good"), bad)
    with pytest.raises(ValueError, match=r"a\.tar\.gz"):
        unpacked(archive)
    assert list(tmp_path.iterdir()) == [archive]


def test_a_broken_archive_leaves_nothing_behind(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.tar.gz", member("a"), text=bytes(range(256)) * 100)
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises((EOFError, tarfile.TarError)):
        unpacked(archive)
    assert list(tmp_path.iterdir()) == [archive]
