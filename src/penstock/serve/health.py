"""Whether it makes sense to rely on this instance. Pure."""

from penstock.model.value import Value
from penstock.serve.feed_facts import LakeFacts


class Health(Value, frozen=True):
    """The answer of `/readyz`: ready or not, why not, and one word for each feed."""

    ready: bool
    why: str
    feeds: dict[str, str]


def health_of(lake: LakeFacts) -> Health:
    """Ready if the lake answers and some feed has an owner that is alive and not halted."""
    words = {each.feed: each.status.state for each in lake.feeds}
    words |= dict.fromkeys(lake.unreadable, "unreadable")
    if lake.lake:
        return Health(ready=False, why=lake.lake, feeds=words)
    if not words:
        return Health(ready=False, why="There is no feed.", feeds=words)
    if "running" not in words.values():
        return Health(ready=False, why="No feed has an owner that is alive.", feeds=words)
    return Health(ready=True, why="", feeds=words)
