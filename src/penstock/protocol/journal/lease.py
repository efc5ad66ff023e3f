"""The lease: tells a second instance to wait. Safety never depends on it; the journal fences.

A lease is a row of small objects, `<lease>-<beat>.json`, each created once. Who creates beat 0 of
the next lease holds it; a holder that lives adds a beat every few seconds and removes its older
ones. An observer takes over when the holder has let go, when its process is dead on this host, or
when no new beat came for a while by the observer's own clock; clocks are never compared.
"""

import re
import threading
from collections.abc import Callable

import msgspec

from penstock.api.store import Store
from penstock.model.layout import Layout
from penstock.model.process_id import Process
from penstock.model.value import Value
from penstock.ports.store.create_once import create_once
from penstock.runtime.surroundings import Surroundings

BEAT_FORMAT = 1  # a beat of a newer format is one that says nothing to us, and decides nothing
BEAT_S = 5.0
STALE_S = 15.0
KEPT = 2  # an observer may be reading the one before the newest

_NAME = re.compile(r"(\d{10})-(\d{12})\.json")


class Note(Value, frozen=True):
    """What the holder says about its work, for `status`: Kafka's ends by topic and partition."""

    epoch: int = 0
    latest: dict[str, dict[int, int]] = msgspec.field(default_factory=dict)
    looked_at: str = ""
    phase: str = ""
    window: str = ""


class Beat(Value, frozen=True):
    """One sign of life. `released`: the holder ended in good order."""

    lease: int
    beat: int
    owner: str
    process: Process
    at: str
    nonce: str
    released: bool = False
    note: Note = Note()


_decoder = msgspec.json.Decoder(Beat)


class Contender(Value, frozen=True):
    """Who wants the lease, and how it tells that a process is certainly dead."""

    owner: str
    process: Process
    is_dead: Callable[[Process], bool]


class Lease:
    """One contender for one feed's lease. `try_take` until it gives None, then `beat`.

    Beats may come from another thread than `release`; none follows it.
    """

    def __init__(self, store: Store, layout: Layout, me: Contender, around: Surroundings) -> None:
        self._store = store
        self._home = layout.lease
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

    def try_take(self, *, force: bool = False) -> Beat | None:
        """Take the lease if nobody alive holds it. None: it is ours; else who holds it."""
        key = newest_key(self._store, self._home)
        if key and not force:
            holder = _read(self._store, key)
            if not self._is_over(key, holder):
                return holder
        number = 1 if not key else _numbers(key)[0] + 1
        first = self._a_beat(number, 0, Note())
        key = self._key(number, 0)
        taken = create_once(self._store, key, msgspec.json.encode(first))
        if taken is not None:
            return _understood(key, taken)
        self._mine, self._beat = number, 0
        self._prune(number)
        return None

    def beat(self, note: Note) -> None:
        """Leave the next sign of life; nothing when we hold no lease."""
        with self._lock:
            if self.is_mine:
                self._leave(self._a_beat(self._mine, self._beat + 1, note))

    def release(self, note: Note) -> None:
        """Let go, so that the next one need not wait."""
        with self._lock:
            if self.is_mine:
                last = self._a_beat(self._mine, self._beat + 1, note)
                self._mine = 0
                self._leave(msgspec.structs.replace(last, released=True))

    def _leave(self, beat: Beat) -> None:
        self._beat = beat.beat
        self._store.create(self._key(beat.lease, beat.beat), msgspec.json.encode(beat))
        self._prune(beat.lease)

    def _is_over(self, key: str, holder: Beat) -> bool:
        """Let go, dead, or silent for too long since we first saw its last beat."""
        if key != self._seen:
            self._seen, self._seen_at = key, self._around.tick()
        silent_s = self._around.tick() - self._seen_at
        return silent_s >= STALE_S or holder.released or self._me.is_dead(holder.process)

    def _a_beat(self, lease: int, beat: int, note: Note) -> Beat:
        around = self._around
        return Beat(
            lease,
            beat,
            self._me.owner,
            self._me.process,
            around.timestamp(),
            around.nonce(),
            note=note,
        )

    def _prune(self, mine: int) -> None:
        """Remove older beats, of us and of whoever was before; never those of a newer lease."""
        keys = [key for key in beat_keys(self._store, self._home) if _numbers(key)[0] <= mine]
        for key in keys[:-KEPT]:
            self._store.delete(key)

    def _key(self, lease: int, beat: int) -> str:
        return f"{self._home}/{lease:010}-{beat:012}.json"


def last_beat(store: Store, layout: Layout) -> Beat | None:
    """The newest sign of life of a feed's owner, if there ever was one. Reads only."""
    key = newest_key(store, layout.lease)
    return _read(store, key) if key else None


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


def _read(store: Store, key: str) -> Beat:
    """A beat that was listed; one that was pruned since comes from a holder that lives."""
    raw = store.read(key)
    return _unknown(key) if raw is None else _understood(key, raw)


def _understood(key: str, raw: bytes) -> Beat:
    """What a beat says; of one that says nothing to us only its silence counts."""
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError:
        return _unknown(key)


def _unknown(key: str) -> Beat:
    lease, beat = _numbers(key)
    return Beat(lease, beat, "unknown", Process("", 0), "", "")
