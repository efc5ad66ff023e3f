"""Tells that topics are not there: at once, then after growing pauses, and when they have come."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.feeds.run_events import Event, Fact
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.runtime.surroundings import Surroundings

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 3600.0


def missing_topics(
    feed: FeedSpec, known: Mapping[str, str], available: Available
) -> tuple[str, ...]:
    """The topics that a feed names, never read, and that are not there, or cannot be seen."""
    found = {topic.topic for topic in available.topics}
    return tuple(name for name in feed.topics if name not in found and name not in known)


def matches_nothing(feed: FeedSpec, available: Available) -> bool:
    """True when a feed has a pattern, and no topic that is there matches it."""
    return bool(feed.pattern) and not available.topics


@dataclass(slots=True)
class _Wait:
    """Something that is not there: since when, and when to say so again."""

    since: str
    began: float
    pause_s: float
    next_at: float


class TopicWatch:
    """Watches the topics of one feed. Used by the thread that turns it, at every turn."""

    def __init__(self, feed: FeedSpec, around: Surroundings) -> None:
        self._feed = feed
        self._around = around
        self._waits: dict[str, _Wait] = {}

    def look(self, known: Mapping[str, str], available: Available) -> Iterator[Event]:
        """What there is to say after a look at the source."""
        missing = missing_topics(self._feed, known, available)
        for name in missing:
            if (wait := self._due(name)) is not None:
                yield self._missing(name, wait)
        nothing = (self._feed.pattern,) if matches_nothing(self._feed, available) else ()
        for pattern in nothing:
            if (wait := self._due(pattern)) is not None:
                yield self._unmatched(pattern, wait)
        for name in self._waits.keys() - {*missing, *nothing}:
            yield self._come(name, self._waits.pop(name))

    def _due(self, name: str) -> _Wait | None:
        """The wait for something, if it is time to say so."""
        now = self._around.tick()
        wait = self._waits.get(name)
        if wait is None:
            wait = _Wait(self._around.timestamp(), now, FIRST_PAUSE_S, now)
            self._waits[name] = wait
        if now < wait.next_at:
            return None
        told = _Wait(wait.since, wait.began, wait.pause_s, wait.next_at)
        wait.next_at = now + wait.pause_s
        wait.pause_s = min(2 * wait.pause_s, LONGEST_PAUSE_S)
        return told

    def _missing(self, name: str, wait: _Wait) -> Event:
        sentence = (
            f"waiting for topic {name!r} since {wait.since}: it does not exist, or this user may "
            "not see it; the source is asked for it at every look, every few seconds; this line "
            f"comes again in {wait.pause_s:.0f} s"
        )
        facts: dict[str, Fact] = {"topic": name, "since": wait.since, "pause_s": wait.pause_s}
        return Event(self._feed.name, "topic_missing", sentence, facts, "warning")

    def _unmatched(self, pattern: str, wait: _Wait) -> Event:
        sentence = (
            f"no topic matches the pattern {pattern!r} since {wait.since}; topics are listed at "
            f"every look, every few seconds; this line comes again in {wait.pause_s:.0f} s"
        )
        facts: dict[str, Fact] = {"pattern": pattern, "since": wait.since, "pause_s": wait.pause_s}
        return Event(self._feed.name, "no_topic_matches", sentence, facts, "warning")

    def _come(self, name: str, wait: _Wait) -> Event:
        waited_s = self._around.tick() - wait.began
        what = "a topic matches the pattern" if name == self._feed.pattern else "there is topic"
        sentence = f"{what} {name!r} now, after {waited_s:.0f} s"
        return Event(self._feed.name, "topic_found", sentence, {"waited_s": round(waited_s, 1)})
