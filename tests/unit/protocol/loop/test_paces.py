"""When each topic of a feed is due, and how much a rate allows."""

from penstock.model.ranges import OffsetRange
from penstock.protocol.loop.pace import Rate
from penstock.protocol.loop.paces import FeedPaces, Paces, PaceSpec
from penstock.protocol.loop.topic_plan import SHARED, WaitingPart


class Clock:
    def __init__(self) -> None:
        self.tick_s = 5.0

    def __call__(self) -> float:
        return self.tick_s


def waiting(cap: int = 100, **records: int) -> list[WaitingPart]:
    """What waits by part; `shared` is that of all other topics."""
    names = {"shared": SHARED}
    return [WaitingPart(names.get(part, part), count, cap) for part, count in records.items()]


def a_range(topic: str, records: int) -> OffsetRange:
    return OffsetRange(topic, f"id-{topic}", 0, 0, records)


def held_back(paces: Paces) -> bool:
    return paces.is_held_back


def two(clock: Clock) -> Paces:
    spec = FeedPaces(PaceSpec(10.0), {"big": PaceSpec(300.0)})
    return Paces(spec, clock)


def test_what_is_there_at_the_start_goes_at_once_whatever_its_policy() -> None:
    assert two(Clock()).choose(waiting(shared=1, big=1)) == {SHARED: 1, "big": 1}


def test_a_topic_that_is_not_due_waits_and_holds_no_other() -> None:
    clock = Clock()
    paces = two(clock)
    paces.delivered([a_range("a", 1), a_range("big", 1)])
    assert paces.choose(waiting(shared=3, big=3)) == {}
    clock.tick_s += 10
    assert paces.choose(waiting(shared=4, big=50)) == {SHARED: 4}
    paces.delivered([a_range("a", 4)])
    for _ in range(28):
        clock.tick_s += 10
        paces.choose(waiting(shared=1, big=60))
        paces.delivered([a_range("a", 1)])
    assert paces.choose(waiting(shared=0, big=60)) == {}
    clock.tick_s += 10
    assert paces.choose(waiting(shared=0, big=70)) == {"big": 70}


def test_a_topic_that_is_full_does_not_wait_for_its_age() -> None:
    clock = Clock()
    paces = two(clock)
    paces.delivered([a_range("a", 1), a_range("big", 1)])
    assert paces.choose(waiting(shared=1, big=100)) == {"big": 100}


def test_those_that_have_waited_longest_come_first() -> None:
    """Goal: no part starves where the feed's own bound is small. Method: all are always full."""
    clock = Clock()
    paces = Paces(FeedPaces(PaceSpec(10.0), {"b": PaceSpec(10.0)}), clock)
    first = []
    for _ in range(6):
        clock.tick_s += 1
        part = next(iter(paces.choose(waiting(shared=500, b=500))))
        first.append(part)
        paces.delivered([a_range(part or "a", 100)])
    assert first[2:] in (["", "b", "", "b"], ["b", "", "b", ""])


def test_a_rate_bounds_what_is_taken_while_catching_up() -> None:
    """Goal: no more than the rate on average, after the first `every`. Method: a large backlog,
    asked every second for ten minutes."""
    clock = Clock()
    paces = Paces(FeedPaces(PaceSpec(10.0, max_rate=50)), clock)
    taken = []
    for _ in range(600):
        chosen = paces.choose(waiting(cap=10_000, shared=10**6))
        if chosen:
            taken.append(chosen[SHARED])
            paces.delivered([a_range("a", chosen[SHARED])])
        clock.tick_s += 1
    assert set(taken) == {500}, "one window for each `every`"
    assert sum(taken) == 600 * 50


def test_a_window_smaller_than_the_rate_allows_is_cut_more_often() -> None:
    clock = Clock()
    paces = Paces(FeedPaces(PaceSpec(10.0, max_rate=50)), clock)
    times = []
    for second in range(30):
        chosen = paces.choose(waiting(cap=100, shared=10**6))
        if chosen:
            times.append(second)
            paces.delivered([a_range("a", chosen[SHARED])])
        clock.tick_s += 1
    assert times == [0, 1, 2, 3, 4, 5, 6, 7, *range(8, 30, 2)][: len(times)]
    assert len(times) * 100 <= 50 * (30 + 10)


def test_a_quiet_feed_does_not_notice_its_rate() -> None:
    clock = Clock()
    paces = Paces(FeedPaces(PaceSpec(10.0, max_rate=50)), clock)
    for _ in range(5):
        paces.choose(waiting(shared=30))
        paces.delivered([a_range("a", 30)])
        assert paces.choose(waiting(shared=30)) == {}
        assert not paces.is_held_back
        clock.tick_s += 10
        assert paces.choose(waiting(shared=30)) == {SHARED: 30}


def test_the_rate_of_a_feed_bounds_all_topics_together_and_that_of_a_topic_its_own() -> None:
    clock = Clock()
    spec = FeedPaces(PaceSpec(10.0, max_rate=100), {"big": PaceSpec(10.0, max_rate=20)})
    paces = Paces(spec, clock)
    assert paces.choose(waiting(cap=10_000, shared=10**6, big=10**6)) == {SHARED: 1_000}
    assert paces.choose(waiting(cap=10_000, shared=300, big=10**6)) == {SHARED: 300, "big": 200}


def test_only_a_rate_holds_back_what_is_read_once() -> None:
    clock = Clock()
    paces = Paces(FeedPaces(PaceSpec(10.0, max_rate=50)), clock, eager=True)
    assert paces.choose(waiting(cap=10_000, shared=10**6)) == {SHARED: 500}
    paces.delivered([a_range("a", 500)])
    assert paces.choose(waiting(cap=10_000, shared=700)) == {}
    assert held_back(paces)
    clock.tick_s += 10
    assert paces.choose(waiting(cap=10_000, shared=700)) == {SHARED: 500}
    assert not held_back(paces)
    assert paces.choose(waiting(shared=0)) == {}
    assert not held_back(paces)


def test_a_rate_below_one_record_a_window_still_lets_records_through() -> None:
    clock = Clock()
    rate = Rate(0.01, 10.0, clock)
    assert rate.allowed(5) == 1
    rate.spend(1)
    assert rate.allowed(5) == 0
    clock.tick_s += 100
    assert rate.allowed(5) == 1
