"""Compaction beside the loop of a feed: when a round is due, and what is told of it.

A thread of its own does the rounds of all feeds of a run, one after the other, and its tasks need a
slot like any window: the lowest in line, so that compaction takes one slot at most, and windows
that wait go first.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from penstock.api.source import ReadFailed
from penstock.errors import PenstockError
from penstock.feeds.cleaning import Job
from penstock.feeds.run_events import Event, Fact
from penstock.feeds.slots import FeedSlot
from penstock.model.compacted import Compacted
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.run_figures import FeedCounters
from penstock.runtime.surroundings import Surroundings

LOOK_S = 30.0  # how often it is looked whether a round is due

Held = Callable[[], AbstractContextManager[None]]
GoOn = Callable[[], None]


class Compact(Protocol):
    """One round of compaction of a feed. Called by one thread."""

    def __call__(
        self, feed: FeedSpec, journal: FeedJournal, held: Held, go_on: GoOn, /
    ) -> Compacted:
        """Compact what is due; tasks run only within `held`. `go_on` raises when it has to end."""
        ...


NextRound = Callable[[FeedSpec, float], float]


class FeedCompaction:
    """The rounds of one feed. Used by the thread of compaction, but for `is_wanted`."""

    def __init__(
        self,
        feed: FeedSpec,
        compact: Compact | None,
        next_round: NextRound,
        around: Surroundings,
        counters: FeedCounters,
        slot: FeedSlot,
    ) -> None:
        self._feed = feed
        self._compact = compact
        self._next_round = next_round
        self._around = around
        self._counters = counters
        self._slot = slot.for_upkeep("compaction")
        self._due_s = 0.0

    @property
    def is_wanted(self) -> bool:
        """True when the configuration asks for compaction inside a run."""
        return self._compact is not None and self._feed.compact.when != "off"

    def jobs(self, journal: Callable[[], FeedJournal]) -> Iterator[Job]:
        """A round, if one is due. What fails is tried again after a pause, as all upkeep."""
        now_s = self._around.now()
        if self.is_wanted and now_s >= self._due_s:
            self._due_s = self._next_round(self._feed, now_s)
            yield Job("compaction", lambda: self._round(journal()))

    def _round(self, journal: FeedJournal) -> Event | None:
        if self._compact is None:
            return None
        began = self._around.tick()

        @contextmanager
        def held() -> Iterator[None]:
            """Around the tasks for one directory."""
            nonlocal began
            with self._slot.held():
                began = self._around.tick()
                yield

        def go_on() -> None:
            """Raise when the run stops, or one directory takes longer than a window may."""
            if self._slot.is_stopping:
                raise ReadFailed(f"of {self._feed.name}", "the run stops")
            if self._around.tick() - began > self._feed.timeout_s:
                why = (
                    f"a directory takes longer to compact than timeout ({self._feed.timeout_s:g} s)"
                )
                raise ReadFailed(f"of {self._feed.name}", why)

        try:
            done = self._compact(self._feed, journal, held, go_on)
        except PenstockError:
            if self._slot.is_stopping:
                return None  # nothing is lost, and the next run goes on
            raise
        self._counters.debt_is(done.debt)
        if not done.files:
            return None
        facts: dict[str, Fact] = {
            "directories": done.directories,
            "files": done.files,
            "into": done.into,
            "bytes": done.size_bytes,
        }
        return Event(self._feed.name, "compacted", done.sentence(), facts)


class Compacting(Protocol):
    """A feed that is owned, and may want compaction."""

    @property
    def name(self) -> str:
        """Which feed it is."""
        ...

    def compaction_jobs(self) -> Iterable[Job]:
        """A round of compaction, if one is due. Any thread."""
        ...


class CompactedFeed:
    """A feed as the thread of compaction sees it: its regular jobs are its rounds."""

    def __init__(self, feed: Compacting) -> None:
        self._feed = feed

    @property
    def name(self) -> str:
        """Which feed it is."""
        return self._feed.name

    def regular_jobs(self) -> Iterable[Job]:
        """A round, if one is due."""
        return self._feed.compaction_jobs()
