"""`run`: how many feeds work at once, in which pools, and how many one instance owns."""

import re
from collections.abc import Iterable

from penstock.config import units
from penstock.config.mistakes import Mistakes, Refused, closest, shown
from penstock.config.section_grammar import Key, Reading, Section, as_table, or_null, parsed, text
from penstock.config.tree import Node, Scalar, Table
from penstock.model.spec import FeedSpec, RunLimits

MOST_SLOTS = 1_000
_SLOTS = f"a whole number, 1 to {MOST_SLOTS}"
_POOL = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}", re.ASCII)
_POOL_FORM = "the name of a pool: lower-case letters, digits, '_' and '-'"
_slots = units.whole(1, most=MOST_SLOTS)


def pool_name(node: Node, _: Reading) -> str:
    """The name of a pool."""
    name = text(node)
    if not _POOL.fullmatch(name):
        raise Refused(f"found {shown(name)}", _POOL_FORM)
    return name


def _pools(node: Node, reading: Reading) -> dict[str, int]:
    """Slots by the name of a pool; names and numbers that are wrong are recorded and left out."""
    found: dict[str, int] = {}
    for name, child in as_table(node).entries.items():
        slots = _slots(child.text) if isinstance(child, Scalar) else None
        if not _POOL.fullmatch(name):
            reading.mistakes.add(child.place, f"found {shown(name)}", _POOL_FORM)
        elif slots is None:
            reading.mistakes.add(child.place, "found no number of slots", _SLOTS)
        else:
            found[name] = slots
    return found


RUN = Section(
    RunLimits,
    {
        "parallel": Key(parsed(_slots, _SLOTS)),
        "pools": Key(_pools),
        "feeds_at_most": Key(or_null(parsed(_slots, _SLOTS))),
    },
)


def pools_are_there(
    root: Table, limits: RunLimits, feeds: Iterable[FeedSpec], mistakes: Mistakes
) -> None:
    """A rule between keys: the pool of a feed is one of `run`."""
    for feed in feeds:
        if not feed.pool or feed.pool in limits.pools:
            continue
        place = root.place.key("feeds").key(feed.name).key("pool")
        allowed = "a pool of `run: {pools: ...}`"
        meant = "" if mistakes.full else closest(feed.pool, limits.pools)
        mistakes.add(place, f"found {shown(feed.pool)}, which `run` does not have", allowed, meant)
