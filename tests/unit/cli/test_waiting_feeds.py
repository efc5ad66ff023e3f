"""Feeds that wait for the same servers share a line."""

from collections.abc import Callable

from penstock.cli.waiting_feeds import AGAIN_S, MOMENT_S, WaitingFeeds
from penstock.feeds.run_events import Event


class Later:
    """What is to be done later, in the order of its time."""

    def __init__(self) -> None:
        self._now = 0.0
        self._acts: list[tuple[float, int, Callable[[], None]]] = []

    def __call__(self, seconds: float, act: Callable[[], None]) -> None:
        self._acts.append((self._now + seconds, len(self._acts), act))

    def wait(self, seconds: float) -> None:
        self._now += seconds
        for each in sorted(each for each in self._acts if each[0] <= self._now):
            self._acts.remove(each)
            each[2]()


def test_fifty_feeds_of_one_broker_are_one_line() -> None:
    told: list[Event] = []
    later = Later()
    waiting = WaitingFeeds(told.append, later)
    feeds = [waiting.add(f"feed-{n:02}", "b:1") for n in range(50)]
    for say in feeds:
        say("waiting for Kafka at b:1: no answer yet")
    assert told == []
    later.wait(MOMENT_S)
    (event,) = told
    assert (event.feed, event.name, event.level) == ("", "waiting_for_source", "warning")
    assert event.facts == {"feeds": 50}
    assert event.sentence == (
        "waiting for Kafka at b:1: no answer yet; 50 feeds wait: feed-00, feed-01, feed-02 "
        "and 47 more"
    )


def test_those_that_begin_to_wait_later_share_a_line_too() -> None:
    told: list[Event] = []
    later = Later()
    waiting = WaitingFeeds(told.append, later)
    feeds = [waiting.add(str(n), "b:1") for n in range(20)]
    for say in feeds:
        say("no answer yet")
        later.wait(MOMENT_S)
    later.wait(AGAIN_S)
    assert [(each.feed, each.facts["feeds"]) for each in told] == [("0", 1), ("", 19)]
    later.wait(10 * AGAIN_S)
    feeds[0]("no answer yet")
    feeds[1]("no answer yet")
    later.wait(MOMENT_S)
    assert told[-1].facts == {"feeds": 2}, "after a while, it is told at once again"
    assert len(told) == 3


def test_feeds_of_other_servers_have_lines_of_their_own() -> None:
    told: list[Event] = []
    later = Later()
    waiting = WaitingFeeds(told.append, later)
    alone = waiting.add("alone", "c:1")
    both = [waiting.add(name, "b:1") for name in ("one", "two")]
    alone("no answer from c")
    assert [(each.feed, each.sentence) for each in told] == [("alone", "no answer from c")]
    for say in both:
        say("no answer from b")
    later.wait(MOMENT_S)
    assert told[1].sentence == "no answer from b; 2 feeds wait: one, two"
    assert len(told) == 2
