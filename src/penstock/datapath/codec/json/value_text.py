"""JSON values as texts: taking one apart without reading what is inside.

Every text here is valid JSON without white space around it, as `payload` has made sure.
"""

import json
import re

import msgspec

from penstock.datapath.codec.shared.value_types import JsonValue

_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ITEMS = msgspec.json.Decoder(list[msgspec.Raw])
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"  # JSON's own spelling
_SPACE = b" \t\r\n"
_NUMBER = re.compile(NUMBER.encode())
_KINDS = {
    ord("{"): "object",
    ord("["): "array",
    ord('"'): "string",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}


def kind_of(text: bytes) -> str:
    """The kind of a value: object, array, string, boolean, null or number."""
    return _KINDS.get(text[0], "number")


def found_kind(text: bytes) -> str:
    """The kind of a value, with numbers told apart: as conflicts name it."""
    kind = kind_of(text)
    if kind != "number":
        return kind
    return "integer" if is_integer(text) else "fraction"


def members_of(text: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The members of an object by name, each as its own text; of two equal names the last wins."""
    return _MEMBERS.decode(text)


def items_of(text: bytes | msgspec.Raw) -> list[msgspec.Raw]:
    """The items of an array, each as its own text."""
    return _ITEMS.decode(text)


def name_text(name: str) -> str:
    """The text of a member's name, with its colon."""
    return f"{msgspec.json.encode(name).decode()}:"


def object_text(members: dict[str, str]) -> str:
    """The text of an object whose values are texts already."""
    return f"{{{','.join(name_text(name) + text for name, text in members.items())}}}"


def says_nothing(text: bytes) -> bool:
    """True for a value that tells neither a type nor a content.

    These are null, and arrays and objects that hold nothing else: `[]`, `{}`, `[null, {}]`. What
    is under a key that comes twice counts both times, since its text is kept.
    """
    if kind_of(text) not in {"object", "array"}:
        return kind_of(text) == "null"
    found = json.loads(text, object_pairs_hook=_values, parse_int=str, parse_float=str)
    return _holds_nothing(found)


def _values(pairs: list[tuple[str, JsonValue]]) -> list[JsonValue]:
    return [value for _, value in pairs]


def _holds_nothing(value: JsonValue) -> bool:
    return value is None or (isinstance(value, list) and all(map(_holds_nothing, value)))


def is_integer(number: bytes) -> bool:
    """True for a number that is written without a point and without an exponent."""
    return number.removeprefix(b"-").isdigit()


def is_number(text: bytes) -> bool:
    """True when any bytes at all are a number in JSON's own spelling."""
    return _NUMBER.fullmatch(text) is not None
