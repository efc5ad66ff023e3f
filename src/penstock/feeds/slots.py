"""The slots of a run: how many feeds read at once. Only work that uses Spark needs one.

A feed is given a slot while its thread waits for one, so that a feed whose thread is elsewhere
keeps nobody waiting. Who gets it is decided in `next_feeds.py`.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from penstock.api.source import ReadFailed
from penstock.feeds.next_feeds import WaitingFeed, next_feeds
from penstock.model.spec import FeedSpec, RunLimits

GRANT_S = 5.0  # a slot that was given and is not used by then goes to others
UPKEEP_EVERY_S = 600.0  # work beside the windows has waited too long after three of these
LOOK_S = 1.0  # how often a feed that has to wait looks whether the run is stopping


class Slots:
    """The slots of one run. Any thread; a feed is known by its name, and has one slot at most."""

    def __init__(self, limits: RunLimits, tick: Callable[[], float]) -> None:
        self._limits = limits
        self._tick = tick
        self._changed = threading.Condition()
        self._waiting: dict[str, WaitingFeed] = {}
        self._present: set[str] = set()  # of those that wait: whose thread is here
        self._given: dict[str, tuple[str, float]] = {}  # pool, and when; not used yet
        self._taken: dict[str, str] = {}

    def take(self, feed: WaitingFeed, timeout_s: float = 0.0) -> bool:
        """Take a slot, as soon as it is this feed's turn; False when it is not in time.

        Then the feed keeps its place in line. One that has a slot has it.
        """
        with self._changed:
            if feed.feed in self._taken:
                return True
            self._queue(feed)
            self._present.add(feed.feed)
            try:
                return self._changed.wait_for(lambda: self._try_take(feed.feed), timeout_s)
            finally:
                self._present.discard(feed.feed)

    def wait(self, feed: str, timeout_s: float) -> bool:
        """Wait until a feed that could not take a slot is given one; False when the time is over.

        It has to `take` it soon: what it does in between, such as a look at its source, may hang.
        """
        with self._changed:
            if feed not in self._waiting:
                return True
            self._present.add(feed)
            try:
                return self._changed.wait_for(lambda: self._is_given(feed), timeout_s)
            finally:
                self._present.discard(feed)

    def release(self, feed: str) -> None:
        """Give the slot back, if there is one. A place in line stays."""
        with self._changed:
            self._taken.pop(feed, None)
            self._given.pop(feed, None)
            self._changed.notify_all()

    def leave(self, feed: str) -> None:
        """Give back the slot and the place in line: there is nothing to read."""
        with self._changed:
            self._waiting.pop(feed, None)
        self.release(feed)

    def waiting_since(self, feed: str) -> float | None:
        """Since when a feed waits for a slot; None: it does not."""
        with self._changed:
            waiting = self._waiting.get(feed)
            return None if waiting is None else waiting.since_s

    def _queue(self, feed: WaitingFeed) -> None:
        before = self._waiting.get(feed.feed)
        if before is not None:
            feed = WaitingFeed(
                feed.feed, before.since_s, feed.every_s, feed.last_s, feed.priority, feed.pool
            )
        self._waiting[feed.feed] = feed

    def _try_take(self, feed: str) -> bool:
        if not self._is_given(feed):
            return False
        pool, _ = self._given.pop(feed)
        self._taken[feed] = pool
        self._waiting.pop(feed, None)
        return True

    def _is_given(self, feed: str) -> bool:
        """Give out what is free, and look whether this feed has got something."""
        now_s = self._tick()
        self._given = {
            name: (pool, at) for name, (pool, at) in self._given.items() if now_s - at < GRANT_S
        }
        if feed not in self._given:
            here = [each for name, each in self._waiting.items() if name in self._present]
            running = self._taken | {name: pool for name, (pool, _) in self._given.items()}
            free = [each for each in here if each.feed not in running]
            chosen = next_feeds(free, running, self._limits, now_s)
            for name in chosen:
                self._given[name] = (self._waiting[name].pool, now_s)
            if set(chosen) - {feed}:
                self._changed.notify_all()
        return feed in self._given


class FeedSlot:
    """One feed's way to the slots. Used by the feed's thread.

    `moved` is called while it waits, so that nobody takes the feed for dead.
    """

    def __init__(
        self,
        slots: Slots,
        feed: FeedSpec,
        tick: Callable[[], float],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._slots = slots
        self._feed = feed
        self._tick = tick
        self._is_stopping = is_stopping
        self.last_s: Callable[[], float] = lambda: 0.0  # how long recent windows took
        self.moved: Callable[[], None] = lambda: None

    @property
    def is_stopping(self) -> bool:
        """True when the run was asked to stop."""
        return self._is_stopping()

    def for_upkeep(self, word: str) -> "FeedSlot":
        """A way to another slot, for work beside the windows: behind everything that waits.

        But not for ever: after half an hour it is its turn.
        """
        window = msgspec.structs.replace(self._feed.window, every_s=UPKEEP_EVERY_S)
        beside = msgspec.structs.replace(
            self._feed, name=f"{self._feed.name} ({word})", priority=0, window=window
        )
        return FeedSlot(self._slots, beside, self._tick, self._is_stopping)

    @property
    def is_waited_for(self) -> bool:
        """True when the feed has a window to read, and no slot."""
        return self._slots.waiting_since(self._feed.name) is not None

    def try_take(self) -> bool:
        """Take a slot if it is the feed's turn now; else it is in line from now on."""
        return self._slots.take(self._in_line())

    def wait(self, timeout_s: float) -> bool:
        """Wait for a slot; False when the time is over first."""
        return self._slots.wait(self._feed.name, timeout_s)

    def release(self) -> None:
        """Give the slot back; a place in line stays."""
        self._slots.release(self._feed.name)

    def leave(self) -> None:
        """Give back the slot and the place in line."""
        self._slots.leave(self._feed.name)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Around work that uses Spark: waits for a slot, if there is none yet, and frees it.

        Raises `ReadFailed` when the run stops first.
        """
        while not self._slots.take(self._in_line(), LOOK_S):
            self.moved()
            if self._is_stopping():
                self.leave()
                raise ReadFailed(f"of {self._feed.name}", "the run stops, and no slot was free")
        try:
            yield
        finally:
            self.release()

    def _in_line(self) -> WaitingFeed:
        feed = self._feed
        return WaitingFeed(
            feed.name,
            self._tick(),
            feed.window.every_s,
            self.last_s(),
            feed.priority,
            feed.pool,
        )


def slot_of_its_own(feed: FeedSpec, tick: Callable[[], float]) -> FeedSlot:
    """For a feed that runs alone: always free."""
    return FeedSlot(Slots(RunLimits(parallel=1), tick), feed, tick)
