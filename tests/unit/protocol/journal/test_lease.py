"""The lease: who waits for whom, without comparing clocks."""

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec
import pytest

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown
from penstock.model.layout import Layout
from penstock.model.process_id import Process
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_lease import FeedLease, Note, last_beat
from penstock.protocol.journal.beats import STALE_S
from penstock.protocol.journal.lease import Contender
from penstock.protocol.journal.numbered_beats import beat_keys
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import is_dead, this_process
from penstock.testing.fault_store import Fault, FaultStore, ReplacingFaultStore, What
from penstock.testing.memory_store import Act, Answer, MemoryStore, ReplacingMemoryStore
from tests.simulator.programs import surroundings

LAYOUT = Layout("events")
HOME = LAYOUT.lease
FORMS = (MemoryStore, ReplacingMemoryStore)  # numbered beats, and one that is replaced


@pytest.fixture(params=FORMS, ids=["numbered", "replaced"])
def store(request: pytest.FixtureRequest) -> MemoryStore:
    """An empty store, whose lease has one form or the other."""
    made: MemoryStore = request.param()
    return made


class Clock:
    """A monotonic clock that moves when told to."""

    def __init__(self) -> None:
        self.tick_s = 100.0

    def around(self, name: str) -> Surroundings:
        return dataclasses.replace(surroundings(name), tick=lambda: self.tick_s)


def a_lease(store: Store, clock: Clock, name: str, *, dead: tuple[int, ...] = ()) -> FeedLease:
    """A contender whose process number is the length of its name."""
    me = Contender(name, Process("host", len(name)), lambda process: process.pid in dead)
    return FeedLease(store, LAYOUT, me, clock.around(name))


def test_the_first_takes_it_and_the_second_sees_who_holds_it(store: MemoryStore) -> None:
    clock = Clock()
    assert a_lease(store, clock, "first").try_take() is None
    holder = a_lease(store, clock, "second").try_take()
    assert holder is not None
    assert holder.owner == "first"


def test_a_holder_that_let_go_or_is_dead_on_this_host_is_followed_at_once(
    store: MemoryStore,
) -> None:
    clock = Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    first.release(Note())
    assert a_lease(store, clock, "second").try_take() is None
    assert a_lease(store, clock, "third", dead=(len("second"),)).try_take() is None


def test_a_silent_holder_is_followed_after_the_observers_own_time(store: MemoryStore) -> None:
    clock = Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    assert second.try_take() is not None
    clock.tick_s += STALE_S - 1
    assert second.try_take() is not None
    first.beat(Note())
    clock.tick_s += STALE_S - 1  # the beat was new to the second: its time starts again
    assert second.try_take() is not None
    clock.tick_s += STALE_S - 1
    assert second.try_take() is not None
    clock.tick_s += 1
    assert second.try_take() is None


def test_of_two_that_follow_one_wins_and_the_other_waits(store: MemoryStore) -> None:
    clock = Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    first.release(Note())
    second, third = a_lease(store, clock, "second"), a_lease(store, clock, "third")
    assert [second.try_take(), third.try_take() is not None] == [None, True]
    assert third.is_mine is False


def test_force_takes_it_from_the_living(store: MemoryStore) -> None:
    clock = Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    assert second.try_take(force=True) is None
    first.beat(Note())  # of the old lease: it does not hide the new one
    newest = last_beat(store, LAYOUT)
    assert newest is not None
    assert newest.owner == "second"


def test_beats_carry_notes_and_older_ones_are_removed(store: MemoryStore) -> None:
    clock = Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    for number in range(10):
        first.beat(Note(epoch=3, latest={"events": {0: number}}))
    kept = [key.rpartition("/")[2] for key in list_keys(store, HOME)]
    assert kept in (["current.json"], [f"{1:010}-{n:012}.json" for n in (0, 9, 10)])
    newest = last_beat(store, LAYOUT)
    assert newest is not None
    assert newest.note.latest == {"events": {0: 9}}


