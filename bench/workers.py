"""The processes below this one, as Linux shows them: their memory and their processor time."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_TICKS = os.sysconf("SC_CLK_TCK")
_POLL_S = 0.2


def below(root: int) -> list[int]:
    """All descendants of a process."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (stat := _stat(int(entry.name))):
            parents.setdefault(int(stat[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def cpu_s(pids: list[int]) -> float:
    """The processor time that processes have used, with that of children that have ended."""
    stats = [stat for pid in pids if (stat := _stat(pid))]
    return sum(int(ticks) for stat in stats for ticks in stat[11:15]) / _TICKS


class WorkerMemory:
    """Watches the Python workers of Spark; `most_bytes` is the most that any one of them held."""

    def __init__(self) -> None:
        self.most_bytes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_POLL_S):
            for pid in below(os.getpid()):
                if "pyspark.daemon" in _text(pid, "cmdline"):
                    self.most_bytes = max(self.most_bytes, _peak_bytes(pid))


def _peak_bytes(pid: int) -> int:
    """The most memory that a process has held so far."""
    for line in _text(pid, "status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _stat(pid: int) -> list[str]:
    """The fields behind the name; state is the first."""
    return _text(pid, "stat").rpartition(") ")[2].split()


def _text(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""
