"""The lease: tells a second instance to wait. Safety never depends on it; the journal fences.

A holder that lives leaves a beat every few seconds: it replaces one object where the store can do
so conditionally, and adds numbered ones where not. An observer takes over when the holder has let
go, when its process is dead on this host, or when no new beat came for a while by the observer's
own clock; clocks are never compared. At each beat a holder looks whether it has lost the lease.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol

import msgspec

from penstock.api.store import ReplacesConditionally, Store
from penstock.model.process_id import Process
from penstock.model.value import Value
from penstock.protocol.journal.beats import STALE_S, SeenBeat, T, understood, unknown_beat
from penstock.protocol.journal.numbered_beats import NumberedBeats
from penstock.protocol.journal.replaced_beat import ReplacedBeat, beat_key
from penstock.runtime.surroundings import Surroundings

FORCED_TRIES = 3  # a living holder beats now and then, and others may want it too


class Contender(Value, frozen=True):
    """Who wants the lease, and how it tells that a process is certainly dead."""

    owner: str
    process: Process
    is_dead: Callable[[Process], bool]


class LeaseForm(Protocol[T]):
    """How beats lie in the store. One contender uses it; `renew` may come from a second thread."""

    def look(self) -> list[SeenBeat[T]]:
        """The newest beat of each lease that has any, the newest lease last. Changes nothing."""
        ...

    def take(self, first: T, over: Sequence[SeenBeat[T]], *, force: bool) -> bool:
        """Begin a lease after those that are `over`; False when another was faster or lives."""
        ...

    def may_claim(self) -> bool:
        """Whether our lease is still the one that counts, and nobody else shows a sign of life."""
        ...

    def renew(self, beat: T) -> bool:
        """Leave a beat of our lease; False when it is lost, and nothing was left."""
        ...

    def end(self, beat: T) -> None:
        """Leave the last beat of our lease."""
        ...


def form_of(store: Store, home: str, beats: msgspec.json.Decoder[T]) -> LeaseForm[T]:
    """The form of the lease that this store can have."""
    if isinstance(store, ReplacesConditionally):
        return ReplacedBeat(store, home, beats, store)
    return NumberedBeats(store, home, beats)


class Lease(Generic[T]):
    """One contender for one journal's lease. `try_take` until it gives None, then `leave_beat`.

    Beats may come from another thread than everything else; none follows `let_go`. No lock is held
    while the store is asked, so a beat that hangs keeps nobody waiting. `say` adds to a beat what
    the holder says about its work; the first beat of a lease says nothing.
    """

    def __init__(
        self,
        store: Store,
        home: str,
        me: Contender,
        around: Surroundings,
        beats: msgspec.json.Decoder[T],
    ) -> None:
        self._form = form_of(store, home, beats)
        self._beats = beats
        self._me = me
        self._around = around
        self._mine = 0  # the number of our lease; 0 while we hold none
        self._beat = 0
        self._lock = threading.Lock()
        self._tried = ""  # the nonce of a first beat that may have landed without an answer
        self._before: T | None = None
        self._seen: dict[int, tuple[str, float]] = {}

    @property
    def is_mine(self) -> bool:
        """True from taking it until letting go, or until it was seen to be lost."""
        return self._mine > 0

    def try_take(self, *, force: bool = False) -> T | None:
        """Take the lease if nobody alive holds it. None: it is ours; else who holds it."""
        for _ in range(FORCED_TRIES if force else 1):
            seen = self._form.look()
            alive = self._those_alive(seen)
            if alive and not force:
                return alive[-1].beat
            number = 1 + max((each.beat.lease for each in seen), default=0)
            if self._take(number, seen, force=force):
                return None
        there = self._form.look()
        return there[-1].beat if there else unknown_beat(number, 0, self._beats)

    def taken_over(self) -> T | None:
        """The last word of whoever had the lease before us, once; None: nobody, or it was told."""
        found, self._before = self._before, None
        return found

    def is_still_mine(self) -> bool:
        """Look whether we hold the lease; from then on we do not if another one does.

        For who is about to claim; a beat looks by itself.
        """
        mine = self._mine
        if mine and not self._form.may_claim():
            self._lose(mine)
        return self.is_mine

    def leave_beat(self, say: Callable[[T], T]) -> None:
        """Leave the next sign of life, or see that the lease is lost; nothing without a lease."""
        lease, beat = self._next_beat(is_last=False)
        if lease and not self._form.renew(say(self._a_beat(lease, beat))):
            self._lose(lease)

    def let_go(self, say: Callable[[T], T]) -> None:
        """Let go, so that the next one need not wait."""
        lease, beat = self._next_beat(is_last=True)
        if lease:
            last = say(self._a_beat(lease, beat))
            self._form.end(msgspec.structs.replace(last, released=True))

    def drop(self) -> None:
        """Hold the lease no more and leave no word: whoever fenced us is alive, and beats."""
        self._mine = 0

    def _take(self, number: int, seen: Sequence[SeenBeat[T]], *, force: bool) -> bool:
        first = self._a_beat(number, 0)
        self._tried = first.nonce
        is_taken = self._form.take(first, seen, force=force)
        self._tried = ""
        if is_taken:
            self._mine, self._beat = number, 0
            self._before = seen[-1].beat if seen else None
        return is_taken

    def _next_beat(self, *, is_last: bool) -> tuple[int, int]:
        """The numbers of our lease and of its next beat. Nothing that follows is after the last."""
        with self._lock:
            lease = self._mine
            self._beat += 1
            if is_last:
                self._mine = 0
            return lease, self._beat

    def _lose(self, lease: int) -> None:
        with self._lock:
            if self._mine == lease:
                self._mine = 0

    def _those_alive(self, seen: Sequence[SeenBeat[T]]) -> list[SeenBeat[T]]:
        """The leases that are not over: not let go, not dead, not silent for too long.

        There are several when one who wanted to take over could not finish, or not step back.
        """
        tick, before = self._around.tick(), self._seen
        self._seen = {}
        for each in seen:
            mark, since = before.get(each.beat.lease, ("", tick))
            self._seen[each.beat.lease] = (each.mark, since if mark == each.mark else tick)
        return [each for each in seen if not self._is_over(each.beat, tick)]

    def _is_over(self, beat: T, tick: float) -> bool:
        silent_s = tick - self._seen[beat.lease][1]
        is_ours = beat.nonce == self._tried != ""
        return is_ours or silent_s >= STALE_S or beat.released or self._me.is_dead(beat.process)

    def _a_beat(self, lease: int, beat: int) -> T:
        me, around = self._me, self._around
        return self._beats.type(
            lease, beat, me.owner, me.process, around.timestamp(), around.nonce()
        )


def newest_beat(store: Store, home: str, beats: msgspec.json.Decoder[T]) -> T | None:
    """The newest sign of life of a journal's owner in either form, if there ever was one."""
    seen = [each.beat for each in NumberedBeats(store, home, beats).look()]
    replaced = store.read(beat_key(home))
    if replaced is not None:
        seen.append(understood(replaced, 0, 0, beats))
    return max(seen, key=lambda beat: (beat.lease, beat.beat), default=None)
