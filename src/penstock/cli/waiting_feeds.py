"""Tells what sources are waited for: one line for all feeds that wait for the same servers.

With fifty feeds at one broker that does not answer, fifty lines would say the same.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.feeds.run_events import Event, Tell
from penstock.model.plural import number_of

MOMENT_S = 1.0  # feeds that begin to wait within it share a line
AGAIN_S = 30.0  # those that begin later share one after so long
MOST_NAMED = 3

After = Callable[[float, Callable[[], None]], None]


def after(seconds: float, act: Callable[[], None]) -> None:
    """Do it later, on a thread of its own that ends with the process."""
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()


@dataclass(slots=True)
class _Servers:
    """What is known about one address."""

    feeds: int = 0  # that read from there
    waiting: dict[str, str] = field(default_factory=dict)  # what is told next, by feed
    is_due: bool = False
    is_repeated: bool = False  # a line was told a short while ago


class WaitingFeeds:
    """Gathers what feeds wait for. Feeds are added before the run; sentences come from any thread.

    The only feed of its servers is told at once.
    """

    def __init__(self, tell: Tell, later: After = after) -> None:
        self._tell = tell
        self._later = later
        self._lock = threading.Lock()
        self._places: dict[str, _Servers] = {}

    def add(self, feed: str, servers: str) -> Callable[[str], None]:
        """A feed that reads from there; what it tells when it waits goes to the result."""
        self._places.setdefault(servers, _Servers()).feeds += 1
        return lambda sentence: self._waits(feed, servers, sentence)

    def _waits(self, feed: str, servers: str, sentence: str) -> None:
        place = self._places[servers]
        if place.feeds == 1:
            self._tell(_event({feed: sentence}))
            return
        with self._lock:
            place.waiting[feed] = sentence
            if place.is_due:
                return
            place.is_due = True
        self._later(AGAIN_S if place.is_repeated else MOMENT_S, lambda: self._due(place))

    def _due(self, place: _Servers) -> None:
        with self._lock:
            waiting, place.waiting = place.waiting, {}
            place.is_due, place.is_repeated = False, True
        self._tell(_event(waiting))
        self._later(AGAIN_S, lambda: self._quiet(place))

    def _quiet(self, place: _Servers) -> None:
        with self._lock:
            place.is_repeated = place.is_due


def _event(waiting: dict[str, str]) -> Event:
    """One line; the sentence is that of the feed that began to wait first."""
    first, sentence = next(iter(waiting.items()))
    if len(waiting) == 1:
        return Event(first, "waiting_for_source", sentence, {"feeds": 1}, "warning")
    names = sorted(waiting)
    named = ", ".join(names[:MOST_NAMED])
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    told = f"{sentence}; {number_of(len(names), 'feed')} wait: {named}{more}"
    return Event("", "waiting_for_source", told, {"feeds": len(names)}, "warning")
