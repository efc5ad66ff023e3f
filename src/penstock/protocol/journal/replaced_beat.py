"""A lease as one object that every beat replaces, for stores that can do so conditionally.

Whoever replaces the newest beat by one of its own holds the lease. A beat that is not the newest
any more cannot be replaced, so a holder that has beaten meanwhile keeps its lease. A steady beat is
one request.
"""

from collections.abc import Sequence
from typing import Generic

import msgspec

from penstock.api.store import ReplacesConditionally, Store, TaggedObject
from penstock.ports.store.replace_once import replace_once
from penstock.protocol.journal.beats import SeenBeat, T, understood
from penstock.protocol.journal.numbered_beats import NumberedBeats

TRIES = 3  # a beat of ours that was on its way may have changed the tag


class ReplacedBeat(Generic[T]):
    """The newest beat of one journal as one object; keeps the first beat of our lease and a tag.

    Both are one value, so that a beat which comes late, of a lease that we held before, can replace
    nothing but what it was made for.
    """

    def __init__(
        self,
        store: Store,
        home: str,
        beats: msgspec.json.Decoder[T],
        replacing: ReplacesConditionally,
    ) -> None:
        self._store = replacing
        self._key = beat_key(home)
        self._beats = beats
        self._numbered = NumberedBeats(store, home, beats)
        self._looked: str | None = None
        self._held: tuple[T, str] | None = None

    def look(self) -> list[SeenBeat[T]]:
        """The newest beat. Without one: those of a version that left numbered ones here."""
        found = self._store.read_tagged(self._key)
        self._looked = None if found is None else found.tag
        return self._numbered.look() if found is None else [self._seen(found)]

    def take(self, first: T, over: Sequence[SeenBeat[T]], *, force: bool) -> bool:
        """Replace what was seen; False when its holder has beaten since, or another was faster."""
        del over, force  # the tag of the last look says it
        tag = replace_once(self._store, self._key, msgspec.json.encode(first), self._looked)
        if tag is not None:
            self._held = (first, tag)
        return tag is not None

    def may_claim(self) -> bool:
        """True while the newest beat is of our lease."""
        return self._held is not None and self._see_ours(self._held[0])

    def renew(self, beat: T) -> bool:
        """Replace our last beat; False when the lease is lost, or was let go meanwhile."""
        data = msgspec.json.encode(beat)
        for _ in range(TRIES):
            held = self._held
            if held is None or held[0].lease != beat.lease:
                return False
            tag = replace_once(self._store, self._key, data, held[1])
            if tag is not None:
                self._held = (held[0], tag)
                return True
            if not self._see_ours(held[0]):
                return False
        return True  # ours, and changing under our hands: the next beat follows

    def end(self, beat: T) -> None:
        """Replace our last beat by one that says that it was the last."""
        self.renew(beat)

    def _see_ours(self, mine: T) -> bool:
        """Whether the newest beat is of our lease and not the last; its tag is taken over then."""
        found = self._store.read_tagged(self._key)
        if found is None:
            return False
        seen = self._seen(found).beat
        if (seen.lease, seen.owner, seen.process) != (mine.lease, mine.owner, mine.process):
            return False
        self._held = (mine, found.tag)
        return not seen.released

    def _seen(self, found: TaggedObject) -> SeenBeat[T]:
        return SeenBeat(found.tag, understood(found.data, 0, 0, self._beats))


def beat_key(home: str) -> str:
    """Where the one object lies."""
    return f"{home}/current.json"
