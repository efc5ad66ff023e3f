"""Many words of a person at once, a recreated topic, and what the journal remembers of each."""

import msgspec
import pytest

from penstock.care.seek import Approval, accept_gaps, rebind, seek_all, unpark
from penstock.errors import EntryRefused
from penstock.model.entries import Gap, PartitionStart, Rebind, Seek
from penstock.model.ranges import TopicPartition
from penstock.protocol.feed_book.state import FeedState, PartitionState
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_room,
    an_owner,
    covered,
    delivered,
    kinds,
    rows,
)
from tests.simulator.kafka import TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import Room
from tests.simulator.schedules import at_decision

FIRST, SECOND = TopicPartition(TOPIC_ID, 0), TopicPartition(TOPIC_ID, 1)
APPROVAL = Approval("me", "test")


def first_offsets(state: FeedState) -> dict[TopicPartition, int]:
    """Where reading of each partition began, of the topics as they are bound now."""
    return {place: known.first_offset for place, known in _partitions(state)}


def last_windows(state: FeedState) -> dict[TopicPartition, str]:
    """The window that covered each partition last."""
    return {place: known.last_window for place, known in _partitions(state)}


def _partitions(state: FeedState) -> list[tuple[TopicPartition, PartitionState]]:
    return [
        (place, state.partitions[place.topic_id][place.partition]) for place in state.watermarks()
    ]


