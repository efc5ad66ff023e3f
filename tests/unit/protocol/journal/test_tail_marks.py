"""Tail marks: whatever was decided last, its removal is noticed; a death before the mark is not."""

from collections.abc import Callable

import pytest

from penstock.api.store import Store
from penstock.audit.shallow import audit
from penstock.care.replay import drop, live_records
from penstock.care.seek import Approval, accept_gaps, rebind, seek_all, unpark
from penstock.errors import JournalCut, OutcomeUnknown
from penstock.model.entries import PartitionStart
from penstock.model.ranges import TopicPartition
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_room,
    an_owner,
    covered,
    decided_only,
    delivered,
    kinds,
)
from tests.simulator.kafka import BAD, TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import Room

PLACE = TopicPartition(TOPIC_ID, 0)
FATES = ["a", BAD, "b", "a"]


def a_lake(store: Store | None = None) -> Room:
    """Three records were delivered, and one is left to read."""
    room = a_room(SimKafka({0: FATES[:3]}), store if store is not None else WatchedStore())
    return delivered(room)


def more(room: Room) -> None:
    room.kafka.partitions[0] = list(FATES)
    room.kafka.latest[0] = len(FATES)


def do_drop(room: Room) -> None:
    records = live_records(room.journal().open(deep=True))
    drop(room.journal(), room.around, records, "ann", "test data")


def do_seek(room: Room) -> None:
    seek_all(room.journal(), {PLACE: 4}, Approval("ann", "skip"))


def do_seek_all(room: Room) -> None:
    seek_all(room.journal(), {PLACE: 4}, Approval("ann", "skip"))


def do_gap(room: Room) -> None:
    accept_gaps(room.journal(), [covered(3, 4)], Approval("ann", "expired"))


def do_rebind(room: Room) -> None:
    starts = (PartitionStart(TOPIC, "topic-id-2", 0, 0),)
    rebind(room.journal(), room.around, TOPIC, TOPIC_ID, starts, Approval("ann", "made again"))


COMMANDS = [do_drop, do_seek, do_seek_all, do_gap, do_rebind]


def is_noticed(room: Room) -> bool:
    """Whether the removal of the last entry is noticed, by owners and by audits."""
    number = room.journal().open().state.number
    room.store.delete(LAYOUT.entry(number))
    receipt = audit(room.journal())
    try:
        room.journal().open()
    except JournalCut:
        assert [each.kind for each in receipt.differences] == ["journal"]
        return True
    return False


@pytest.mark.parametrize("command", COMMANDS)
def test_the_last_entry_of_a_command_cannot_be_removed_unnoticed(
    command: Callable[[Room], None],
) -> None:
    room = a_lake()
    more(room)
    command(room)
    assert audit(room.journal()).verdict == "ok"
    assert is_noticed(room)


def test_the_entry_that_starts_a_partition_cannot_be_removed_unnoticed() -> None:
    room = a_room(SimKafka({0: FATES}), WatchedStore())
    assert an_owner(room).plan() is not None
    assert kinds(room)[-1] == "Start"
    assert is_noticed(room)


def parked(store: WatchedStore) -> Room:
    """A lake in which a dataset has just been parked."""
    store.broken = {"a"}
    room = a_room(SimKafka({0: ["a"]}), store)
    owner = an_owner(room)
    decided_only(owner)
    owner.recover()
    assert kinds(room)[-1] == "Park"
    return room


def test_a_park_and_an_unpark_cannot_be_removed_unnoticed() -> None:
    assert is_noticed(parked(WatchedStore()))
    room = parked(WatchedStore())
    unpark(room.journal(), room.around, "a", "ann")
    assert is_noticed(room)
    room = parked(store := WatchedStore())
    store.broken = set()
    an_owner(room)
    assert kinds(room)[-1] == "Unpark"
    assert is_noticed(room)


def test_an_entry_that_replaces_lost_files_cannot_be_removed_unnoticed() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    decided_only(an_owner(room))
    store.lose_staged()
    an_owner(room).recover()
    assert kinds(room)[-1] == "Replace"
    assert is_noticed(room)


MARK = f"{LAYOUT.tails}/*"


def with_fault(room: Room, *faults: Fault) -> Room:
    """The same lake through the eyes of a process with trouble ahead."""
    return Room("troubled", FaultStore(room.store, faults), room.around, room.kafka)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", [What.DIE_BEFORE, What.DIE_AFTER])
def test_a_death_around_the_mark_leaves_a_decision_that_holds(
    command: Callable[[Room], None], what: What
) -> None:
    room = a_lake()
    more(room)
    with pytest.raises(Died):
        command(with_fault(room, Fault("create", what, MARK)))
    assert audit(room.journal()).verdict == "ok"
    before = kinds(room)
    if command is not do_rebind:  # there is no such topic to read on from
        delivered(room)
        assert kinds(room)[: len(before)] == before
    assert audit(room.journal()).verdict == "ok"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mark_whose_reply_was_lost_is_looked_up(command: Callable[[Room], None]) -> None:
    room = a_lake()
    more(room)
    command(with_fault(room, Fault("create", What.FAIL_AFTER, MARK)))
    assert audit(room.journal()).verdict == "ok"
    assert is_noticed(room)


@pytest.mark.parametrize("what", [What.DIE_BEFORE, What.DIE_AFTER, What.FAIL_AFTER])
def test_an_owner_that_dies_around_the_mark_of_a_start_is_followed_by_the_next(what: What) -> None:
    room = a_room(SimKafka({0: FATES}), MemoryStore())
    fault = Fault("create", what, MARK, nth=2)  # the first is that of the claim
    owner = an_owner(with_fault(room, fault))
    if what is What.FAIL_AFTER:
        assert owner.plan() is not None
    else:
        with pytest.raises(Died):
            owner.plan()
    assert kinds(room)[-1] == "Start"
    delivered(room)
    assert audit(room.journal()).verdict == "ok"


def test_an_owner_that_dies_around_the_mark_of_a_park_is_followed_by_the_next() -> None:
    for what in (What.DIE_BEFORE, What.DIE_AFTER):
        store = WatchedStore()
        store.broken = {"a"}
        room = a_room(SimKafka({0: ["a"]}), store)
        number = decided_only(an_owner(room))
        # Marks of the next owner: of its claim, of the window, and of the park.
        with pytest.raises(Died):
            an_owner(with_fault(room, Fault("create", what, MARK, nth=3)))
        assert kinds(room)[-1] == "Park"
        assert number in room.journal().open().state.undone
        store.broken = set()
        delivered(room)
        assert audit(room.journal()).verdict == "ok"


def test_a_mark_that_nobody_can_leave_stops_the_command_after_its_decision() -> None:
    room = a_lake()
    more(room)
    before = len(kinds(room))
    faults = [Fault("create", What.FAIL_BEFORE, MARK, nth=nth) for nth in range(1, 10)]
    with pytest.raises(OutcomeUnknown):
        do_seek(with_fault(room, *faults))
    assert len(kinds(room)) == before + 1
    assert audit(room.journal()).verdict == "ok"


def test_a_mark_that_comes_after_an_owner_went_on_is_no_contradiction() -> None:
    """The command is overtaken between its entry and its mark."""
    store = WatchedStore()
    room = a_lake(store)
    more(room)
    owner = an_owner(room)
    at = room.journal().open().state.number + 1
    store.once(
        lambda act: act.name == "create" and act.key == LAYOUT.tail(at),
        owner.run_window,
    )
    do_drop(room)
    assert audit(room.journal()).verdict == "ok"
    assert room.journal().open().state.number > at
