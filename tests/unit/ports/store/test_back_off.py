"""Requests are tried again with growing pauses, and not for ever."""

from collections.abc import Callable

import pytest

from penstock.ports.store.back_off import BackOff, Waiting, try_again


class Busy(Exception):
    """An error that may pass."""


class Clock:
    """Time that passes only by sleeping, and by requests that take long."""

    def __init__(self, random: float = 1.0) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []
        self.waiting = Waiting(lambda: self.now_s, self.sleep, lambda: random)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


Asking = Callable[[bool], list[bool]]


def failing(times: int, error: Exception, on_try: Callable[[], None] = lambda: None) -> Asking:
    asked: list[bool] = []

    def act(is_repeat: bool) -> list[bool]:
        asked.append(is_repeat)
        on_try()
        if len(asked) <= times:
            raise error
        return asked

    return act


def is_busy(error: Exception) -> bool:
    return isinstance(error, Busy)


def test_what_works_is_asked_once() -> None:
    clock = Clock()
    assert try_again(failing(0, Busy()), is_busy, BackOff(), clock.waiting) == [False]
    assert clock.slept == []


def test_what_passes_is_tried_again_and_knows_that_it_is_a_repeat() -> None:
    clock = Clock()
    answer = try_again(failing(2, Busy()), is_busy, BackOff(), clock.waiting)
    assert answer == [False, True, True]
    assert clock.slept == [0.1, 0.2]


def test_the_last_error_is_raised_after_the_last_try() -> None:
    clock = Clock()
    policy = BackOff(tries=4, first_pause_s=1.0, longest_pause_s=2.0)
    act = failing(10, Busy("no answer"))
    with pytest.raises(Busy, match="no answer"):
        try_again(act, is_busy, policy, clock.waiting)
    assert clock.slept == [1.0, 2.0, 2.0]


def test_what_will_not_pass_is_not_tried_again() -> None:
    clock = Clock()
    with pytest.raises(ValueError, match="no"):
        try_again(failing(1, ValueError("no")), is_busy, BackOff(), clock.waiting)
    assert clock.slept == []


def test_no_try_begins_after_the_time_is_over() -> None:
    """Goal: a service that takes long to say no is not asked for minutes."""
    clock = Clock()
    slow = failing(10, Busy(), lambda: clock.sleep(4.0))
    with pytest.raises(Busy):
        try_again(slow, is_busy, BackOff(within_s=10.0), clock.waiting)
    assert clock.slept.count(4.0) == 3


@pytest.mark.parametrize(("random", "first_s"), [(0.0, 0.05), (1.0, 0.1)])
def test_pauses_are_spread(random: float, first_s: float) -> None:
    pauses_s = list(BackOff(tries=3).pauses_s(lambda: random))
    assert pauses_s == [first_s, 2 * first_s]
