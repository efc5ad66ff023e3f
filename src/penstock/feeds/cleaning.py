"""Upkeep of feeds beside their loops: cleaning after each claim and once an hour, and other jobs.

It is a thread of its own, so that no window waits for it and none that is delivered can fail by it.
What a job does is decided elsewhere; repeating it is always safe, and so is doing it late.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import PenstockError
from penstock.feeds.run_events import Event, Fact, Tell

EVERY_S = 3600.0
END_S = 10.0  # how long the end of a run waits; what is left is done by the next
HURRIED_S = 1.0  # the same for a run that was asked to stop


@dataclass(frozen=True, slots=True)
class Job:
    """Something that a feed needs done beside its loop, such as `cleaning`.

    `act` may be called by any thread, any number of times; it returns what is worth telling.
    """

    name: str
    act: Callable[[], Event | None]


class Kept(Protocol):
    """A feed that is owned."""

    @property
    def name(self) -> str:
        """Which feed it is."""
        ...

    def regular_jobs(self) -> Iterable[Job]:
        """What has to be done after a claim and every hour, in this order. Any thread."""
        ...


@dataclass(slots=True)
class _Asked:
    """A job that waits for its turn, and how often in a row it has failed."""

    job: Job
    due: float
    failures: int = 0


class Cleaner:
    """Does jobs until stopped, one after the other. What fails is told, and tried again later.

    Each feed has at most one job of a name waiting: the newest, which does what older ones would.
    """

    def __init__(
        self,
        feeds: Callable[[], Iterable[Kept]],
        tell: Tell,
        tick: Callable[[], float],
        every_s: float = EVERY_S,
        name: str = "penstock-cleaner",
        longest_s: float = EVERY_S,
    ) -> None:
        self._feeds = feeds
        self._tell = tell
        self._tick = tick
        self._every_s = every_s
        self._longest_s = longest_s
        self._next_round = tick() + every_s
        self._asked: dict[tuple[str, str], _Asked] = {}
        self._is_ending = False
        self._end_s = END_S
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def __enter__(self) -> "Cleaner":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Finish what was asked for, if that is soon."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()
        self._thread.join(self._end_s)

    def hurry(self) -> None:
        """The run was asked to stop: do not wait long for what is being done. Any thread."""
        self._end_s = HURRIED_S

    def soon(self, feed: Kept) -> None:
        """Do the regular jobs of a feed that was just claimed. Any thread."""
        for job in feed.regular_jobs():
            self.ask(feed.name, job)

    def ask(self, feed: str, job: Job) -> None:
        """Do a job of a feed soon, in place of an older one of that name. Returns at once."""
        with self._changed:
            self._asked.pop((feed, job.name), None)
            self._asked[feed, job.name] = _Asked(job, self._tick())
            self._changed.notify()

    def _run(self) -> None:
        while True:
            turn = self._next()
            if turn is not None:
                self._do(*turn)
            elif self._is_ending:
                return
            else:
                self._begin_round()

    def _next(self) -> tuple[str, _Asked] | None:
        """Wait for a job that is due; None at the end, and when it is time for a round."""
        with self._changed:
            while True:
                now = self._tick()
                due = [key for key, asked in self._asked.items() if asked.due <= now]
                if due:
                    return due[0][0], self._asked.pop(due[0])
                if self._is_ending or now >= self._next_round:
                    return None
                waits = [asked.due for asked in self._asked.values()]
                self._changed.wait(min([self._next_round, *waits]) - now)

    def _begin_round(self) -> None:
        self._next_round = self._tick() + self._every_s
        for feed in self._feeds():
            self.soon(feed)

    def _do(self, feed: str, asked: _Asked) -> None:
        try:
            event = asked.job.act()
        except Exception as error:  # noqa: BLE001 - the outermost edge of this thread
            self._failed(feed, asked, error)
            return
        if event is not None:
            self._tell(event)

    def _failed(self, feed: str, asked: _Asked, error: Exception) -> None:
        """Tell it, and try again a little later each time, unless a newer job came meanwhile."""
        asked.failures += 1
        pause_s = min(2.0 ** min(asked.failures - 1, 30), self._longest_s)
        code = error.code if isinstance(error, PenstockError) else type(error).__name__
        sentence = f"{asked.job.name} failed and is tried again in {pause_s:.0f} s: {error}"
        facts: dict[str, Fact] = {"job": asked.job.name, "code": code, "pause_s": pause_s}
        self._tell(Event(feed, "upkeep_failed", sentence, facts, "warning"))
        with self._changed:
            asked.due = self._tick() + pause_s
            self._asked.setdefault((feed, asked.job.name), asked)
