"""Parses YAML into a tree, with limits against hostile files.

Only the parser's events are used: no tag is resolved and no object is constructed. An alias is
counted each time it is used, so a small file cannot describe a large tree.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import yaml

from penstock.config.errors import ConfigInvalid
from penstock.config.mistakes import Mistakes, Place
from penstock.config.tree import Node, Scalar, Sequence, Table

MOST_BYTES = 1_000_000
MOST_VALUES = 50_000
MOST_ALIASES = 100
DEEPEST = 20

# The C parser reads a megabyte in a third of a second, the Python parser in five seconds.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Parser messages may repeat a part of the file; only token names and punctuation are kept.
_QUOTED = re.compile(r"'([^']*)'")
_HARMLESS = re.compile(r"<[a-z ]+>|\W")
_UNFIT = re.compile("[\0\ud800-\udfff]")


def read_text(path: Path, mistakes: Mistakes) -> str:
    """The text of the file. Its size is checked before it is read; raises `ConfigInvalid`."""
    top = Place()
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        _stop(mistakes, top, "the file does not exist", "write one with `penstock init`")
    except (OSError, ValueError) as error:
        _stop(mistakes, top, f"the file cannot be read: {_reason(error)}")
    if len(raw) > MOST_BYTES:
        _stop(mistakes, top, "the file is too large", f"at most {MOST_BYTES} bytes")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        _stop(mistakes, Place(line=line), "the file is not UTF-8")


def parse(text: str, mistakes: Mistakes, root: Place) -> Node | None:
    """The tree of one YAML document, None for an empty one; raises `ConfigInvalid`.

    Mistakes that do not hide the structure (tags, doubled keys) are only recorded.
    """
    if len(text) > MOST_BYTES:
        _stop(mistakes, root, "the value is too large", f"at most {MOST_BYTES} characters")
    composer = _Composer(yaml.parse(text, Loader=_LOADER), mistakes, root)
    try:
        return composer.document()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        if _is_indented_by_a_tab(text, line):
            _stop(mistakes, _at(root, line), "a tab before the first word", "spaces")
        _stop(mistakes, _at(root, line), f"not valid YAML: {_tame(error.problem)}")
    except (yaml.YAMLError, ValueError, OverflowError):
        # A character that YAML does not allow, or an escape for one that does not exist.
        _stop(mistakes, root, "not valid YAML: it has a character that YAML does not allow")


class _Composer:
    """Builds the tree from the parser's events, depth first."""

    def __init__(self, events: Iterator[yaml.Event], mistakes: Mistakes, root: Place) -> None:
        self._events = events
        self._mistakes = mistakes
        self._root = root
        self._anchors: dict[str, tuple[Node, int]] = {}
        self._values = 0
        self._aliases = 0

    def document(self) -> Node | None:
        """The tree of the first document; a second one is a mistake."""
        found: Node | None = None
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    place = _at(self._root, _line(event))
                    self._mistakes.add(place, "a second YAML document", "one document")
                    break
                found = self._node(next(self._events), self._root, depth=0)
        return found

    def _node(self, event: yaml.Event, place: Place, depth: int) -> Node:
        self._count(1, place)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, place)
        if depth > DEEPEST:
            _stop(self._mistakes, place, "nested too deeply", f"at most {DEEPEST} levels")
        if getattr(event, "tag", None) is not None:
            self._mistakes.add(place, "a YAML tag (!...)", "plain values; quote a leading '!'")
        before = self._values
        node = self._content(event, place, depth)
        anchor = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = (node, self._values - before)
        return node

    def _content(self, event: yaml.Event, place: Place, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, place)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                here = place.item(len(items), _line_in(self._root, event))
                items.append(self._node(event, here, depth + 1))
            return Sequence(tuple(items), place)
        return self._table(place, depth)

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> Scalar:
        if _UNFIT.search(event.value):
            self._mistakes.add(place, "a NUL or half of a surrogate pair", "text")
        return Scalar(event.value, place, plain=bool(event.implicit[0]))

    def _table(self, place: Place, depth: int) -> Table:
        entries: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            line = _line_in(self._root, event)
            key = self._node(event, _at(place, line), depth + 1)
            name = self._key(key, _at(place, line))
            here = place.key(name, line)
            value = self._node(next(self._events), here, depth + 1)
            if name in entries:
                first = f"first at {entries[name].place}"
                self._mistakes.add(here, f"the key is there twice, {first}", "once")
            elif name:
                entries[name] = value
        return Table(entries, place)

    def _key(self, key: Node, place: Place) -> str:
        """The name of a key, empty when it cannot be one."""
        if not isinstance(key, Scalar) or not key.text:
            self._mistakes.add(place, "a key that is not a word", "a name as key")
            return ""
        if key.plain and key.text == "<<":
            self._mistakes.add(place, "a merge key (<<)", "`defaults:`, which feeds inherit")
            return ""
        return key.text

    def _alias(self, anchor: str | None, place: Place) -> Node:
        self._aliases += 1
        if self._aliases > MOST_ALIASES:
            _stop(self._mistakes, place, "too many aliases", f"at most {MOST_ALIASES}")
        if anchor is None or anchor not in self._anchors:
            _stop(self._mistakes, place, "an alias (*...) without an anchor (&...) before it")
        node, values = self._anchors[anchor]
        self._count(values, place)
        return replace(node, place=place)

    def _count(self, values: int, place: Place) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            found = "too many values, each use of an alias counted"
            _stop(self._mistakes, place, found, f"at most {MOST_VALUES}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


def _line_in(root: Place, event: yaml.Event) -> int:
    """The line of an event; 0 in a value that is not from the file."""
    return 0 if root.origin else _line(event)


def _at(place: Place, line: int) -> Place:
    return place if place.origin else replace(place, line=line or place.line)


def _tame(problem: str | None) -> str:
    """The parser's message without quotes from the file, which may be secret."""

    def keep(match: re.Match[str]) -> str:
        return match[0] if _HARMLESS.fullmatch(match[1]) else "***"

    return _QUOTED.sub(keep, problem or "unreadable")


def _is_indented_by_a_tab(text: str, line: int) -> bool:
    found = text.splitlines()[line - 1 : line] if line else []
    return any("\t" in each[: len(each) - len(each.lstrip())] for each in found)


def _reason(error: Exception) -> str:
    return error.strerror or "no reason given" if isinstance(error, OSError) else "bad file name"


def _stop(mistakes: Mistakes, place: Place, found: str, allowed: str = "") -> NoReturn:
    """Raise with this mistake and all before it: the rest of the file cannot be parsed."""
    mistakes.add(place, found, allowed)
    raise ConfigInvalid(mistakes.source, mistakes.all())
