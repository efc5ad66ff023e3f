"""The file with what the JVM says: Spark's traces are of use to few, and hide our own lines.

Each process that starts Spark has a file of its own, which is removed at the end if nothing worth
keeping is in it. Log4j rolls it at a size; old files of processes that have ended are removed.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

KEPT = 20  # files of processes that have ended
LOGGING = Path(str(files("penstock"))) / "spark" / "log4j2.properties"
CONFIGURATION = "-Dlog4j2.configurationFile"
_NAME = re.compile(r"spark-(\d+)\.log(?:\.\d+)?")
_NOISE = ("WARNING: ", "NOTE: ")  # what every JVM says when it starts
_MOST_LINES = 10_000

_current: list[Path] = []


def open_log(directory: Path) -> Path:
    """The file of this process, empty; in a temporary directory where the wanted one is no use."""
    for place in (directory, None):
        home = Path(tempfile.mkdtemp(prefix="penstock-logs-")) if place is None else place
        path = home / f"spark-{os.getpid()}.log"
        try:
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            _remove_old(home)
            path.write_bytes(b"")
        except OSError:
            continue
        _current[:] = [path]
        return path
    raise OSError(f"neither {directory} nor the temporary directory can be written")


def current_log() -> Path | None:
    """The file of the JVM that this process has started, if there is one."""
    return _current[0] if _current else None


def close_log(path: Path) -> None:
    """Remove the file if it only has what every JVM says."""
    if path in _current:
        _current.remove(path)
    with suppress(OSError):
        if first_words(path) == "":
            path.unlink()


def first_words(path: Path) -> str:
    """The first line that says more than every JVM does; empty if there is none."""
    return next((line for line in _lines(path) if not line.startswith(_NOISE)), "")


def java_options(log: Path) -> tuple[str, ...]:
    """Options with which the JVM writes there."""
    return (f"{CONFIGURATION}=file:{LOGGING}", f"-Dpenstock.log={log}")


def _lines(path: Path) -> Iterator[str]:
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as lines:
        for line, _ in zip(lines, range(_MOST_LINES), strict=False):
            if line.strip():
                yield line.strip()


def _remove_old(home: Path) -> None:
    """Keep the newest files of processes that have ended, and all of those that run."""
    found = [
        (path, int(name[1])) for path in home.iterdir() if (name := _NAME.fullmatch(path.name))
    ]
    ended = [path for path, pid in found if not _runs(pid)]
    for path in sorted(ended, key=_age, reverse=True)[KEPT:]:
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # removed by another process meanwhile
        return 0.0


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return pid != os.getpid()  # an older process had our number
