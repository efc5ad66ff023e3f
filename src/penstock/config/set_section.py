"""The step `set` of `convert`: names with constants, or with what is taken from the record."""

import re

from penstock.config.mistakes import Refused, closest, shown
from penstock.config.route_section import constants, plain_name
from penstock.config.section_grammar import Key, Reading, Section, as_table, text
from penstock.config.tree import Node, Scalar, Table
from penstock.model.convert_spec import ConvertSpec, RecordSource, RecordValue

TYPES = ("string", "int64", "double", "boolean", "date", "timestamp")
SOURCES = "time | timestamp | topic | partition | offset | key | header:NAME"
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)", re.ASCII)
_MOST_DIGITS = 38
_BYTES = "bytes"
_TIMES = ("timestamp", "date", "string", "int64")
_NUMBERS = ("int64", "string")
# The types that each can have. The first one is used without `as`.
_KINDS: dict[str, tuple[RecordSource, tuple[str, ...]]] = {
    "time": ("time", _TIMES),
    "timestamp": ("timestamp", _TIMES),
    "topic": ("topic", ("string",)),
    "partition": ("partition", _NUMBERS),
    "offset": ("offset", _NUMBERS),
    "key": ("key", (*TYPES, _BYTES)),
    "header": ("header", (*TYPES, _BYTES)),
}


def column_type(node: Node, _: Reading) -> str:
    """A type by the word for it, as in `cast`."""
    word = text(node)
    digits = _DECIMAL.fullmatch(word)
    is_decimal = digits is not None and int(digits[2]) <= int(digits[1]) <= _MOST_DIGITS
    if word not in TYPES and not (is_decimal and digits is not None and int(digits[1])):
        allowed = f"{' | '.join(TYPES)} | decimal(precision, scale)"
        raise Refused(f"found {shown(word)}", allowed, closest(word, TYPES))
    return word


def set_step(node: Node, reading: Reading) -> ConvertSpec:
    """The fields that are set, in the order of the file."""
    entries = as_table(node).entries
    if not entries:
        raise Refused("found nothing", "fields and their values, such as {source: web}")
    plain: dict[str, Node] = {
        name: each for name, each in entries.items() if not isinstance(each, Table)
    }
    found = constants(Table(plain, node.place), reading)
    taken: dict[str, RecordValue] = {}
    for name, child in entries.items():
        if isinstance(child, Table):
            try:
                taken[plain_name(Scalar(name, child.place))] = FROM_RECORD(child, reading)
            except Refused as refused:
                reading.mistakes.refuse(child.place, refused)
    names = tuple(name for name in entries if name in found or name in taken)
    return ConvertSpec(
        "set",
        names,
        constants=tuple(found.get(name) for name in names),
        from_record=tuple(taken.get(name) for name in names) if taken else (),
    )


def _source(node: Node, _: Reading) -> tuple[RecordSource, str]:
    """From where a value is taken, and the name of the header."""
    word = text(node)
    source, colon, name = word.partition(":")
    known = _KINDS.get(source)
    if known is None or (source == "header") != bool(colon and name):
        raise Refused(f"found {shown(word)}", SOURCES, closest(source, _KINDS))
    return known[0], name


def _kind(node: Node, reading: Reading) -> str:
    """A type of `cast`, or bytes."""
    return _BYTES if text(node) == _BYTES else column_type(node, reading)


def _record_value(where: tuple[RecordSource, str] | None = None, kind: str = "") -> RecordValue:
    """What is taken; refuses a type that it can never have."""
    source, name = where or ("time", "")
    kinds = _KINDS[source][1]
    is_any = _BYTES in kinds
    if kind and kind not in kinds and not is_any:
        raise Refused(f"found {source} as {shown(kind)}", f"{source} as {' | '.join(kinds)}")
    return RecordValue(source, kind or kinds[0], name)


FROM_RECORD = Section(
    _record_value, {"from": Key(_source, "where", required=True), "as": Key(_kind, "kind")}
)
