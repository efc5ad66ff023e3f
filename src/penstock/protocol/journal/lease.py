"""The lease: tells a second instance to wait. Safety never depends on it; the journal fences.

A lease is a row of small objects, `<lease>-<beat>.json`, each created once. Who creates beat 0 of
the next lease holds it; a holder that lives adds a beat every few seconds and removes its older
ones. An observer takes over when the holder has let go, when its process is dead on this host, or
when no new beat came for a while by the observer's own clock; clocks are never compared.
"""

import re
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from penstock.api.store import Store
from penstock.model.process_id import Process
from penstock.model.value import Value
from penstock.ports.store.create_once import create_once
from penstock.runtime.surroundings import Surroundings

BEAT_S = 5.0
STALE_S = 15.0
KEPT = 2  # an observer may be reading the one before the newest

_NAME = re.compile(r"(\d{10})-(\d{12})\.json")


class Beat(Value, frozen=True):
    """One sign of life. `released`: the holder ended in good order.

    A subclass may add what the holder says about its work; each of its fields needs a default.
    """

    lease: int
    beat: int
    owner: str
    process: Process
    at: str
    nonce: str
    released: bool = False


T = TypeVar("T", bound=Beat)


class Contender(Value, frozen=True):
    """Who wants the lease, and how it tells that a process is certainly dead."""

    owner: str
    process: Process
    is_dead: Callable[[Process], bool]


class Lease(Generic[T]):
    """One contender for one journal's lease. `try_take` until it gives None, then `leave_beat`.

    Beats may come from another thread than `let_go`; none follows it. `say` adds to a beat what the
    holder says about its work; the first beat of a lease says nothing.
    """

    def __init__(
        self,
        store: Store,
        home: str,
        me: Contender,
        around: Surroundings,
        beats: msgspec.json.Decoder[T],
    ) -> None:
        self._store = store
        self._home = home
        self._beats = beats
        self._me = me
        self._around = around
        self._mine = 0  # the number of our lease; 0 while we hold none
        self._beat = 0
        self._lock = threading.Lock()
        self._seen = ""
        self._seen_at = 0.0

    @property
    def is_mine(self) -> bool:
        """True from taking it until letting go."""
        return self._mine > 0

    def try_take(self, *, force: bool = False) -> T | None:
        """Take the lease if nobody alive holds it. None: it is ours; else who holds it."""
        key = newest_key(self._store, self._home)
        if key and not force:
            holder = _read(self._store, key, self._beats)
            if not self._is_over(key, holder):
                return holder
        number = 1 if not key else _numbers(key)[0] + 1
        first = self._a_beat(number, 0)
        key = self._key(number, 0)
        taken = create_once(self._store, key, msgspec.json.encode(first))
        if taken is not None:
            return _understood(key, taken, self._beats)
        self._mine, self._beat = number, 0
        self._prune(number)
        return None

    def leave_beat(self, say: Callable[[T], T]) -> None:
        """Leave the next sign of life; nothing when we hold no lease."""
        with self._lock:
            if self.is_mine:
                self._leave(say(self._a_beat(self._mine, self._beat + 1)))

    def let_go(self, say: Callable[[T], T]) -> None:
        """Let go, so that the next one need not wait."""
        with self._lock:
            if self.is_mine:
                last = say(self._a_beat(self._mine, self._beat + 1))
                self._mine = 0
                self._leave(msgspec.structs.replace(last, released=True))

    def _leave(self, beat: T) -> None:
        self._beat = beat.beat
        self._store.create(self._key(beat.lease, beat.beat), msgspec.json.encode(beat))
        self._prune(beat.lease)

    def _is_over(self, key: str, holder: Beat) -> bool:
        """Let go, dead, or silent for too long since we first saw its last beat."""
        if key != self._seen:
            self._seen, self._seen_at = key, self._around.tick()
        silent_s = self._around.tick() - self._seen_at
        return silent_s >= STALE_S or holder.released or self._me.is_dead(holder.process)

    def _a_beat(self, lease: int, beat: int) -> T:
        me, around = self._me, self._around
        return self._beats.type(
            lease, beat, me.owner, me.process, around.timestamp(), around.nonce()
        )

    def _prune(self, mine: int) -> None:
        """Remove older beats, of us and of whoever was before; never those of a newer lease."""
        keys = [key for key in beat_keys(self._store, self._home) if _numbers(key)[0] <= mine]
        for key in keys[:-KEPT]:
            self._store.delete(key)

    def _key(self, lease: int, beat: int) -> str:
        return f"{self._home}/{lease:010}-{beat:012}.json"


def newest_beat(store: Store, home: str, beats: msgspec.json.Decoder[T]) -> T | None:
    """The newest sign of life of a journal's owner, if there ever was one. Reads only."""
    key = newest_key(store, home)
    return _read(store, key, beats) if key else None


def beat_keys(store: Store, home: str) -> list[str]:
    """The beats that are there, oldest first; strangers are left out."""
    return [key for key in store.list_after(home) if _NAME.fullmatch(key.rpartition("/")[2])]


def newest_key(store: Store, home: str) -> str:
    """The key of the newest beat, or nothing."""
    return next(reversed(beat_keys(store, home)), "")


def _numbers(key: str) -> tuple[int, int]:
    found = _NAME.fullmatch(key.rpartition("/")[2])
    if found is None:
        raise ValueError(f"{key!r} is no beat")
    return int(found[1]), int(found[2])


def _read(store: Store, key: str, beats: msgspec.json.Decoder[T]) -> T:
    """A beat that was listed; one that was pruned since comes from a holder that lives."""
    raw = store.read(key)
    return _unknown(key, beats) if raw is None else _understood(key, raw, beats)


def _understood(key: str, raw: bytes, beats: msgspec.json.Decoder[T]) -> T:
    """What a beat says; of one that says nothing to us only its silence counts."""
    try:
        return beats.decode(raw)
    except msgspec.MsgspecError:
        return _unknown(key, beats)


def _unknown(key: str, beats: msgspec.json.Decoder[T]) -> T:
    lease, beat = _numbers(key)
    return beats.type(lease, beat, "unknown", Process("", 0), "", "")
