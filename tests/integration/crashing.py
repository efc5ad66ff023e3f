"""A whole process that kills or stops itself, and its process group, at one chosen point.

`python -m tests.integration.crashing LAKE BOOTSTRAP TOPIC POINT` runs a feed once on real Spark.
The points are those of the fault catalogue; at those that begin with Z it is only stopped
(SIGSTOP), and goes on from there when somebody lets it.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from random import SystemRandom
from typing import NamedTuple

from penstock.config import places
from penstock.engine import owner
from penstock.engine.feed import FeedTools
from penstock.engine.jars import CONNECTOR, jar_paths
from penstock.engine.run import Runner, RunSpec
from penstock.engine.session import open_session
from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.model.staged import StagedHandle
from penstock.model.surroundings import Surroundings, side_by_side
from penstock.store.disk import Disk
from penstock.store.local import LocalStore


class Point(NamedTuple):
    """Before or after the nth call of this kind on a key like this."""

    call: str
    key: str
    nth: int = 1
    after: bool = False
    how: int = signal.SIGKILL


ENTRY, MARKER = "_penstock/*/journal/*", "_penstock/*/done/*"
POINTS = {
    "C2": Point("create", ENTRY, 2, after=True),
    "C5": Point("create", ENTRY, 3),
    "C6": Point("create", ENTRY, 3, after=True),
    "C7": Point("staged", "*.staged"),
    "C8": Point("prove", ""),
    "C9": Point("create", ENTRY, 4),
    "C10": Point("create", ENTRY, 4, after=True),
    "C11": Point("publish", "*", 1),
    "C12": Point("publish", "*", 2),
    "C13": Point("unlink", "*.staged", 2),
    "C14": Point("create", MARKER),
    "C15": Point("create", MARKER, after=True),
}
PAUSES = {
    "Z1": Point("create", ENTRY, 4, how=signal.SIGSTOP),
    "Z3": Point("publish", "*", 2, how=signal.SIGSTOP),
}


def die(how: int = signal.SIGKILL) -> None:
    """The whole process group: driver, JVM and workers."""
    os.killpg(os.getpgrp(), how)


class DyingDisk(Disk):
    """Dies before it consumes a staged file: shown, and not yet consumed."""

    def __init__(self, count: Callable[[str, str], bool]) -> None:
        super().__init__()
        self._count = count

    def unlink(self, path: str) -> None:
        """Perhaps for the last time."""
        if self._count("unlink", path):
            die()
        super().unlink(path)


class DyingStore(LocalStore):
    """A local store whose process dies at one point. Tasks get a plain one: it pickles as such."""

    def __init__(self, root: str, point: Point) -> None:
        self._point = point
        self._seen = 0
        super().__init__(root, DyingDisk(self._is_due))

    def create(self, key: str, data: bytes) -> bool:
        """Perhaps for the last time."""
        is_due = self._is_due("create", key)
        if is_due and not self._point.after:
            die(self._point.how)
        created = super().create(key, data)
        if is_due and self._point.after:
            die()
        return created

    def publish(self, handle: StagedHandle) -> None:
        """Perhaps for the last time."""
        if self._is_due("publish", handle.final):
            die(self._point.how)
        super().publish(handle)

    def _is_due(self, call: str, key: str) -> bool:
        if call != self._point.call or not fnmatch(key, self._point.key):
            return False
        self._seen += 1
        return self._seen == self._point.nth


def die_when_staged(lake: Path) -> None:
    """Watch from the side, and die while the job runs with some files staged."""
    while not list(lake.rglob("*.staged")):
        time.sleep(0.002)
    die()


def a_feed(topic: str, max_records: int = 400) -> FeedSpec:
    """What is delivered in these tests."""
    return FeedSpec(
        name="events",
        topics=(topic,),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="event_time", unit="ms"),
        window=WindowSpec(max_records=max_records),
        quarantine=QuarantineSpec(min_records=10_000),
    )


def main(lake: str, bootstrap: str, topic: str, point: str) -> int:
    """Run until the point is reached; getting to the end means that it never was."""
    chosen = {**POINTS, **PAUSES}[point]
    if chosen.call == "staged":
        threading.Thread(target=die_when_staged, args=(Path(lake),), daemon=True).start()
    if chosen.call == "prove":  # all is staged, and nothing of it was looked at
        setattr(owner, "prove", lambda *_: die())  # noqa: B010
    fast = {
        "spark.master": "local[2]",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    }
    spark = open_session("crashing", fast, jar_paths(CONNECTOR, places.jar_cache()))
    around = Surroundings(time.time, time.sleep, SystemRandom(), do_all=side_by_side)
    store = DyingStore(lake, chosen)
    tools = FeedTools(lambda: spark, {"bootstrap.servers": bootstrap}, store, around)
    runner = Runner((a_feed(topic),), tools, lambda _event: None, lambda: False, RunSpec(once=True))
    return runner.run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
