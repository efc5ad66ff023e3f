"""Who runs next: which of the feeds that wait get the slots that are free. Pure."""

from collections.abc import Iterable, Mapping

from penstock.model.spec import RunLimits
from penstock.model.value import Value

PATIENCE = 3.0  # whoever has waited longer than so many of its `every` goes before all others


class WaitingFeed(Value, frozen=True):
    """A feed with a window to read: since when it waits, and what decides about its place.

    `every_s` is how often its windows are cut, `last_s` how long its recent ones took.
    """

    feed: str
    since_s: float
    every_s: float = 60.0
    last_s: float = 0.0
    priority: int = 5
    pool: str = ""


def next_feeds(
    waiting: Iterable[WaitingFeed], running: Mapping[str, str], limits: RunLimits, now_s: float
) -> tuple[str, ...]:
    """The feeds that may begin now, the first ones first. `running` is the pool of each at work.

    A feed whose pool is full is passed over, and holds back nobody.
    """
    free = limits.parallel - len(running)
    pools = dict(limits.pools)
    for pool in running.values():
        if pool in pools:
            pools[pool] -= 1
    chosen: list[str] = []
    for each in sorted(waiting, key=lambda feed: _place(feed, now_s)):
        if len(chosen) >= free:
            break
        if pools.get(each.pool, 1) < 1:
            continue
        if each.pool in pools:
            pools[each.pool] -= 1
        chosen.append(each.feed)
    return tuple(chosen)


def is_overdue(feed: WaitingFeed, now_s: float) -> bool:
    """Whether a feed has waited so long that its priority does not count any more."""
    return now_s - feed.since_s > PATIENCE * feed.every_s


def _place(feed: WaitingFeed, now_s: float) -> tuple[object, ...]:
    """Where it stands in line: overdue ones by their wait, then by priority and last seconds."""
    if is_overdue(feed, now_s):
        return (0, feed.since_s, -feed.priority, -feed.last_s, feed.feed)
    return (1, -feed.priority, -feed.last_s, feed.since_s, feed.feed)
