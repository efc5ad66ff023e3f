"""The grammar of sections: which keys exist, and how each becomes a field of a spec.

A reader turns one node into one value, or raises `Refused`. A `Section` is a reader of a mapping
with fixed keys, `Named` of one whose keys are names. Both are tables, so a test can compare the
documentation with them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.config.mistakes import Mistakes, Refused, closest, shown
from penstock.config.secrets import MASK, has_reference
from penstock.config.tree import Node, Scalar, Sequence, Table, is_nothing

T = TypeVar("T")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_LONGEST_TEXT = 1_000
LATER = "not available in this version"


@dataclass(frozen=True, slots=True)
class Reading:
    """What readers share: the list of mistakes, and the directory for relative paths."""

    mistakes: Mistakes
    base: Path

    def folder_of(self, node: Node) -> Path:
        """Paths in the file are relative to the file, others to the current directory."""
        return Path.cwd() if node.place.origin else self.base


Reader: TypeAlias = Callable[[Node, Reading], T]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section. `field` is its name in the spec; None when it is not stored."""

    read: Reader[Any]
    field: str | None = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Section(Generic[T]):
    """A mapping with known keys that becomes one value. Unknown keys are mistakes."""

    make: Callable[..., T]
    keys: Mapping[str, Key] = field(hash=False)
    former: Mapping[str, str] = field(default_factory=dict, hash=False)  # old name -> key

    def __call__(self, node: Node, reading: Reading, **given: object) -> T:
        """Read every key and record mistakes; a refused key keeps its default."""
        table = as_table(node)
        values: dict[str, Any] = dict(given)
        for written, child in table.entries.items():
            name = self.former.get(written, written)
            key = self.keys.get(name)
            if key is None:
                self._unknown(name, child, reading)
                continue
            if name != written and name in table.entries:
                both = f"the former name of {name!r}, which is also given"
                reading.mistakes.add(child.place, both, f"only {name!r}")
                continue
            try:
                value = key.read(child, reading)
            except Refused as refused:
                reading.mistakes.refuse(child.place, refused)
                continue
            if key.field is not None:
                values[key.field or name] = value
        self._missing(table, reading)
        return self.make(**values)

    def _unknown(self, name: str, child: Node, reading: Reading) -> None:
        if not reading.mistakes.full:
            allowed = ", ".join(self.keys)
            reading.mistakes.add(child.place, "unknown key", allowed, closest(name, self.keys))

    def _missing(self, table: Table, reading: Reading) -> None:
        for name, key in self.keys.items():
            if key.required and name not in table.entries:
                reading.mistakes.add(table.place.key(name), "missing, and required")


@dataclass(frozen=True, slots=True)
class Named(Generic[T]):
    """A mapping whose keys are chosen by the user; `section` reads each value."""

    read_one: Callable[[str, Node, Reading], T]
    section: Section[Any]
    needed: str = ""  # what is allowed, if an entry is required

    def __call__(self, node: Node, reading: Reading) -> tuple[T, ...]:
        """Read every entry that can be read."""
        found: list[T] = []
        entries = as_table(node).entries
        if self.needed and not entries:
            raise Refused("found nothing", self.needed)
        for name, child in entries.items():
            try:
                found.append(self.read_one(name, child, reading))
            except Refused as refused:
                reading.mistakes.refuse(child.place, refused)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class SectionOrNull(Generic[T]):
    """A section that is not the same when it is empty as when it is absent; null is its absence."""

    section: Section[T]

    def __call__(self, node: Node, reading: Reading) -> T | None:
        """Read the section, unless it is null."""
        return or_null(self.section)(node, reading)


def known_keys(section: Section[Any], prefix: str = "") -> Iterator[str]:
    """Every key path of a section, with NAME where the user chooses a name."""
    for name, key in section.keys.items():
        yield f"{prefix}{name}"
        if isinstance(key.read, SectionOrNull):
            yield from known_keys(key.read.section, f"{prefix}{name}.")
        elif isinstance(key.read, Section):
            yield from known_keys(key.read, f"{prefix}{name}.")
        elif isinstance(key.read, Named):
            yield from known_keys(key.read.section, f"{prefix}{name}.NAME.")


def described(node: Node) -> str:
    """What was found, for a message: a value in quotes, or its kind."""
    if isinstance(node, Table):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    if node.is_null:
        return "nothing"
    return MASK if has_reference(node.text) else shown(node.text)


def as_table(node: Node) -> Table:
    """The node as a mapping; null counts as an empty one."""
    if isinstance(node, Scalar) and node.is_null:
        return Table({}, node.place)
    if not isinstance(node, Table):
        # Not the text itself: settings of a client on one line may contain a password.
        kind = "a list" if isinstance(node, Sequence) else "a single value"
        raise Refused(f"found {kind}", "a mapping of keys")
    return node


def text(node: Node, _: Reading | None = None) -> str:
    """One line of text that is not secret: it becomes part of names, the journal or logs."""
    if not isinstance(node, Scalar) or node.is_null or not node.text:
        found = described(node) if not isinstance(node, Scalar) else "nothing"
        raise Refused(f"found {found}", "a text")
    if has_reference(node.text):
        raise Refused(
            "a reference to a secret, and this value is written into names and logs",
            "references below `kafka` and `spark`; elsewhere a PENSTOCK__... variable",
        )
    if _CONTROL.search(node.text) or len(node.text) > _LONGEST_TEXT:
        raise Refused(
            f"found {shown(node.text)}", f"one line of at most {_LONGEST_TEXT} characters"
        )
    return node.text


def parsed(parse: Callable[[str], T | None], allowed: str) -> Reader[T]:
    """Make a reader of text that `parse` accepts."""

    def read(node: Node, _: Reading) -> T:
        value = parse(text(node))
        if value is None:
            raise Refused(f"found {described(node)}", allowed)
        return value

    return read


def choice(*available: str, later: tuple[str, ...] = ()) -> Reader[str]:
    """Make a reader of one of several words; `later` names words reserved for later versions."""

    def read(node: Node, _: Reading) -> str:
        word = text(node)
        if word in available:
            return word
        allowed = " | ".join(available)
        if word in later:
            raise Refused(f"{word!r} is {LATER}", allowed)
        raise Refused(f"found {shown(word)}", allowed, closest(word, available))

    return read


def listed(read_one: Reader[T], at_least: int = 0) -> Reader[tuple[T, ...]]:
    """Make a reader of a list without repetition."""

    def read(node: Node, reading: Reading) -> tuple[T, ...]:
        if not isinstance(node, Sequence):
            raise Refused(f"found {described(node)}", "a list such as [a, b]")
        found: dict[T, None] = {}
        for item in node.items:
            try:
                value = read_one(item, reading)
                if value in found:
                    raise Refused(f"{described(item)} is there twice", "each item once")
                found[value] = None
            except Refused as refused:
                reading.mistakes.refuse(item.place, refused)
        if len(node.items) < at_least:
            raise Refused("found an empty list", f"at least {at_least}")
        return tuple(found)

    return read


def or_null(read_one: Reader[T]) -> Reader[T | None]:
    """Make a reader that takes null for the absence of a value."""

    def read(node: Node, reading: Reading) -> T | None:
        if isinstance(node, Scalar) and node.is_null:
            return None
        return read_one(node, reading)

    return read


def nothing_yet(node: Node, _: Reading) -> None:
    """Read a key whose feature does not exist yet: only empty values are accepted."""
    if not is_nothing(node):
        raise Refused(f"this key is {LATER}", "leave it out, or empty")
