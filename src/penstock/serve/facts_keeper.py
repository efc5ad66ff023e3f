"""The facts of all feeds, read when somebody asks, at most every few seconds, by one thread.

Nobody who asks waits for a slow lake: after a moment they get the facts of before, with their age.
"""

import threading
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from penstock.errors import PenstockError
from penstock.runtime.run_figures import FeedFigures, RunFigures
from penstock.runtime.surroundings import Surroundings
from penstock.serve.brief_entries import BriefEntry
from penstock.serve.feed_facts import FeedFacts, LakeFacts
from penstock.serve.feed_reader import FeedReader

MAX_AGE_S = 3.0  # facts that are younger are not read again
WAIT_S = 4.0  # how long who asks waits for newer facts
OLD_S = 30.0  # when facts are older and cannot be renewed, the lake does not answer
SLOW = "The lake has not answered for {:.0f} s."
NOT_YET = "The lake has not been read yet."


class FactsKeeper:
    """Gives the facts of now, or of a moment ago. Any thread."""

    def __init__(
        self,
        readers: Sequence[FeedReader],
        check_lake: Callable[[], object],
        around: Surroundings,
        figures: RunFigures | None = None,
    ) -> None:
        self._readers = {each.feed.name: each for each in readers}
        self._check_lake = check_lake
        self._around = around
        self._figures = figures
        self._facts: LakeFacts | None = None
        self._began = around.tick()  # of the last reading
        self._answered: float | None = None  # when the last reading ended, whatever it found
        self._reading = False
        self._changed = threading.Condition()
        self._in_use = threading.Lock()  # of the readers

    def facts(self, wait_s: float = WAIT_S, max_age_s: float = MAX_AGE_S) -> LakeFacts:
        """The newest facts. Facts that nobody could renew say so in `lake`."""
        with self._changed:
            if self._age_s() > max_age_s:
                self._begin_reading()
                self._changed.wait_for(lambda: not self._reading, wait_s)
            return self._now(self._facts)

    def windows(self, feed: str, most: int, wait_s: float = WAIT_S) -> list[BriefEntry] | None:
        """The last windows of a feed; None if the lake is too slow. Call `facts` before."""
        if not self._in_use.acquire(timeout=wait_s):
            return None
        try:
            return self._readers[feed].windows(most)
        finally:
            self._in_use.release()

    def reader(self, feed: str) -> FeedReader | None:
        """The reader of a feed; None for a feed that is not there."""
        return self._readers.get(feed)

    def _age_s(self) -> float:
        return float("inf") if self._answered is None else self._around.tick() - self._answered

    def _begin_reading(self) -> None:
        """Let one thread read, unless one does already: it may hang as long as the lake does."""
        if not self._reading:
            self._reading, self._began = True, self._around.tick()
            threading.Thread(target=self._read, name="penstock-facts", daemon=True).start()

    def _now(self, known: LakeFacts | None) -> LakeFacts:
        """What is known, with what this process has counted since."""
        slow = SLOW.format(self._around.tick() - self._began) if self._reading else ""
        if known is None:
            return LakeFacts(self._around.now(), lake=slow or NOT_YET)
        feeds = tuple(
            msgspec.structs.replace(each, live=self._live(each.feed)) for each in known.feeds
        )
        is_old = self._age_s() > OLD_S
        return msgspec.structs.replace(known, feeds=feeds, lake=known.lake or slow * is_old)

    def _live(self, feed: str) -> FeedFigures | None:
        return None if self._figures is None else self._figures.of(feed).figures()

    def _read(self) -> None:
        with self._in_use:
            found = self._renewed(self._facts)
        with self._changed:
            self._facts, self._reading = found, False
            self._answered = self._around.tick()
            self._changed.notify_all()

    def _renewed(self, before: LakeFacts | None) -> LakeFacts:
        """Read everything again. What cannot be read stays as it was."""
        now_s = self._around.now()
        before = before or LakeFacts(now_s)
        try:
            self._check_lake()
        except PenstockError as error:
            return msgspec.structs.replace(before, lake=str(error))
        except Exception as error:  # noqa: BLE001  a store that raises anything else is down, too
            return msgspec.structs.replace(before, lake=_unexpected(error))
        found: dict[str, FeedFacts] = {each.feed: each for each in before.feeds}
        unreadable: dict[str, str] = {}
        self._around.do_all(
            [
                partial(self._read_one, reader, now_s, found, unreadable)
                for reader in self._readers.values()
            ]
        )
        feeds = tuple(found[name] for name in self._readers if name in found)
        return LakeFacts(now_s, feeds, unreadable)

    def _read_one(
        self,
        reader: FeedReader,
        now_s: float,
        found: dict[str, FeedFacts],
        unreadable: dict[str, str],
    ) -> None:
        name = reader.feed.name
        try:
            found[name] = reader.read(now_s)
        except PenstockError as error:
            unreadable[name] = str(error)
        except Exception as error:  # noqa: BLE001  one feed must not take the others with it
            unreadable[name] = _unexpected(error)


def _unexpected(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
