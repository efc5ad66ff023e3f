"""Conditions on fields: a table of paths and tests.

{country: [DE, FR], amount: {least: 10, most: 20}, name: {fits: "a.*"}, email: {null: false}}
"""

import math
import re
from collections.abc import Callable
from typing import Any

from penstock.api.later import Later
from penstock.config import units
from penstock.config.feed_values import path_of
from penstock.config.mistakes import Refused, shown
from penstock.config.secrets import has_reference
from penstock.config.section_grammar import Key, Reading, Section, as_table, described, parsed, text
from penstock.config.tree import Node, Scalar, Sequence, Table
from penstock.model.convert_spec import Condition, Constant

_WHOLE = re.compile(r"[-+]?\d{1,30}", re.ASCII)
_FRACTION = re.compile(
    r"[-+]?(?:\d{1,30}\.\d{0,30}|\.\d{1,30}|\d{1,30})(?:[eE][-+]?\d{1,3})?", re.ASCII
)
_TRUTHS = {"true": True, "false": False}
_compile: Callable[[str], None] = Later("penstock.config.re2:compile_expression")


def conditions(node: Node, reading: Reading) -> tuple[Condition, ...]:
    """Every condition of a table; at least one."""
    entries = as_table(node).entries
    if not entries:
        raise Refused("found no condition", "paths and tests: {country: [DE, FR]}")
    found = []
    for path, child in entries.items():
        try:
            found.append(_condition(path_of(path), child, reading))
        except Refused as refused:
            reading.mistakes.refuse(child.place, refused)
    return tuple(found)


def constant(node: Node, _: Reading | None = None) -> Constant:
    """A value as YAML means it: null, a boolean, a number; a quoted value is always text."""
    if not isinstance(node, Scalar):
        raise Refused(f"found {described(node)}", "a text, a number, true, false or null")
    if node.is_null:
        return None
    if has_reference(node.text):
        raise Refused("a reference to a secret, and this value is written into rows")
    if node.plain and node.text in _TRUTHS:
        return _TRUTHS[node.text]
    number = _number(node.text) if node.plain else None
    return node.text if number is None else number


def _condition(path: str, node: Node, reading: Reading) -> Condition:
    if not isinstance(node, Table):
        return Condition(path, one_of=_one_of(node, reading))
    if not node.entries:
        raise Refused("no test", " | ".join(ASKED.keys))
    found = ASKED(node, reading, path=path)
    if None not in (found.least, found.most) and found.least > found.most:  # type: ignore[operator]
        raise Refused("`least` is more than `most`", "`least` not above `most`")
    return found


def _one_of(node: Node, reading: Reading) -> tuple[Constant, ...]:
    """One value or a list of values; refused ones are left out."""
    if not isinstance(node, Sequence):
        return (constant(node),)
    if not node.items:
        raise Refused("found an empty list", "at least one value")
    found = []
    for item in node.items:
        try:
            found.append(constant(item))
        except Refused as refused:
            reading.mistakes.refuse(item.place, refused)
    return tuple(found)


def _number(word: str) -> int | float | None:
    if _WHOLE.fullmatch(word):
        return int(word)
    if _FRACTION.fullmatch(word) and math.isfinite(float(word)):
        return float(word)
    return None


def _fits(node: Node, _: Reading) -> str:
    """An RE2 expression. It is compiled here in the same form as in tasks."""
    word = text(node)
    try:
        for each in (word, f"^(?:{word})$"):
            _compile(each)
    except ValueError as error:  # RE2's message, or text that cannot be encoded
        why = " ".join(str(error).split())
        raise Refused(f"found {shown(word)}: {why}", "a regular expression of RE2") from error
    return word


def _asked(read: Callable[[str], Any], allowed: str) -> Key:
    return Key(parsed(read, allowed))


ASKED = Section(
    Condition,
    {
        "is": Key(_one_of, "one_of"),
        "fits": Key(_fits),
        "null": _asked(units.truth, "true or false"),
        "least": _asked(_number, "a number"),
        "most": _asked(_number, "a number"),
        "multiple_of": _asked(units.whole(1), "an integer, 1 or more"),
    },
)
