"""Witnesses: objects that could prove that the journal was longer than it is now.

Done markers, checkpoints, segments and tail marks are all made after the entry they name. One that
lies beyond the last entry means that entries were removed, or that an old copy was put back.
"""

from typing import TYPE_CHECKING

from penstock.api.store import Store
from penstock.errors import JournalCut, JournalMissing
from penstock.model.layout import SHARD, Layout, number_in
from penstock.model.value import Value
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.book import B, L
from penstock.protocol.journal.book_state import BookState, S
from penstock.protocol.journal.errors import JournalElsewhere
from penstock.protocol.journal.journal_place import place_of, read_place
from penstock.protocol.journal.markers import check_marker, marked_hash
from penstock.protocol.journal.segments import Segments

if TYPE_CHECKING:
    from penstock.protocol.journal.journal import Journal


class Witness(Value, frozen=True, order=True):
    """An object that names an entry by number."""

    number: int
    key: str


class Witnesses(Value, frozen=True):
    """The newest witness of each kind, looked up before the tail is read."""

    newest: tuple[Witness, ...]
    newest_tail: Witness | None
    data: tuple[str, ...] = ()
    has_place: bool = False  # beside the tail marks lies what names the place of the journal

    @classmethod
    def look(
        cls, store: Store, layout: Layout, known: int, checkpoints: list[str], segments: Segments
    ) -> "Witnesses":
        """Find the witnesses beyond the entries that are already known.

        Markers of sealed entries lie in their segments, so only those after them are listed.
        """
        if known < 0:
            segments.look()
        beside = list_keys(store, layout.tails)
        tail = _newest(beside)
        found = (
            _newest_marker(store, layout, max(known, segments.sealed_to)),
            _newest(checkpoints),
            tail,
        )
        data = tuple(list_keys(store, layout.data, limit=1)) if known < 0 else ()
        newest = tuple(sorted(each for each in found if each is not None))
        return cls(newest, tail, data, layout.journal_place in (*beside, *data))


def _newest(keys: list[str]) -> Witness | None:
    found = [
        Witness(number, key)
        for key in keys
        if (number := number_in(key.rpartition("/")[2])) is not None
    ]
    return max(found, default=None)


def _newest_marker(store: Store, layout: Layout, known: int) -> Witness | None:
    """The newest done marker after the known entries, walking up while shards hold anything."""
    newest: Witness | None = None
    number = max(known, 0)
    after = layout.marker(known) if known >= 0 else ""
    keys = list_keys(store, layout.shard(layout.done, number), after)
    while keys or number == max(known, 0):
        for key in keys:
            marked = number_in(key.removeprefix(f"{layout.done}/").split("/")[1])
            if marked is not None and (newest is None or marked > newest.number):
                newest = Witness(marked, key)
        number += SHARD
        keys = list_keys(store, layout.shard(layout.done, number))
    return newest


def check_witnesses(journal: "Journal[S, B, L]", state: BookState, seen: Witnesses) -> None:
    """Stop when something lies beyond the tail, or the newest tail mark names another entry."""
    if state.is_new:
        check_first_start(journal, seen)
        return
    for witness in seen.newest:
        check_not_beyond(witness, state.number)
    sealed_to = journal.segments.sealed_to  # what is sealed has successors
    check_not_beyond(Witness(sealed_to + 1, journal.segments.newest_key()), state.number)
    if seen.newest_tail is not None:
        check_tail_mark(journal, seen.newest_tail, state.number)


def check_tail_mark(journal: "Journal[S, B, L]", mark: Witness, tail: int) -> None:
    """The newest tail mark must name an entry that is in the journal, with the same hash."""
    raw = journal.store.read(mark.key)
    sealed = journal.read(mark.number, "" if raw is None else marked_hash(raw))
    if sealed is None:
        raise JournalCut(mark.key, tail)
    if raw is not None:
        check_marker(mark.key, raw, mark.number, sealed.sha256)


def check_not_beyond(witness: Witness, tail: int) -> None:
    """No witness may name an entry after the last one."""
    if witness.number > tail:
        raise JournalCut(witness.key, tail)


def check_first_start(journal: "Journal[S, B, L]", seen: Witnesses) -> None:
    """No journal is a first start only if there is nothing else either."""
    traces = (*(witness.key for witness in seen.newest), *seen.data)
    if traces:
        place = place_of(journal.store)
        layout = journal.layout
        # Somebody with another configuration may have started between our two looks.
        named = read_place(journal.store, layout, journal.lake)
        if named is not None and named.place != place:
            raise JournalElsewhere(layout.feed, named.place, place)
        key = layout.journal
        raise JournalMissing(f"{place}/{key}" if place else key, traces[0])
