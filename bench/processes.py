"""The processes below this one, as Linux shows them: their processor time and their memory.

A process that ends takes its processor time along, unless its parent waits for it. Spark's Python
daemon never waits for its workers. So whoever measures has to look while they live: a thread looks
five times a second, and remembers what each process had used when it was last seen.
"""

import os
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

PERIOD_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Process:
    """A process at one moment. Times are ticks; `waited` is that of children it has waited for."""

    pid: int
    parent: int
    started: int
    own: int
    waited: int
    rss_bytes: int

    @property
    def key(self) -> tuple[int, int]:
        """Ids are given again; an id and a start are not."""
        return self.pid, self.started


Snapshot = dict[int, Process]


def look(root: int, without: Collection[int] = ()) -> Snapshot:
    """A process and all below it, but for some and those below them."""
    children: dict[int, list[Process]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 -- five times a second, so be quick
        if name.isdigit() and (found := _read(int(name))):
            children.setdefault(found.parent, []).append(found)
    top = _read(root)
    seen: Snapshot = {}
    waiting = [top] if top else []
    while waiting:
        process = waiting.pop()
        if process.pid not in without:
            seen[process.pid] = process
            waiting += children.get(process.pid, [])
    return seen


def lost_ticks(before: Snapshot, now: Snapshot) -> int:
    """What processes had used that ended between two looks, and that nobody waited for.

    Their nearest ancestor that still lives has it in `waited`, or nobody has.
    """
    expected: dict[int, int] = {}
    for process in before.values():
        if not _lives(process, now):
            heir = _heir(process, before, now)
            expected[heir] = expected.get(heir, 0) + process.own + process.waited
    return sum(max(0, used - _rise(heir, before, now)) for heir, used in expected.items())


class _Looking:
    """Looks again and again for as long as it is open, on a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)

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

    def _keep_looking(self) -> None:
        while not self._stop.wait(PERIOD_S):
            with self._lock:
                self._look()

    def _look(self) -> None:
        raise NotImplementedError


class Watch(_Looking):
    """Looks at a tree of processes."""

    def __init__(self, root: int, without: Collection[int] = ()) -> None:
        super().__init__()
        self._root = root
        self._without = frozenset(without)
        self._lost = 0
        self._now = look(root, self._without)
        self._peak_bytes = 0
        self._at_start: Mapping[tuple[int, int], int] = {}

    def cpu_s(self) -> float:
        """The processor time of all processes so far, of those that have ended as well."""
        with self._lock:
            self._look()
            alive = sum(process.own + process.waited for process in self._now.values())
            return (alive + self._lost) / _TICKS

    def begin_peak(self) -> None:
        """From here on, `peak_bytes` is the most; what does nothing from here on is left out."""
        with self._lock:
            self._look()
            self._at_start = {each.key: each.own for each in self._now.values()}
            self._peak_bytes = 0

    def peak_bytes(self) -> int:
        """The most memory that the processes at work held together at any look."""
        with self._lock:
            self._look()
            return self._peak_bytes

    def _look(self) -> None:
        now = look(self._root, self._without)
        self._lost += lost_ticks(self._now, now)
        self._now = now
        at_work = (each for each in now.values() if each.own > self._at_start.get(each.key, -1))
        self._peak_bytes = max(self._peak_bytes, sum(each.rss_bytes for each in at_work))


class WorkerMemory(_Looking):
    """Watches the Python workers of Spark; `most_bytes` is the most that any one of them held."""

    def __init__(self) -> None:
        super().__init__()
        self.most_bytes = 0

    def _look(self) -> None:
        for pid in look(os.getpid()):
            if "pyspark.worker" in _text(pid, "cmdline"):
                self.most_bytes = max(self.most_bytes, _peak_bytes(pid))


def _lives(process: Process, now: Snapshot) -> bool:
    found = now.get(process.pid)
    return found is not None and found.key == process.key


def _heir(process: Process, before: Snapshot, now: Snapshot) -> int:
    """The nearest ancestor that still lives; 0: none does."""
    above = before.get(process.parent)
    while above is not None and not _lives(above, now):
        above = before.get(above.parent)
    return 0 if above is None else above.pid


def _rise(pid: int, before: Snapshot, now: Snapshot) -> int:
    return now[pid].waited - before[pid].waited if pid else 0


def _read(pid: int) -> Process | None:
    """None when it has ended meanwhile."""
    text = _text(pid, "stat")
    if not text:
        return None
    fields = text.rpartition(") ")[2].split()  # the name before may hold anything
    user, system, waited_user, waited_system = map(int, fields[11:15])
    return Process(
        pid=pid,
        parent=int(fields[1]),
        started=int(fields[19]),
        own=user + system,
        waited=waited_user + waited_system,
        rss_bytes=int(fields[21]) * _PAGE,
    )


def _peak_bytes(pid: int) -> int:
    """The most memory that a process has held so far."""
    for line in _text(pid, "status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def _text(pid: int, name: str) -> str:
    try:
        with open(f"/proc/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 -- quick
            return file.read().decode(errors="replace")
    except OSError:
        return ""
