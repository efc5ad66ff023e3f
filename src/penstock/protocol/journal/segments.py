"""Which entries of a journal are sealed, and their bytes out of the segments.

A segment is named after its first entry, and the next one begins where it ends. So one request
tells whether anything was sealed beyond what is known: is there a segment that begins right after
it? Segments are created before any original is deleted, and are never removed. Hence the rule for
all who read or write entries by number: look after the act. If no segment covers the number then,
no original was deleted before the act, and what was read or created is the journal's own. If one
covers it, only the segment counts.
"""

from bisect import bisect_right
from collections import OrderedDict
from threading import Lock

from penstock.api.store import Store
from penstock.model.layout import Layout, number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.errors import SegmentDamaged
from penstock.protocol.journal.segment_objects import Segment, read_segment

KEPT_SEGMENTS = 2  # in memory; readers go from one to the next


class Segments:
    """The sealed part of one journal, as far as this process knows it. Any thread.

    `sealed_to` is the last number that is known to be in a segment; it only grows.
    """

    def __init__(self, store: Store, layout: Layout) -> None:
        self._store = store
        self._layout = layout
        self._firsts: list[int] = []
        self._loaded: OrderedDict[int, Segment] = OrderedDict()
        self._lock = Lock()
        self.sealed_to = -1

    def covers(self, number: int) -> bool:
        """True for a number whose entry is known to lie in a segment."""
        return number <= self.sealed_to

    def note(self, last: int) -> None:
        """A decided entry says that all numbers up to this one are sealed."""
        self.sealed_to = max(self.sealed_to, last)

    def look(self) -> None:
        """See whether more was sealed than is known: one small request when it was not."""
        while self._store.head(self._layout.segment(self.sealed_to + 1)) is not None:
            self._list()
            newest = self._firsts[-1] if self._firsts else self.sealed_to + 1
            self.note(self.segment(newest).last)

    def original(self, number: int) -> bytes | None:
        """What lies where an entry is created; it counts only if a look after this says so."""
        return self._store.read(self._layout.entry(number))

    def entry(self, number: int) -> bytes:
        """The bytes of a sealed entry."""
        return self.covering(number).entry(number)

    def read(self, key: str) -> bytes | None:
        """The marker at a key, from its segment or from where it was created.

        What a segment does not have may have been created later: whoever is late with a marker
        only repeats what is proven. A marker names its entry by hash.
        """
        number, part = _marked(self._layout, key)
        if number is not None and self.covers(number):
            found = self.covering(number).marker(number, part)
            if found is not None:
                return found
        return self._store.read(key)

    def covering(self, number: int) -> Segment:
        """The segment of a sealed entry; raises `SegmentDamaged` when it is gone or wrong."""
        at = bisect_right(self._firsts, number) - 1
        found = self.segment(self._firsts[at]) if at >= 0 else None
        if found is None or found.last < number:
            self._list()
            at = bisect_right(self._firsts, number) - 1
            first = self._firsts[at] if at >= 0 else 0
            found = self.segment(first)
            if found.last < number:
                why = f"it is gone, or the one at {first} is too short: entry {number} is sealed"
                raise SegmentDamaged(self._layout.segment(found.last + 1), why)
        return found

    def segment(self, first: int) -> Segment:
        """The segment that begins with an entry; the last few stay in memory."""
        with self._lock:
            found = self._loaded.get(first)
            if found is None:
                key = self._layout.segment(first)
                found = read_segment(key, first, self._store.read(key))
                self._loaded[first] = found
            self._loaded.move_to_end(first)
            while len(self._loaded) > KEPT_SEGMENTS:
                self._loaded.popitem(last=False)
            return found

    def firsts(self) -> list[int]:
        """The first entries of all segments, in order, as the store lists them now."""
        self._list()
        return list(self._firsts)

    def newest_key(self) -> str:
        """The key of the newest segment, for a message."""
        return self._layout.segment(self._firsts[-1]) if self._firsts else self._layout.segments

    def _list(self) -> None:
        keys = list_keys(self._store, self._layout.segments)
        numbers = (number_in(key.rpartition("/")[2]) for key in keys)
        self._firsts = sorted(number for number in numbers if number is not None)


def _marked(layout: Layout, key: str) -> tuple[int | None, str]:
    """The entry and the part in the name of a marker; None for any other key."""
    names = key.removeprefix(f"{layout.done}/").split("/")[1:]
    if not key.startswith(f"{layout.done}/") or not names:
        return None, ""
    part = names[1].removesuffix(".json") if len(names) > 1 else ""
    return number_in(names[0]), part
