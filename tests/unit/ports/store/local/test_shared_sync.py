"""Syncs that are asked for at the same time: shared, and never by one that began too early."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.ports.store.local.shared_sync import SharedCalls


class CountingLock:
    """A lock that says when it has been left so many times."""

    def __init__(self, times: int) -> None:
        self._lock = threading.Lock()
        self._left = times
        self.is_reached = threading.Event()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._left -= 1
        if self._left == 0:
            self.is_reached.set()
        self._lock.release()


def test_calls_one_after_the_other_are_all_made() -> None:
    made: list[str] = []
    act = SharedCalls(made.append)
    act("a")
    act("b")
    act("a")
    assert made == ["a", "b", "a"]


def test_calls_during_an_act_share_the_next_one() -> None:
    made: list[float] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow(_path: str) -> None:
        made.append(time.monotonic())
        begun.set()
        assert go_on.wait(30)

    act = SharedCalls(slow)
    all_wait = CountingLock(2 + 8)  # the first asks and begins; each other one asks
    act._guard = all_wait  # type: ignore[assignment]
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(act, "a")
        assert begun.wait(30)
        asked = time.monotonic()
        others = [threads.submit(act, "a") for _ in range(8)]
        assert all_wait.is_reached.wait(30)
        go_on.set()
        for each in [first, *others]:
            each.result(30)
    assert len(made) == 2
    assert made[1] > asked


def test_every_name_is_covered_by_a_sync_that_began_after_it() -> None:
    """Method: names are given while syncs run, and each must be in what its own sync saw."""
    names: set[int] = set()
    durable: set[int] = set()

    def sync(_path: str) -> None:
        seen = set(names)
        time.sleep(0.0005)
        durable.update(seen)

    act = SharedCalls(sync)

    def give(number: int) -> bool:
        names.add(number)
        act("a")
        return number in durable

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(give, range(2_000)))


def test_a_failure_reaches_all_who_shared_it_and_nobody_else() -> None:
    begun, go_on = threading.Event(), threading.Event()
    fails = [True]

    def act(_path: str) -> None:
        if not begun.is_set():
            begun.set()
            assert go_on.wait(30)
        elif fails[0]:
            raise OSError("no")

    shared = SharedCalls(act)
    with ThreadPoolExecutor(5) as threads:
        first = threads.submit(shared, "a")
        assert begun.wait(30)
        others = [threads.submit(shared, "a") for _ in range(4)]
        while not shared._waiting:
            time.sleep(0.001)
        go_on.set()
        first.result(30)
        for each in others:
            with pytest.raises(OSError, match="no"):
                each.result(30)
    fails[0] = False
    shared("a")
