"""The object in the lake that names its feed's journal, where that lies in another store.

It is created after entry 0, which it names by its hash, and before entry 1. So of several first
starts one decides where the journal lies, and whoever finds entry 1 finds the object as well.
"""

from typing import TYPE_CHECKING

import msgspec

from penstock.api.store import Store
from penstock.errors import EntryNewer, JournalMissing
from penstock.model.layout import Layout
from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import Sleep, create_once
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.split_store import SplitStore
from penstock.protocol.journal.book import B, L
from penstock.protocol.journal.book_state import BookState, S
from penstock.protocol.journal.errors import (
    JournalElsewhere,
    JournalForeign,
    JournalUnnamed,
    PlaceDamaged,
)

if TYPE_CHECKING:
    from penstock.protocol.journal.journal import Journal

PLACE_FORMAT = 1


class JournalPlace(Value, frozen=True):
    """Where a feed's journal lies, and the hash of its entry 0."""

    format: int
    feed: str
    lake: str
    incarnation: int
    place: str
    bind: str


_journal_place_decoder = msgspec.json.Decoder(JournalPlace)


def place_of(store: Store) -> str:
    """Where journals lie by the configuration; empty: in the lake."""
    return store.place if isinstance(store, SplitStore) else ""


def read_place(store: Store, layout: Layout, lake: str) -> JournalPlace | None:
    """What the lake says about the place of a feed's journal; None: nothing."""
    key = layout.journal_place
    raw = store.read(key)
    if raw is None:
        return None
    try:
        found = _journal_place_decoder.decode(raw)
    except msgspec.MsgspecError as error:
        damaged = PlaceDamaged(key, f"it is not such an object: {error}")
        raise newer_or(damaged, raw, PLACE_FORMAT) from error
    if found.format > PLACE_FORMAT:
        raise EntryNewer(key, found.format, PLACE_FORMAT)
    if (found.feed, found.lake, found.incarnation) != (layout.feed, lake, layout.incarnation):
        home = f"feed {found.feed!r}, lake {found.lake!r}, incarnation {found.incarnation}"
        raise PlaceDamaged(key, f"it is of {home}")
    return found


def check_named(journal: "Journal[S, B, L]", *, listed: bool) -> JournalPlace | None:
    """Refuse a journal that is not the one which the lake names; looked at before the fold.

    `listed`: whether a listing of the tail marks shows the object. If it names our place, entry 0
    is older than it.
    """
    store, layout = journal.store, journal.layout
    mine = place_of(store)
    found = read_place(store, layout, journal.lake) if listed else None
    if found is not None and found.place != mine:
        raise JournalElsewhere(layout.feed, found.place, mine)
    if found is None and mine:
        _refuse_one_in_lake(store, layout)
    return found


def check_bound(journal: "Journal[S, B, L]", state: BookState, named: JournalPlace | None) -> None:
    """Compare what the lake named before the fold with the journal as it was folded."""
    store, layout = journal.store, journal.layout
    mine = place_of(store)
    if not mine:
        return
    if named is None and state.number > 0:  # entry 1 comes after the object: look again
        named = read_place(store, layout, journal.lake)
        if named is None:
            raise JournalUnnamed(layout.feed, mine, layout.journal_place)
        if named.place != mine:
            raise JournalElsewhere(layout.feed, named.place, mine)
    if named is None:
        return
    if state.is_new:
        raise JournalMissing(f"{mine}/{layout.journal}", layout.journal_place)
    if not journal.segments.covers(0):  # sealed entries are proven by the chain and the tail mark
        found = journal.require(0, named.bind).sha256
        if found != named.bind:
            raise JournalForeign(mine, "first entry", named.bind, found)


def settle_place(journal: "Journal[S, B, L]", bind: str, sleep: Sleep) -> None:
    """Before entry 1: let the lake name this journal, or make sure that it names no other.

    A first start with this journal and one with a journal in the lake each write first and look
    then, so at least one of them sees the other, and goes no further.
    """
    store, layout = journal.store, journal.layout
    mine = place_of(store)
    if mine:
        _refuse_one_in_lake(store, layout)
        place = JournalPlace(
            PLACE_FORMAT, layout.feed, journal.lake, layout.incarnation, mine, bind
        )
        create_once(store, layout.journal_place, msgspec.json.encode(place), sleep)
        _refuse_one_in_lake(store, layout)
    named = read_place(store, layout, journal.lake)
    if named is None:
        if mine:
            raise JournalUnnamed(layout.feed, mine, layout.journal_place)
        return
    if named.place != mine:
        raise JournalElsewhere(layout.feed, named.place, mine)
    if named.bind != bind:
        raise JournalForeign(mine, "first entry", named.bind, bind)


def _refuse_one_in_lake(store: Store, layout: Layout) -> None:
    """Where the lake names no journal, it may have one itself, perhaps of an older version."""
    if isinstance(store, SplitStore) and list_keys(store.lake, layout.journal, limit=1):
        raise JournalElsewhere(layout.feed, "", store.place)