class Slow:
    """A store whose requests wait at a chosen one until something has happened."""

    def __init__(self, store: MemoryStore) -> None:
        self._perform = store.ask
        self._waiting: list[tuple[str, Callable[[], object]]] = []
        store.ask = self.ask

    def before(self, name: str, happens: Callable[[], object]) -> None:
        """Before the next request of this name."""
        self._waiting.append((name, happens))

    def ask(self, act: Act) -> Answer:
        for pair in [each for each in self._waiting if each[0] == act.name]:
            self._waiting.remove(pair)
            pair[1]()
        return self._perform(act)


def sharing(store: MemoryStore) -> MemoryStore:
    """Another client of the same place."""
    return type(store)(store.ask)


def names_there(store: MemoryStore) -> list[str]:
    return [key.rpartition("/")[2] for key in list_keys(store, HOME)]


def test_a_slow_contender_cannot_take_a_lease_number_that_lives(store: MemoryStore) -> None:
    """Goal: of two that want the same number one holds it, however late the other comes.

    Method: the late one sleeps between its look and its create, while the other takes the lease
    and beats so often that its first beats would long be removed.
    """
    clock = Clock()
    first, quick = a_lease(store, clock, "first"), a_lease(store, clock, "quick")
    first.try_take()
    first.release(Note())
    mine = sharing(store)
    slow, late = Slow(mine), a_lease(mine, clock, "late one")

    def taken() -> None:
        assert quick.try_take() is None
        for _ in range(5):
            quick.beat(Note())

    slow.before("create", taken)
    slow.before("replace", taken)
    holder = late.try_take()
    assert holder is not None
    assert holder.owner == "quick"
    assert (late.is_mine, quick.is_still_mine()) == (False, True)


def test_beat_0_of_a_lease_stays_while_no_newer_one_exists() -> None:
    store, clock = MemoryStore(), Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    for _ in range(5):
        first.beat(Note())
    assert names_there(store)[0] == f"{1:010}-{0:012}.json"
    assert store.create(f"{HOME}/{1:010}-{0:012}.json", b"a second time") is False


def test_a_holder_that_wakes_up_while_another_takes_over_keeps_the_lease(
    store: MemoryStore,
) -> None:
    """It was silent, was judged, and beats again before the other has begun its lease."""
    clock = Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    first.beat(Note())
    mine = sharing(store)
    slow, second = Slow(mine), a_lease(mine, clock, "second")
    assert second.try_take() is not None
    clock.tick_s += STALE_S
    slow.before("create", lambda: first.beat(Note()))
    slow.before("replace", lambda: first.beat(Note()))
    holder = second.try_take()
    assert holder is not None
    assert holder.owner == "first"
    assert (first.is_still_mine(), second.is_mine) == (True, False)
    clock.tick_s += STALE_S - 1
    assert second.try_take() is not None


def test_whoever_lost_the_lease_sees_it_at_its_next_beat_and_leaves_none(
    store: MemoryStore,
) -> None:
    clock = Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    second.try_take()
    clock.tick_s += STALE_S
    assert second.try_take() is None
    before = names_there(store), last_beat(store, LAYOUT)
    first.beat(Note())
    assert not first.is_mine
    first.release(Note())
    assert (names_there(store), last_beat(store, LAYOUT)) == before
    assert second.is_still_mine()


def test_whoever_looks_before_a_claim_sees_that_the_lease_is_lost(store: MemoryStore) -> None:
    clock = Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    assert first.is_still_mine()
    assert second.try_take(force=True) is None
    assert not first.is_still_mine()
    assert not first.is_mine


def test_a_steady_beat_lists_nothing(store: MemoryStore) -> None:
    """One request where the store replaces; a look, a create and a delete where it does not."""
    clock = Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    for _ in range(3):
        first.beat(Note())
    asked: list[str] = []
    perform = store.ask

    def count(act: Act) -> Answer:
        asked.append(act.name)
        return perform(act)

    store.ask = count
    first.beat(Note())
    assert asked in (["replace"], ["read", "create", "delete"])


FAULTS = [What.FAIL_BEFORE, What.FAIL_AFTER, What.DELAY]


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("call", ["create", "replace_tagged", "delete"])
def test_a_beat_without_an_answer_does_not_end_a_lease(
    store: MemoryStore, call: str, what: What
) -> None:
    clock = Clock()
    wrap = ReplacingFaultStore if isinstance(store, ReplacingMemoryStore) else FaultStore
    faulty = wrap(store, [Fault(call, what, nth=nth) for nth in (2, 3, 5)])
    first = a_lease(faulty, clock, "first")
    assert first.try_take() is None
    for _ in range(8):
        with suppress(OutcomeUnknown):
            first.beat(Note())
        faulty.deliver()
        assert first.is_still_mine()
    assert len(names_there(store)) <= 4
    first.release(Note())
    assert a_lease(store, clock, "second").try_take() is None


