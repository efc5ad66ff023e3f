"""The heart of a run: no feed makes the beats of another one late, and nothing ends them."""

import threading
from collections.abc import Callable, Iterable

from penstock.feeds.heartbeat import Beating, Heart


class Feed:
    """A feed that does at each beat what the test says."""

    def __init__(self, name: str, act: Callable[[int], object]) -> None:
        self.name = name
        self.beats = 0
        self.has_three = threading.Event()
        self._act = act

    def beat(self) -> None:
        self.beats += 1
        if self.beats >= 3:
            self.has_three.set()
        self._act(self.beats)


def nothing(_beat: int) -> None:
    return None


def told_nothing(_feed: Beating, _error: Exception) -> None:
    return None


def beating(
    feeds: Iterable[Feed],
    trouble: Callable[[Beating, Exception], None] = told_nothing,
    every_s: float = 0.01,
) -> Heart:
    """A heart that beats for these feeds."""
    heart = Heart(trouble, every_s)
    for feed in feeds:
        heart.beat_for(feed)
    return heart


def test_a_feed_that_hangs_makes_no_other_one_late_and_does_not_hold_up_the_end() -> None:
    is_over = threading.Event()
    hanging = Feed("hanging", lambda _beat: is_over.wait(60.0))
    healthy = Feed("healthy", nothing)
    with beating([hanging, healthy]):
        assert healthy.has_three.wait(20.0)
    assert hanging.beats == 1
    is_over.set()


def test_two_hundred_feeds_beat_side_by_side() -> None:
    """Method: no beat ends before all have begun, which one thread, or twenty, could not do."""
    everybody = threading.Barrier(200)
    feeds = [Feed(f"feed {number}", lambda _beat: everybody.wait(60.0)) for number in range(200)]
    with beating(feeds):
        assert all(feed.has_three.wait(60.0) for feed in feeds)
        everybody.abort()


def test_an_error_of_any_kind_is_told_and_the_beats_go_on() -> None:
    told: list[tuple[str, str]] = []

    def fails(beat: int) -> None:
        if beat < 3:
            raise ValueError("the connection pool is full")

    feed = Feed("feed", fails)
    with beating([feed], lambda which, error: told.append((which.name, str(error)))):
        assert feed.has_three.wait(20.0)
    assert told == [("feed", "the connection pool is full")] * 2


def test_beats_of_many_feeds_are_spread_over_the_time() -> None:
    """They do not all reach the store at the same moment."""
    began = threading.Event()
    first, last = Feed("first", lambda _beat: began.set()), Feed("last", nothing)
    others = [Feed(f"other {number}", nothing) for number in range(14)]
    with beating([first, *others, last], every_s=16.0):
        assert began.wait(20.0)
        assert last.beats == 0
