"""The format numbers of objects in the lake: a newer object is not reported as damaged.

Every class in the lake belongs to a kind of object, and every kind has a number that is raised by
each change of one of its classes (`tests/tidy/test_wire_formats.py` checks this). An object without
a number has format 1. A later version that changes a class adds the field `format` to it; this
version does not know that field, reads its number, and says "upgrade".
"""

import msgspec

from penstock.errors import EntryNewer, JournalError, ObjectDamaged


class _FormatOnly(msgspec.Struct):
    """Only the format; all other fields may be unknown here."""

    format: int = 1


_decoder = msgspec.json.Decoder(_FormatOnly)


def format_of(raw: bytes) -> int | None:
    """The format of an object; None when it cannot be read."""
    try:
        return _decoder.decode(raw).format
    except (msgspec.MsgspecError, ValueError):  # invalid UTF-8 raises ValueError
        return None


def newer_or(damaged: ObjectDamaged, raw: bytes, known: int) -> JournalError:
    """The error for an object that cannot be read: `EntryNewer` if its format is above `known`."""
    found = format_of(raw)
    if found is not None and found > known:
        return EntryNewer(damaged.key, found, known)
    return damaged
