"""Done markers and tail marks: small objects beside the entries, created once."""

from typing import Protocol

import msgspec

from penstock.api.store import Store
from penstock.errors import MarkerWrong
from penstock.model.layout import Layout, number_in
from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import Sleep, create_once, without_waiting
from penstock.protocol.journal.book_state import UndoneEntry, is_named

MARKER_FORMAT = 1  # of done markers and tail marks
KEPT = 3  # how many checkpoints and tail marks stay; the newest would do, the others are for people


class Marker(Value, frozen=True):
    """Names an entry by number and hash, and the parts whose steps are all proven, as `groups`."""

    number: int
    sha256: str
    groups: tuple[str, ...] = ()


class Reads(Protocol):
    """Where markers are read: a store, or the segments of a journal with a store behind them."""

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when nothing is there."""
        ...


_marker_decoder = msgspec.json.Decoder(Marker)


def read_marker(store: Reads, key: str, number: int, sha256: str) -> Marker | None:
    """The marker at a key, if any; it must be about this very entry."""
    raw = store.read(key)
    if raw is None:
        return None
    return check_marker(key, raw, number, sha256)


def check_marker(key: str, raw: bytes, number: int, sha256: str) -> Marker:
    """A marker that names another entry than the one in the journal stops the feed."""
    try:
        marker = _marker_decoder.decode(raw)
    except msgspec.MsgspecError as error:
        damaged = MarkerWrong(key, f"it is not a marker: {error}")
        raise newer_or(damaged, raw, MARKER_FORMAT) from error
    if (marker.number, marker.sha256) != (number, sha256):
        raise MarkerWrong(
            key,
            f"it is for entry {marker.number} with hash {marker.sha256[:16]}..., "
            f"and entry {number} has {sha256[:16]}...",
        )
    return marker


def marked_hash(raw: bytes) -> str:
    """The hash of the entry that a marker names; empty when it cannot be read."""
    try:
        return _marker_decoder.decode(raw).sha256
    except msgspec.MsgspecError:
        return ""


def create_marker(store: Store, key: str, marker: Marker, sleep: Sleep = without_waiting) -> Marker:
    """Create a marker, or return the one that was there first."""
    mine = msgspec.json.encode(marker)
    other = create_once(store, key, mine, sleep)
    if other is None:
        return marker
    return check_marker(key, other, marker.number, marker.sha256)


def mark_done(
    store: Store,
    layout: Layout,
    undone: UndoneEntry,
    proven: tuple[str, ...],
    sleep: Sleep = without_waiting,
    first: Marker | None = None,
) -> None:
    """Record that these parts are done. Whoever was first may have recorded fewer or more.

    `first` is the marker that others have left, where the caller has read it.
    """
    mine = Marker(undone.number, undone.sha256, tuple(sorted(proven)))
    if first is None:
        first = create_marker(store, layout.marker(undone.number), mine, sleep)
    for part in mine.groups:
        if not is_named(part, first.groups):
            late = Marker(undone.number, undone.sha256, (part,))
            create_marker(store, layout.part_marker(undone.number, part), late, sleep)


def first_marker(store: Reads, layout: Layout, undone: UndoneEntry) -> Marker | None:
    """The marker that was left first for an entry, if any."""
    return read_marker(store, layout.marker(undone.number), undone.number, undone.sha256)


def still_undone(store: Reads, layout: Layout, undone: UndoneEntry) -> list[str]:
    """The parts of an entry that no marker proves done."""
    number, sha256 = undone.number, undone.sha256
    first = first_marker(store, layout, undone)
    if first is None:
        return undone.parts
    return [
        part
        for part in undone.parts
        if not is_named(part, first.groups)
        and not any(
            read_marker(store, layout.part_marker(number, name), number, sha256)
            for name in dict.fromkeys((part, part.partition("@")[0]))
        )
    ]


def old_ones(keys: list[str], kept: int) -> list[str]:
    """All but the newest of a list of numbered objects; strangers are not among them."""
    return [key for key in keys if number_in(key.rpartition("/")[2]) is not None][:-kept]
