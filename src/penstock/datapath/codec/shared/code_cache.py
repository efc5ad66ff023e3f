"""Where this machine keeps the code that it has compiled, and whether all of it is there.

Asking needs no compiler: commands ask before they start anything. The directory has the hash of all
files of this room in its name, since Numba itself only notices changes of the file in which a
function is defined, and not of functions that were compiled into it.
"""

import fcntl
import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path

from penstock.config.places import cache_directory

LONGEST_WAIT_S = 120.0
_PERIOD_S = 0.1
_ROOM = Path(__file__).parents[1]
_COMPLETE = "complete"
_LOCK = "lock"


@cache
def code_place() -> Path | None:
    """The directory of compiled code; None if there is no place that can be written."""
    place = cache_directory() / "compiled" / _version()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=place).close()
    except OSError:
        return None
    return place


def is_complete() -> bool:
    """True if everything was compiled before, or cannot be kept anyway."""
    place = code_place()
    return place is None or (place / _COMPLETE).exists()


def mark_complete() -> None:
    """Note that everything is compiled; that it is noted is not needed for anything to be right."""
    place = code_place()
    if place is not None:
        (place / _COMPLETE).touch()


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
    """The hash of all code of this room, and of the compiler."""
    digest = hashlib.sha256(f"numba {version('numba')}".encode())
    for path in sorted(_ROOM.rglob("*.py")):
        digest.update(path.relative_to(_ROOM).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
