"""Hive-style directory names, escaped as Spark escapes them.

Spark writes a reserved character as `%` and two hexadecimal digits and reads it back; everything
else, other alphabets included, stays as it is. Three things go beyond Spark, because a directory
could not be made otherwise, and none of them can be mistaken for a name that Spark would write:
NUL is escaped too, half of a surrogate pair becomes the bytes it would have in UTF-8, and a name
that is too long is cut and ends in a mark and a hash of the whole.
"""

import hashlib
import re

from penstock.model.names import NULL_NAME

MAX_COMPONENT_BYTES = 200
MAX_KEY_BYTES = 80

_RESERVED = [*map(chr, range(0x20)), *"\"#%'*/:=?[\\]^{\x7f"]
_ESCAPES = {ord(character): f"%{ord(character):02X}" for character in _RESERVED}
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
# Spark never escapes a tilde, so an escaped one is ours.
_CUT_MARK = "%7E"
_HASH_DIGITS = 16
SHORTEST_CUT_BYTES = len(_CUT_MARK) + _HASH_DIGITS


def escape(text: str) -> str:
    """A text as one piece of a directory name. Not cut yet."""
    escaped = text.translate(_ESCAPES)
    if escaped.isascii():
        return escaped
    return _HALF_PAIR.sub(_escape_half_pair, escaped)


def unescape(name: str) -> str:
    """A piece of a directory name as Spark and Hive read it back."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), name)


def component(key: str, value: str | None) -> str:
    """The directory `key=value` of an escaped key; no value has a name of its own.

    At most `MAX_COMPONENT_BYTES` long. A field keeps its full value in the file, so a reader that
    needs the value of a cut name, or tells null from empty, finds it there.
    """
    name = f"{key}={escape(value) if value else NULL_NAME}"
    return cut(name, MAX_COMPONENT_BYTES, value or "")


def cut(name: str, most_bytes: int, whole: str) -> str:
    """An escaped name, shortened if it is too long; the hash of the whole keeps it apart."""
    encoded = name.encode("utf-8")
    if len(encoded) <= most_bytes:
        return name
    digest = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    head = encoded[: most_bytes - len(_CUT_MARK) - _HASH_DIGITS].decode("utf-8", "ignore")
    return f"{re.sub('%[0-9A-F]?$', '', head)}{_CUT_MARK}{digest}"


def _escape_half_pair(found: re.Match[str]) -> str:
    """The bytes of half of a surrogate pair, each as an escape."""
    encoded = found[0].encode("utf-8", "surrogatepass")
    return "".join(f"%{byte:02X}" for byte in encoded)
