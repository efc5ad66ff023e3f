"""Failures in a row, counted on many threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest

from penstock.errors import ForeignFile, OutcomeUnknown, PenstockError, StoreUnavailable
from penstock.ports.store.breaker import MANY_FAILURES, Breaker


def failing(error: PenstockError) -> Callable[[str], None]:
    def act(_thing: str) -> None:
        raise error

    return act


@pytest.mark.parametrize(
    "error", [StoreUnavailable("publish", "a", "down"), OutcomeUnknown("publish", "a", "silent")]
)
def test_after_some_failures_in_a_row_nothing_is_asked(error: PenstockError) -> None:
    breaker = Breaker()
    asked = breaker.guarded(failing(error), "publish")
    for _ in range(MANY_FAILURES):
        assert not breaker.is_open
        with pytest.raises(type(error)):
            asked("a")
    with pytest.raises(StoreUnavailable, match="so it was not asked"):
        breaker.guarded(lambda _thing: None, "publish")("a")


def test_an_answer_in_between_begins_the_row_again() -> None:
    breaker = Breaker()
    fails = breaker.guarded(failing(StoreUnavailable("publish", "a", "down")), "publish")
    succeeds = breaker.guarded(lambda _thing: None, "publish")
    foreign = breaker.guarded(failing(ForeignFile("a", "b", "c")), "publish")
    for each in (fails, fails, foreign, fails, fails, succeeds):
        with suppress(PenstockError):
            each("a")
    assert not breaker.is_open


def test_of_failures_at_the_same_moment_each_counts() -> None:
    for _ in range(200):
        breaker = Breaker()
        barrier = Barrier(MANY_FAILURES)

        def act(_thing: str, at_once: Barrier = barrier) -> None:
            at_once.wait()
            raise StoreUnavailable("publish", "a", "down")

        with ThreadPoolExecutor(MANY_FAILURES) as threads:
            begun = [threads.submit(breaker.guarded(act, "publish"), "a") for _ in range(3)]
        assert all(isinstance(each.exception(), StoreUnavailable) for each in begun)
        assert breaker.is_open
