"""A sealed segment as it lies in the lake: many entries with their markers in one object.

The bytes of every entry and marker are kept exactly, so that hashes and the chain can be checked as
before. The envelope is plain JSON, the content is packed.
"""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from penstock.errors import EntryNewer, JournalError
from penstock.model.packing import pack, unpack
from penstock.model.value import Value
from penstock.model.wire_formats import format_of
from penstock.protocol.journal.errors import SegmentDamaged
from penstock.protocol.journal.wire import seal, unseal

SEGMENT_FORMAT = 1  # raised by every change of these classes


class PackedEntry(Value, frozen=True):
    """The text of an entry and of its markers: `marker` is the first, `parts` are the later ones.

    `parts` is by the name of the part.
    """

    entry: str
    marker: str | None = None
    parts: dict[str, str] = msgspec.field(default_factory=dict)


PackedEntries: TypeAlias = tuple[PackedEntry, ...]


class SegmentObject(Value, frozen=True):
    """The entries `first` to `last`, packed."""

    format: int
    first: int
    last: int
    packed: bytes


class Segment(Value, frozen=True):
    """A segment that was read: `sha256` is the hash of the object."""

    first: int
    last: int
    sha256: str
    entries: PackedEntries

    def entry(self, number: int) -> bytes:
        """The bytes of an entry as they were."""
        return self.entries[number - self.first].entry.encode()

    def marker(self, number: int, part: str = "") -> bytes | None:
        """The bytes of the marker of an entry, or of one of its parts; None when it had none."""
        packed = self.entries[number - self.first]
        text = packed.parts.get(part) if part else packed.marker
        return None if text is None else text.encode()


_objects = msgspec.json.Decoder(SegmentObject)
_contents = msgspec.json.Decoder(PackedEntries)


def segment_bytes(first: int, entries: Sequence[PackedEntry]) -> tuple[bytes, str]:
    """The object of a segment, and its hash."""
    plain = msgspec.json.encode(entries)
    return seal(SegmentObject(SEGMENT_FORMAT, first, first + len(entries) - 1, pack(plain)))


def read_segment(key: str, first: int, raw: bytes | None) -> Segment:
    """The segment that begins with the entry `first`; raises `SegmentDamaged`, `EntryNewer`."""
    if raw is None:
        raise SegmentDamaged(key, "it is gone")
    try:
        plain, sha256 = unseal(key, raw)
        number = format_of(plain)
        if number is not None and number > SEGMENT_FORMAT:
            raise EntryNewer(key, number, SEGMENT_FORMAT)
        found = _objects.decode(plain)
        entries = _contents.decode(unpack(found.packed))
    except EntryNewer:
        raise
    except JournalError as error:
        raise SegmentDamaged(key, "its hash is wrong: it was edited, truncated or torn") from error
    except ValueError as error:  # also of msgspec
        raise SegmentDamaged(key, f"it cannot be read: {error}") from error
    if (found.first, found.last) != (first, first + len(entries) - 1) or not entries:
        raise SegmentDamaged(key, f"it has the entries {found.first} to {found.last}")
    return Segment(found.first, found.last, sha256, entries)
