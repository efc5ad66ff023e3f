"""Who runs next, over all kinds of queues: limits are kept, nobody is passed over for nothing."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from penstock.feeds.next_feeds import PATIENCE, WaitingFeed, is_overdue, next_feeds
from penstock.model.spec import RunLimits

NOW_S = 1_000.0
POOLS = ("", "bulk", "slow", "undeclared")

feeds = st.builds(
    WaitingFeed,
    feed=st.text("abcdefgh", min_size=1, max_size=3),
    since_s=st.floats(0.0, NOW_S),
    every_s=st.sampled_from([1.0, 60.0, 300.0]),
    last_s=st.sampled_from([0.0, 1.0, 2.0, 30.0]),
    priority=st.integers(0, 10),
    pool=st.sampled_from(POOLS),
)
queues = st.lists(feeds, max_size=12, unique_by=lambda each: each.feed)
running = st.dictionaries(
    st.text("xyz", min_size=1, max_size=3), st.sampled_from(POOLS), max_size=6
)
limits = st.builds(
    RunLimits,
    parallel=st.integers(1, 6),
    pools=st.dictionaries(st.sampled_from(["bulk", "slow"]), st.integers(1, 3)),
)


def place(feed: WaitingFeed) -> tuple[float, ...]:
    """The promise, once more: the smaller, the sooner."""
    if NOW_S - feed.since_s > PATIENCE * feed.every_s:
        return (0.0, feed.since_s)
    return (1.0, -feed.priority, -feed.last_s)


@given(queues, running, limits)
def test_slots_and_pools_are_never_exceeded(
    queue: list[WaitingFeed], at_work: dict[str, str], limit: RunLimits
) -> None:
    chosen = next_feeds(queue, at_work, limit, NOW_S)
    assert len(set(chosen)) == len(chosen)
    assert len(chosen) <= max(limit.parallel - len(at_work), 0)
    pools = {each.feed: each.pool for each in queue}
    used = Counter(at_work.values()) + Counter(pools[name] for name in chosen)
    for pool, most in limit.pools.items():
        assert used[pool] <= max(most, Counter(at_work.values())[pool])


@given(queues, running, limits)
def test_who_is_passed_over_has_no_slot_in_its_pool_or_comes_later(
    queue: list[WaitingFeed], at_work: dict[str, str], limit: RunLimits
) -> None:
    chosen = next_feeds(queue, at_work, limit, NOW_S)
    by_name = {each.feed: each for each in queue}
    used = Counter(at_work.values()) + Counter(by_name[name].pool for name in chosen)
    is_full = len(at_work) + len(chosen) >= limit.parallel
    for each in queue:
        if each.feed in chosen:
            continue
        is_pool_full = each.pool in limit.pools and used[each.pool] >= limit.pools[each.pool]
        assert is_full or is_pool_full
        if not is_pool_full:
            assert all(place(by_name[name]) <= place(each) for name in chosen)


@given(queues, running, limits)
def test_the_order_is_the_promised_one_and_does_not_depend_on_that_of_the_queue(
    queue: list[WaitingFeed], at_work: dict[str, str], limit: RunLimits
) -> None:
    chosen = next_feeds(queue, at_work, limit, NOW_S)
    by_name = {each.feed: each for each in queue}
    places = [place(by_name[name]) for name in chosen]
    assert places == sorted(places)
    assert next_feeds(reversed(queue), at_work, limit, NOW_S) == chosen


@given(queues, limits)
def test_nobody_starves(queue: list[WaitingFeed], limit: RunLimits) -> None:
    """Whoever has waited three of its `every` is among the first, however many come after it."""
    for each in queue:
        later = each.since_s + PATIENCE * each.every_s + 1.0
        rivals = [
            WaitingFeed(f"rival{number}", later, 60.0, 99.0, 100, each.pool) for number in range(9)
        ]
        assert is_overdue(each, later)
        assert next_feeds([*rivals, each], {}, limit, later)[:1] == (each.feed,)
