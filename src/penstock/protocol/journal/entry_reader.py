"""Reads the entries of a journal in order, out of segments or from where they were created.

What was sealed meanwhile, and what sleepers have left under sealed numbers, is told apart here.
"""

from collections.abc import Callable, Iterator
from typing import Generic

from penstock.api.store import Store
from penstock.errors import EntryMissing, JournalError
from penstock.model.envelope import Sealed
from penstock.model.layout import SHARD, Layout, number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.book import B
from penstock.protocol.journal.read_entries import Wanted, listed_bytes
from penstock.protocol.journal.segments import Segments
from penstock.runtime.surroundings import Surroundings


class EntryReader(Generic[B]):
    """The entries of one journal in order. `opened` reads and checks one entry of its bytes."""

    def __init__(
        self,
        store: Store,
        layout: Layout,
        around: Surroundings,
        segments: Segments,
        opened: Callable[[int, bytes], Sealed[B]],
    ) -> None:
        self._store = store
        self._layout = layout
        self._around = around
        self._segments = segments
        self._opened = opened

    def entries_after(self, number: int, up_to: int | None = None) -> Iterator[Sealed[B]]:
        """The entries after a number in order, each checked on its own; many are read at once."""
        while number != up_to:
            if self._segments.covers(number + 1):
                number += 1
                yield self._opened(number, self._segments.entry(number))
                continue
            for sealed in self._originals_after(number, up_to):
                number = sealed.number
                yield sealed
            if not self._segments.covers(number + 1):
                return

    def _originals_after(self, number: int, up_to: int | None) -> Iterator[Sealed[B]]:
        """Entries where they were created, each as soon as it is proven to be the journal's own.

        That is when the next one names its hash, because nobody continues an entry that does not
        count; or when no segment covers it after it was read. Ends at the tail, and where a segment
        turns out to hold what follows.
        """
        segments = self._segments
        held: Sealed[B] | None = None
        try:
            for sealed in self._created_after(number, up_to):
                if held is not None and sealed.entry.previous != held.sha256:
                    segments.look()
                    if segments.covers(held.number):
                        return
                if held is not None:
                    yield held
                    number = held.number
                held = sealed
        except JournalError:  # of the next one: what was read before it is as good as it was
            segments.look()
            if held is not None and not segments.covers(held.number):
                yield held
                number = held.number
            if segments.covers(number + 1):
                return
            raise
        if held is not None and held.number == up_to:  # at the tail it was looked up
            segments.look()
        if held is not None and not segments.covers(held.number):
            yield held

    def _created_after(self, number: int, up_to: int | None) -> Iterator[Sealed[B]]:
        """What lies where entries are created, in order; the last of it may not count."""
        while number != up_to:
            sealed = self._read_next(number + 1)
            if sealed is None:
                return
            number += 1
            yield sealed
            wanted = Wanted(number + 1, up_to)
            for each, raw in listed_bytes(self._store, self._layout, self._around, wanted):
                number = each
                yield self._opened(each, raw)

    def _read_next(self, number: int) -> Sealed[B] | None:
        """The entry after the last known one; None at the tail, never at a hole.

        The listing may be strange or stale: it is only asked whether something lies beyond, and
        what was appended between the two looks is read then. None also if it was sealed meanwhile.
        """
        sealed = self._created(number)
        if sealed is not None or self._segments.covers(number):
            return sealed
        later = self._first_after(number)
        if later is None:
            return None
        sealed = self._created(number)
        if sealed is None and not self._segments.covers(number):
            raise EntryMissing(self._layout.entry(number), later)
        return sealed

    def _created(self, number: int) -> Sealed[B] | None:
        """What lies where an entry is created. If nothing does, it is looked up why."""
        raw = self._segments.original(number)
        if raw is None:
            self._segments.look()
        return None if raw is None else self._opened(number, raw)

    def _first_after(self, number: int) -> str | None:
        """The next entry that is there, in this shard or the one after it; strangers are not."""
        here = self._layout.shard(self._layout.journal, number)
        beyond = self._layout.shard(self._layout.journal, number + SHARD)
        keys = list_keys(self._store, here, self._layout.entry(number))
        keys += list_keys(self._store, beyond)
        return next((key for key in keys if number_in(key.rpartition("/")[2]) is not None), None)