def a_lake() -> tuple[Room, WatchedStore]:
    """Two partitions: two records delivered of each, four more in Kafka."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 2, 1: ["a"] * 2}), store)
    delivered(room)
    for partition in (0, 1):
        room.kafka.partitions[partition] += ["a"] * 4
        room.kafka.latest[partition] = 6
    return room, store


def test_many_watermarks_move_with_an_entry_and_one_tail_mark() -> None:
    room, store = a_lake()
    marks = len(store.created("_tail"))
    sealed = seek_all(room.journal(), {FIRST: 4, SECOND: 6}, APPROVAL)
    assert [entry.body for entry in sealed] == [
        Seek(TOPIC, TOPIC_ID, 0, 2, 4, "me", "test"),
        Seek(TOPIC, TOPIC_ID, 1, 2, 6, "me", "test"),
    ]
    assert len(store.created("_tail")) == marks + 1
    delivered(room)
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 4), (0, 5), (1, 0), (1, 1)]


def test_a_window_that_an_owner_decides_meanwhile_is_kept_and_the_seek_starts_after_it() -> None:
    room, store = a_lake()
    owner = an_owner(room, max_records=2)
    store.once(at_decision, owner.run_window)
    sealed = seek_all(room.journal(), {FIRST: 5}, APPROVAL)
    assert sealed[0].body == Seek(TOPIC, TOPIC_ID, 0, 3, 5, "me", "test")
    delivered(room)
    assert rows(store, "a") == sorted(
        [(0, 0), (0, 1), (0, 2), (0, 5), *((1, offset) for offset in range(6))]
    )


def test_a_claim_meanwhile_does_not_lose_the_word() -> None:
    room, store = a_lake()
    store.once(at_decision, lambda: an_owner(room))
    seek_all(room.journal(), {FIRST: 6}, APPROVAL)
    assert kinds(room)[-2:] == ["Claim", "Seek"]


def test_what_would_deliver_twice_is_refused_and_what_landed_before_stays() -> None:
    room, _ = a_lake()
    with pytest.raises(EntryRefused, match="needs a new generation"):
        seek_all(room.journal(), {FIRST: 4, SECOND: 1}, APPROVAL)
    marks = room.journal().open().state.watermarks()
    assert marks == {FIRST: 4, SECOND: 2}


def test_many_gaps_are_accepted_at_once() -> None:
    room, _ = a_lake()
    lost = [covered(2, 4, 0), covered(2, 3, 1)]
    assert [entry.body for entry in accept_gaps(room.journal(), lost, APPROVAL)] == [
        Gap(each, "me", "test") for each in lost
    ]
    with pytest.raises(EntryRefused, match="does not start at the watermark"):
        accept_gaps(room.journal(), lost, APPROVAL)


def test_a_rebind_names_both_lives_and_starts_the_new_one() -> None:
    room, _ = a_lake()
    starts = (PartitionStart(TOPIC, "new", 0, 3), PartitionStart(TOPIC, "new", 1, 0))
    sealed = rebind(room.journal(), room.around, TOPIC, TOPIC_ID, starts, APPROVAL)
    assert sealed.body == Rebind(TOPIC, TOPIC_ID, "new", starts, "me", "test")
    journal = room.journal()
    state = journal.open().state
    new = {TopicPartition("new", 0): 3, TopicPartition("new", 1): 0}
    assert state.watermarks() == new
    assert first_offsets(state) == new
    assert set(last_windows(state).values()) == {""}


def test_a_rebind_to_the_life_that_is_bound_or_of_an_unknown_topic_is_refused() -> None:
    room, store = a_lake()
    before = store.shelf.mark
    same = (PartitionStart(TOPIC, TOPIC_ID, 0, 0),)
    other = tuple(msgspec.structs.replace(start, topic_id="new") for start in same)
    for topic, starts in ((TOPIC, same), ("never", other), (TOPIC, ())):
        with pytest.raises(EntryRefused):
            rebind(room.journal(), room.around, topic, TOPIC_ID, starts, APPROVAL)
    assert store.shelf.mark == before


def test_a_rebind_that_was_overtaken_by_a_newer_one_is_refused() -> None:
    """Otherwise the feed would be bound to a life that is over, and the present one was read."""
    room, _ = a_lake()
    newest, older = (
        (PartitionStart(TOPIC, "third", 0, 0),),
        (PartitionStart(TOPIC, "second", 0, 0),),
    )
    rebind(room.journal(), room.around, TOPIC, TOPIC_ID, newest, APPROVAL)
    with pytest.raises(EntryRefused, match=f"not bound to {TOPIC_ID}"):
        rebind(room.journal(), room.around, TOPIC, TOPIC_ID, older, APPROVAL)
    assert room.journal().open().state.topics == {TOPIC: "third"}


def test_the_journal_remembers_where_each_partition_began_and_who_covered_it_last() -> None:
    room, _ = a_lake()
    journal = room.journal()
    state = journal.open().state
    assert first_offsets(state) == {FIRST: 0, SECOND: 0}
    before = last_windows(state)
    assert "" not in before.values()
    seek_all(journal, {SECOND: 6}, APPROVAL)
    delivered(room)
    after = last_windows(journal.open().state)
    assert after[SECOND] == before[SECOND]
    assert after[FIRST] != before[FIRST]


@pytest.mark.parametrize("command", ["rebind", "unpark"])
def test_what_consumes_nothing_reads_nothing_before_the_checkpoint(command: str) -> None:
    """Goal: no inventory is made for it. Method: look which entries and markers are read."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 60}), store)
    delivered(room, max_records=1, checkpoint_every=10)
    store.acts.clear()
    commands = {
        "rebind": lambda: rebind(room.journal(), room.around, "nowhere", "id", (), APPROVAL),
        "unpark": lambda: unpark(room.journal(), room.around, "a", "me"),
    }
    with pytest.raises(EntryRefused):
        commands[command]()
    read = [act.key for act in store.acts if act.name == "read"]
    assert LAYOUT.entry(0) not in read
    assert len(read) < 30


def test_a_deep_fold_takes_what_was_done_from_the_checkpoint() -> None:
    """Goal: no marker is read for every entry ever. Method: count the markers that are read."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 60}), store)
    delivered(room, max_records=1, checkpoint_every=10)
    store.acts.clear()
    assert room.journal().open(deep=True).state.undone == {}
    markers = [act.key for act in store.acts if act.name == "read" and "/done/" in act.key]
    assert len(markers) < 12
