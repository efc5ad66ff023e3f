"""Entries as bytes: `{"hash":"<sha256 of all that follows>",...}`.

The hash covers the bytes as they lie there, not the meaning, so that any edit shows, also one
that a JSON reader would not see; and checking it costs no second encoding.
"""

import hashlib

import msgspec

from penstock.errors import EntryDamaged, EntryForeign, EntryMisplaced, EntryNewer
from penstock.model.envelope import Body, Envelope, Sealed
from penstock.model.value import Value
from penstock.protocol.journal.book import B, Book, JsonObject, L
from penstock.protocol.journal.book_state import S

_HEAD = b'{"hash":"'
_FROM = len(_HEAD)
_TO = _FROM + 64
_encoder = msgspec.json.Encoder()


class _FormatOnly(msgspec.Struct):
    """Reads just the format, of entries whose other fields may be unknown here."""

    format: int


_format_decoder = msgspec.json.Decoder(_FormatOnly)


def seal(value: Value) -> tuple[bytes, str]:
    """The bytes of a value with its hash in front, and the hash."""
    rest = b"," + _encoder.encode(value)[1:]
    digest = hashlib.sha256(rest).hexdigest()
    return b"".join((_HEAD, digest.encode(), b'"', rest)), digest


def unseal(key: str, raw: bytes) -> tuple[bytes, str]:
    """The plain JSON inside sealed bytes, and its hash; raises `EntryDamaged`."""
    if not raw:
        raise EntryDamaged(key, "the file is empty")
    if raw[:_FROM] != _HEAD or raw[_TO : _TO + 2] != b'",':
        raise EntryDamaged(key, "it does not begin like an entry")
    rest = raw[_TO + 1 :]
    digest = hashlib.sha256(rest).hexdigest()
    if raw[_FROM:_TO] != digest.encode():
        raise EntryDamaged(key, "its hash is wrong: it was edited, truncated or torn")
    return b"{" + rest[1:], digest


def open_entry(book: Book[S, B, L], key: str, number: int, raw: bytes) -> Sealed[B]:
    """Read and check one entry on its own; the fold checks it against its neighbours."""
    plain, digest = unseal(key, raw)
    entry = _read_entry(book, key, plain)
    if entry.number != number:
        raise EntryMisplaced(key, number, entry.number)
    return Sealed(entry, digest)


def _read_entry(book: Book[S, B, L], key: str, plain: bytes) -> Envelope[B]:
    """An entry of any format that was ever written, in its present form."""
    try:
        entry = book.entries.decode(plain)
    except msgspec.MsgspecError:
        return _read_by_format(book, key, plain)
    return entry if entry.format == book.format else _read_by_format(book, key, plain)


def _read_by_format(book: Book[S, B, L], key: str, plain: bytes) -> Envelope[B]:
    """An entry of an older format; or why it cannot be read.

    A newer format is told before anything else is judged: kinds, steps and fields that are unknown
    here are not damage then.
    """
    try:
        found = _format_decoder.decode(plain).format
    except msgspec.MsgspecError as error:
        raise EntryDamaged(key, f"it is not an entry: {error}") from error
    check_format(key, found, book.format)
    try:
        if found == book.format:
            return book.entries.decode(plain)
        older: JsonObject = msgspec.json.decode(plain)
        return msgspec.convert(_upgraded(book, older, found), book.entries.type)
    except (msgspec.MsgspecError, ValueError) as error:
        why = f"it does not fit the schema of format {found}: {error}"
        raise EntryDamaged(key, why) from error


def _upgraded(book: Book[S, B, L], entry: JsonObject, found: int) -> JsonObject:
    """An entry of the format `found` in the present one; raises `ValueError`."""
    for number in range(found, book.format):
        entry = {**book.upgrades[number](entry), "format": number + 1}
    return entry


def check_format(key: str, found: int, known: int) -> None:
    """Raise for a format that only a newer version knows, and for one that never was."""
    if found > known:
        raise EntryNewer(key, found, known)
    if found < 1:
        raise EntryDamaged(key, f"there was never a format {found}")


def check_home(key: str, entry: Envelope[Body], feed: str, lake: str, incarnation: int) -> None:
    """An entry must say that it belongs where it lies."""
    if entry.feed != feed:
        raise EntryForeign(key, "feed", feed, entry.feed)
    if entry.lake != lake:
        raise EntryForeign(key, "lake", lake, entry.lake)
    if entry.incarnation != incarnation:
        raise EntryForeign(key, "incarnation", str(incarnation), str(entry.incarnation))