@pytest.mark.parametrize("what", FAULTS)
def test_a_lease_that_was_taken_without_an_answer_is_taken_again_at_once(
    store: MemoryStore, what: What
) -> None:
    clock = Clock()
    wrap = ReplacingFaultStore if isinstance(store, ReplacingMemoryStore) else FaultStore
    calls = [("create", nth) for nth in (1, 2, 3)] + [("replace_tagged", 1)]
    faulty = wrap(store, [Fault(call, what, nth=nth) for call, nth in calls])
    first = a_lease(faulty, clock, "first")
    with suppress(OutcomeUnknown):
        first.try_take()
    faulty.deliver()
    assert first.is_mine or first.try_take() is None
    first.beat(Note())
    assert first.is_mine


def test_a_contender_that_could_not_step_back_does_not_hide_the_one_that_lives() -> None:
    """Goal: beats of a lower number count. Method: a contender dies after creating its beat 0."""
    store, clock = MemoryStore(), Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    store.create(f"{HOME}/{2:010}-{0:012}.json", b"of a contender that died")
    second = a_lease(store, clock, "second")
    for _ in range(10):
        first.beat(Note())
        holder = second.try_take()
        assert holder is not None
        assert holder.owner == ("unknown" if clock.tick_s < 100 + STALE_S else "first")
        clock.tick_s += 5
    assert first.is_still_mine()
    clock.tick_s += STALE_S
    assert second.try_take() is None
    assert not first.is_still_mine()


def test_one_object_follows_the_numbered_beats_of_an_older_store() -> None:
    """A store that learns to replace: the owner that still leaves numbered beats is waited for."""
    plain, clock = MemoryStore(), Clock()
    older = a_lease(plain, clock, "older")
    older.try_take()
    replacing = ReplacingMemoryStore(plain.ask)
    second = a_lease(replacing, clock, "second")
    holder = second.try_take()
    assert holder is not None
    assert holder.owner == "older"
    older.release(Note())
    assert second.try_take() is None
    newest = last_beat(plain, LAYOUT)  # `status` reads both forms, whatever its store can do
    assert newest is not None
    assert (newest.owner, newest.lease) == ("second", 2)


def test_a_late_beat_of_a_former_lease_replaces_nothing() -> None:
    """A thread that hung in a beat comes back when its process holds the lease again."""
    store, clock = ReplacingMemoryStore(), Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    late = first._a_beat(1, 7)
    assert second.try_take(force=True) is None
    assert not first.is_still_mine()
    assert first.try_take(force=True) is None
    assert first._form.renew(late) is False
    assert first.is_still_mine()


@pytest.mark.parametrize("content", [b"", b"{}", b"not json", b'{"lease": 1}'])
def test_a_beat_that_cannot_be_read_counts_as_a_silent_holder(content: bytes) -> None:
    store, clock = MemoryStore(), Clock()
    store.create(f"{HOME}/{7:010}-{3:012}.json", content)
    store.create(f"{HOME}/a stranger", b"")
    second = a_lease(store, clock, "second")
    assert second.try_take() is not None
    clock.tick_s += STALE_S
    assert second.try_take() is None
    assert [key.rpartition("/")[2] for key in beat_keys(store, HOME)][-1].startswith("0000000008-")


def test_this_process_lives_and_one_that_ended_is_dead() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert is_dead(me) is False
    code = "from penstock.runtime.this_process import this_process as p; import msgspec, sys\n"
    code += "sys.stdout.buffer.write(msgspec.json.encode(p()))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    other = msgspec.json.decode(ran.stdout, type=Process)
    assert is_dead(other) is True
    assert is_dead(Process("another host", 1)) is False
    assert is_dead(Process(me.host, me.pid, "another start")) is True
    assert is_dead(Process(me.host, 1)) is False
