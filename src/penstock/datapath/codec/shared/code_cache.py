"""Where this machine keeps the code that it has compiled, and whether all of it is there.

Asking needs no compiler: commands ask before they start anything. The directory has the hash of all
files of this room in its name, since Numba itself only notices changes of the file in which a
function is defined, and not of functions that were compiled into it. The driver, which runs what is
installed, and executors, which run an archive of it, share the directory if they share a machine.
"""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from penstock.config.places import cache_directory

LONGEST_WAIT_S = 120.0
KEPT = 8  # versions whose code stays: this one, and those used last before it
_PERIOD_S = 0.1
PACKAGE = "penstock.datapath.codec"
_COMPLETE = "complete"
_LOCK = "lock"
_VERSION = re.compile(r"[0-9a-f]{16}")


@cache
def code_place() -> Path | None:
    """The directory of compiled code; None if there is no place that can be written."""
    place = cache_directory() / "compiled" / _version()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=place).close()
        os.utime(place)  # it is in use
    except OSError:
        return None
    return place


def old_code(kept: int = KEPT) -> list[Path]:
    """The directories of other versions, but for those that were used last. Changes nothing."""
    mine = code_place()
    if mine is None:
        return []
    with suppress(OSError):
        places = [place for place in mine.parent.iterdir() if _VERSION.fullmatch(place.name)]
        others = [place for place in places if place != mine and place.is_dir()]
        return sorted(others, key=lambda place: place.stat().st_mtime, reverse=True)[kept - 1 :]
    return []


def remove_code(places: Iterable[Path]) -> int:
    """Remove directories of other versions, as far as possible; returns how many are gone.

    A process that still uses one has its code in memory, or compiles it again.
    """
    removed = 0
    for place in places:
        shutil.rmtree(place, ignore_errors=True)
        removed += not place.exists()
    return removed


def is_complete() -> bool:
    """True if everything was compiled before, or cannot be kept anyway."""
    place = code_place()
    return place is None or (place / _COMPLETE).exists()


def mark_complete() -> None:
    """Note that everything is compiled; that it is noted is not needed for anything to be right.

    Each version has a directory of its own, so this is also when one of an old version goes.
    """
    place = code_place()
    if place is not None:
        (place / _COMPLETE).touch()
        remove_code(old_code())


@contextmanager
def compiling_alone(tick: Callable[[], float], sleep: Callable[[float], None]) -> Iterator[None]:
    """Let one process at a time compile; the others wait, and find what it has compiled.

    Waiting only saves work, so it ends after a while, also if the other process does not.
    """
    place = code_place()
    if place is None:
        yield
        return
    with (place / _LOCK).open("w") as lock:
        until = tick() + LONGEST_WAIT_S
        while not _locked(lock.fileno()) and tick() < until:
            sleep(_PERIOD_S)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _version() -> str:
    """The hash of all code of this room, and of the compiler; the same from an archive."""
    digest = hashlib.sha256(f"numba {version('numba')}".encode())
    for name, source in sorted(_sources(files(PACKAGE))):
        digest.update(name.encode() + b"\0" + source)
    return digest.hexdigest()[:16]


def _sources(folder: Traversable, above: str = "") -> Iterator[tuple[str, bytes]]:
    """Every module of a folder and its name; executors read them from an archive."""
    for each in folder.iterdir():
        if each.is_dir():
            yield from _sources(each, f"{above}{each.name}/")
        elif each.name.endswith(".py"):
            yield f"{above}{each.name}", each.read_bytes()
