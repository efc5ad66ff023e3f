"""A lease as a row of numbered objects, for stores that cannot replace conditionally.

Each beat is an object `<lease>-<beat>.json`, created once. Who creates beat 0 of the next lease,
and then finds nothing newer, holds it. Beat 0 stays until a newer lease exists: so nobody can
create it a second time, and a holder whose beat 0 is gone knows that it has lost the lease.
"""

import re
from collections.abc import Sequence
from typing import Generic

import msgspec

from penstock.api.store import Store
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.beats import SeenBeat, T, understood, unknown_beat

KEPT = 2  # besides beat 0; an observer may be reading the one before the newest
MOST_REMOVED = 3  # at a beat; more than one only after a delete that failed

_NAME = re.compile(r"(\d{10})-(\d{12})\.json")


class NumberedBeats(Generic[T]):
    """The beats of one journal as numbered objects; keeps which of them are ours."""

    def __init__(self, store: Store, home: str, beats: msgspec.json.Decoder[T]) -> None:
        self._store = store
        self._home = home
        self._beats = beats
        self._first = b""
        self._first_key = ""
        self._left: list[str] = []

    def look(self) -> list[SeenBeat[T]]:
        """The newest beat of each lease that has any; normally that is one."""
        newest = newest_of_each(beat_keys(self._store, self._home))
        return [SeenBeat(key, self._read(key)) for key in newest]

    def take(self, first: T, over: Sequence[SeenBeat[T]], *, force: bool) -> bool:
        """Create beat 0, then look again: it counts if nothing newer is there.

        Newer is a newer lease, and a beat of those that seemed to be `over`: their holder lives.
        """
        key, data = self._key(first.lease, 0), msgspec.json.encode(first)
        if create_once(self._store, key, data) is not None:
            return False
        keys = beat_keys(self._store, self._home)
        older = [each for each in keys if each < key]
        seen = {each.mark for each in over}
        has_beaten = not force and not seen.issuperset(newest_of_each(older))
        if has_beaten or keys[-1:] != [key]:
            self._store.delete(key)
            return False
        for each in older:  # beat 0 comes first: from then on its holder knows
            self._store.delete(each)
        self._first, self._first_key, self._left = data, key, []
        return True

    def is_held(self) -> bool:
        """True while our beat 0 is there."""
        return self._store.read(self._first_key) == self._first

    def may_claim(self) -> bool:
        """True while our beat 0 is there, and no beat of an older lease.

        Such a beat, which taking the lease has removed, is of a holder that woke up
        meanwhile: it will see that its lease is gone, and until then it is alive.
        """
        keys = beat_keys(self._store, self._home)
        return keys[:1] == [self._first_key] and self.is_held()

    def renew(self, beat: T) -> bool:
        """Leave the next beat and remove an older one; False when the lease is lost."""
        is_of_this_lease = self._first_key == self._key(beat.lease, 0)
        if not is_of_this_lease or not self.is_held():
            return False
        self.end(beat)
        for key in self._left[:-KEPT][:MOST_REMOVED]:
            self._store.delete(key)
            self._left.remove(key)
        return True

    def end(self, beat: T) -> None:
        """Leave the last beat. One that is still on its way has a lower number."""
        key = self._key(beat.lease, beat.beat)
        self._left.append(key)
        self._store.create(key, msgspec.json.encode(beat))

    def _read(self, key: str) -> T:
        """A beat that was listed; one that was removed since comes from a holder that lives."""
        raw = self._store.read(key)
        lease, beat = numbers_of(key)
        if raw is None:
            return unknown_beat(lease, beat, self._beats)
        return understood(raw, lease, beat, self._beats)

    def _key(self, lease: int, beat: int) -> str:
        return f"{self._home}/{lease:010}-{beat:012}.json"


def beat_keys(store: Store, home: str) -> list[str]:
    """The beats that are there, oldest first; strangers are left out."""
    return [key for key in list_keys(store, home) if _NAME.fullmatch(key.rpartition("/")[2])]


def newest_of_each(keys: Sequence[str]) -> list[str]:
    """The newest beat of each lease, of keys in order."""
    return list({numbers_of(key)[0]: key for key in keys}.values())


def numbers_of(key: str) -> tuple[int, int]:
    """Lease and beat of a key."""
    found = _NAME.fullmatch(key.rpartition("/")[2])
    if found is None:
        raise ValueError(f"{key!r} is not a beat")
    return int(found[1]), int(found[2])
