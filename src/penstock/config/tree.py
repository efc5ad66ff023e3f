"""The configuration as a tree of texts, before anything is known about its meaning.

A scalar stays text until the reader of its key interprets it. So `2015-01-01` does not silently
become a date, and settings reach Kafka and Spark unchanged.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.config.mistakes import Place

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """One value as it was written; `plain` when it had no quotes."""

    text: str
    place: Place
    plain: bool = False

    @property
    def is_null(self) -> bool:
        """True for a key without a value."""
        return self.plain and self.text in _NULLS


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple["Node", ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Table:
    """Keys and their values, in the order of the file."""

    entries: dict[str, "Node"]
    place: Place

    def with_entry(self, name: str, node: "Node") -> "Table":
        """A copy with one entry added or replaced."""
        return replace(self, entries={**self.entries, name: node})

    def without(self, *names: str) -> "Table":
        """A copy without some of its entries."""
        kept = {name: node for name, node in self.entries.items() if name not in names}
        return replace(self, entries=kept)


Node: TypeAlias = Scalar | Sequence | Table


def is_nothing(node: Node | None) -> bool:
    """True for a missing value, an empty one, an empty list and an empty mapping."""
    if isinstance(node, Scalar):
        return node.is_null
    if isinstance(node, Sequence):
        return not node.items
    return node is None or not node.entries


def merged(base: Node, own: Node) -> Node:
    """`own` merged over `base`: mappings key by key, everything else is replaced."""
    if isinstance(base, Table) and isinstance(own, Scalar) and own.is_null:
        return base  # a section whose keys are all commented out inherits like an absent one
    if not (isinstance(base, Table) and isinstance(own, Table)):
        return own
    entries = dict(base.entries)
    for name, node in own.entries.items():
        entries[name] = merged(entries[name], node) if name in entries else node
    return Table(entries, own.place)


def with_inheritance(root: Table) -> Table:
    """Give every feed the keys of `defaults` that it does not have itself."""
    defaults, feeds = root.entries.get("defaults"), root.entries.get("feeds")
    if not (isinstance(defaults, Table) and isinstance(feeds, Table)):
        return root
    entries = {
        name: merged(_without_rivals(defaults, feed), feed) for name, feed in feeds.entries.items()
    }
    return root.with_entry("feeds", replace(feeds, entries=entries))


def inherited_values(root: Table) -> int:
    """How many values feeds inherit: those of the defaults, once for each feed."""
    defaults, feeds = root.entries.get("defaults"), root.entries.get("feeds")
    if not (isinstance(defaults, Table) and isinstance(feeds, Table)):
        return 0
    return _values(defaults) * len(feeds.entries)


def _values(node: Node) -> int:
    if isinstance(node, Scalar):
        return 1
    parts = node.items if isinstance(node, Sequence) else node.entries.values()
    return 1 + sum(map(_values, parts))


def _without_rivals(defaults: Table, feed: Node) -> Table:
    """`topics` and `pattern` exclude each other, so a feed's own one replaces an inherited one."""
    own = feed.entries.keys() if isinstance(feed, Table) else frozenset[str]()
    if "topics" in own:
        return defaults.without("pattern", "exclude")
    if "pattern" in own or "exclude" in own:
        return defaults.without("topics")
    return defaults
