"""Processes as the tests see them: waiting, stopped, and the workers that Spark forks."""

import re
import time
from collections.abc import Callable
from pathlib import Path


def wait_for(what: Callable[[], bool], why: str, within_s: float = 120.0) -> None:
    """Until something is so."""
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, f"waited {within_s:.0f} s for {why}"
        time.sleep(0.1)


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def workers_of(pid: int) -> list[int]:
    """The processes that Spark's daemon has forked to run our function."""
    parents: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if re.fullmatch(r"\d+", entry.name):
            try:
                stat = (entry / "stat").read_text()
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = (int(stat.rpartition(")")[2].split()[1]), command)

    def is_below(child: int) -> bool:
        while child in parents and child != pid:
            child = parents[child][0]
        return child == pid

    daemons = {p for p, (_, command) in parents.items() if "pyspark.daemon" in command}
    return [p for p in daemons if parents[p][0] in daemons and is_below(p)]
