"""Entries as bytes: `{"hash":"<sha256 of all that follows>",...}`.

The hash covers the bytes as they lie there, not the meaning, so that any edit shows, also one
that a JSON reader would not see; and checking it costs no second encoding.
"""

import hashlib

import msgspec

from penstock.errors import EntryDamaged, EntryForeign, EntryMisplaced, EntryNewer
from penstock.model.entries import FORMAT, Entry, SealedEntry
from penstock.model.value import Value

_HEAD = b'{"hash":"'
_FROM = len(_HEAD)
_TO = _FROM + 64
_encoder = msgspec.json.Encoder()


class _FormatOnly(msgspec.Struct):
    """Reads just the format, of entries whose other fields may be unknown here."""

    format: int


_entry_decoder = msgspec.json.Decoder(Entry)
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


def open_entry(key: str, number: int, raw: bytes) -> SealedEntry:
    """Read and check one entry on its own; the fold checks it against its neighbours."""
    plain, digest = unseal(key, raw)
    try:
        entry = _entry_decoder.decode(plain)
    except msgspec.MsgspecError as error:
        raise _why_unreadable(key, plain, error) from error
    if entry.format != FORMAT:
        raise _wrong_format(key, entry.format)
    if entry.number != number:
        raise EntryMisplaced(key, number, entry.number)
    return SealedEntry(entry, digest)


def _why_unreadable(key: str, plain: bytes, error: Exception) -> Exception:
    try:
        found = _format_decoder.decode(plain).format
    except msgspec.MsgspecError:
        return EntryDamaged(key, f"it is no entry: {error}")
    if found != FORMAT:
        return _wrong_format(key, found)
    return EntryDamaged(key, f"it does not fit the schema of format {FORMAT}: {error}")


def _wrong_format(key: str, found: int) -> Exception:
    if found > FORMAT:
        return EntryNewer(key, found, FORMAT)
    return EntryDamaged(key, f"there was never a format {found}")


def check_home(key: str, entry: Entry, feed: str, lake: str, incarnation: int) -> None:
    """An entry must say that it belongs where it lies."""
    if entry.feed != feed:
        raise EntryForeign(key, "feed", feed, entry.feed)
    if entry.lake != lake:
        raise EntryForeign(key, "lake", lake, entry.lake)
    if entry.incarnation != incarnation:
        raise EntryForeign(key, "incarnation", str(incarnation), str(entry.incarnation))
