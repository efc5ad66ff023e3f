"""The lease: who waits for whom, without comparing clocks."""

import dataclasses
import os
import subprocess
import sys

import msgspec
import pytest

from penstock.api.store import Store
from penstock.model.layout import Layout
from penstock.model.process_id import Process
from penstock.protocol.feed_book.feed_lease import FeedLease, Note, last_beat
from penstock.protocol.journal.lease import STALE_S, Contender, beat_keys
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import is_dead, this_process
from penstock.testing.memory_store import MemoryStore
from tests.simulator.programs import surroundings

LAYOUT = Layout("events")
HOME = LAYOUT.lease


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


def test_the_first_takes_it_and_the_second_sees_who_holds_it() -> None:
    store, clock = MemoryStore(), Clock()
    assert a_lease(store, clock, "first").try_take() is None
    holder = a_lease(store, clock, "second").try_take()
    assert holder is not None
    assert holder.owner == "first"


def test_a_holder_that_let_go_or_is_dead_on_this_host_is_followed_at_once() -> None:
    store, clock = MemoryStore(), Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    first.release(Note())
    assert a_lease(store, clock, "second").try_take() is None
    assert a_lease(store, clock, "third", dead=(len("second"),)).try_take() is None


def test_a_silent_holder_is_followed_after_the_observers_own_time() -> None:
    store, clock = MemoryStore(), Clock()
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


def test_of_two_that_follow_one_wins_and_the_other_waits() -> None:
    store, clock = MemoryStore(), Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    first.release(Note())
    second, third = a_lease(store, clock, "second"), a_lease(store, clock, "third")
    assert [second.try_take(), third.try_take() is not None] == [None, True]
    assert third.is_mine is False


def test_force_takes_it_from_the_living() -> None:
    store, clock = MemoryStore(), Clock()
    first, second = a_lease(store, clock, "first"), a_lease(store, clock, "second")
    first.try_take()
    assert second.try_take(force=True) is None
    first.beat(Note())  # of the old lease: it does not hide the new one
    newest = last_beat(store, LAYOUT)
    assert newest is not None
    assert newest.owner == "second"


def test_beats_carry_notes_and_older_ones_are_removed() -> None:
    store, clock = MemoryStore(), Clock()
    first = a_lease(store, clock, "first")
    first.try_take()
    for number in range(10):
        first.beat(Note(epoch=3, latest={"events": {0: number}}))
    assert len(beat_keys(store, HOME)) == 2
    newest = last_beat(store, LAYOUT)
    assert newest is not None
    assert newest.note.latest == {"events": {0: 9}}


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
