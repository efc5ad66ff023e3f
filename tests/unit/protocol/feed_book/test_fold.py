"""What each kind of entry does to the state, and what it leaves alone."""

import msgspec
import pytest

from penstock.model.entries import (
    AnyBody,
    Compact,
    Counts,
    Drop,
    Gap,
    Generation,
    LastRecord,
    Park,
    PartitionStart,
    Rebind,
    Replace,
    Replay,
    Retire,
    SealedEntry,
    Seek,
    Start,
    Unpark,
)
from penstock.model.envelope import GENESIS, Claim
from penstock.model.manifest import Content, Group, Input, groups_of
from penstock.model.ranges import TopicPartition
from penstock.model.steps import DELIVER, REMOVE, DeleteInputs, PublishFiles
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.state import FeedState, Owed, PartitionState, Undone
from penstock.protocol.journal.every_book import apply
from tests.helpers.journals import (
    BEGINNING,
    a_compaction,
    a_file,
    a_window,
    begins,
    covered,
    next_entry,
    told,
    window_of,
)
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID

PLACE = TopicPartition(TOPIC_ID, 0)


def partition(state: FeedState, number: int = 0) -> PartitionState:
    known = state.partition(TopicPartition(TOPIC_ID, number))
    assert known is not None
    return known


def test_the_fold_of_nothing_is_a_new_feed() -> None:
    state = FeedState()
    assert state.is_new
    assert (state.number, state.sha256, state.epoch) == (-1, GENESIS, 0)
    assert state.watermarks() == {}
    assert state.open_parts(0) == ()


def test_the_beginning_binds_claims_and_starts() -> None:
    state = told(*BEGINNING)
    assert not state.is_new
    assert (state.number, state.cluster_id) == (2, CLUSTER)
    assert (state.epoch, state.owner) == (1, "one")
    assert state.topics == {TOPIC: TOPIC_ID}
    assert state.watermarks() == {PLACE: 0, TopicPartition(TOPIC_ID, 1): 5}


def test_an_entry_becomes_the_new_tail() -> None:
    state = told(*BEGINNING)
    entry = next_entry(state, Claim("two"))
    apply(FEED_BOOK, state, SealedEntry(entry, "f" * 64))
    assert (state.number, state.sha256) == (3, "f" * 64)
    assert (state.epoch, state.owner) == (2, "two")


def test_a_window_moves_the_watermark_and_the_floor_to_where_it_ends() -> None:
    state = told(*BEGINNING, a_window(covered(0, 3)))
    assert (partition(state).watermark, partition(state).floor) == (3, 3)
    assert partition(state, 1) == PartitionState(TOPIC, 5, 5)


def test_a_large_record_is_remembered_for_many_windows_and_not_for_ever() -> None:
    windows = [a_window(covered(n, n + 1), window=f"1-{n}") for n in range(80)]
    large = msgspec.structs.replace(windows[0], counts=Counts(1, 1, largest_bytes=1_000_000))
    assert told(*BEGINNING, large).recent_largest == 1_000_000
    assert told(*BEGINNING, large, *windows[1:20]).recent_largest > 250_000
    assert told(*BEGINNING, large, *windows[1:]).recent_largest < 16_000
    assert told(*BEGINNING, large, *windows[1:]).counts.largest_bytes == 1_000_000


def test_a_window_leaves_its_last_records_and_schemas() -> None:
    window = msgspec.structs.replace(
        a_window(covered(0, 3)),
        last_records=(LastRecord(TOPIC_ID, 0, 2, 77),),
        schemas={"a": 4},
    )
    state = told(*BEGINNING, window)
    assert (partition(state).last_offset, partition(state).last_hash) == (2, 77)
    assert state.schemas == {"a": 4}
    later = msgspec.structs.replace(a_window(covered(3, 4), window="1-2"), schemas={"b": 1})
    state = told(later, state=state)
    assert state.schemas == {"a": 4, "b": 1}
    assert partition(state).last_offset == 2, "a window without records keeps the last one"


def test_a_window_is_undone_until_markers_tell_otherwise() -> None:
    content = Content(files=(a_file("b", covered(0, 1), [0]), a_file("a", covered(1, 2), [1])))
    state = told(*BEGINNING, window_of(content, covered(0, 2)))
    assert state.undone == {3: Undone(3, state.sha256, "1-1", ["a@files", "b@files"])}
    assert state.open_parts(3) == ("a@files", "b@files")


def test_a_window_without_files_has_nothing_to_do() -> None:
    state = told(*BEGINNING, window_of(Content(), covered(0, 2)))
    assert state.undone == {}
    assert partition(state).watermark == 2


def test_a_gap_moves_the_watermark_and_not_the_floor() -> None:
    state = told(*BEGINNING, Gap(covered(0, 4), "me", "expired"))
    assert (partition(state).watermark, partition(state).floor) == (4, 0)


def test_a_seek_moves_the_watermark_both_ways_and_not_the_floor() -> None:
    ahead = Seek(TOPIC, TOPIC_ID, 0, 3, 9, "me", "skip")
    back = Seek(TOPIC, TOPIC_ID, 0, 9, 4, "me", "not that far")
    state = told(*BEGINNING, a_window(covered(0, 3)), ahead)
    assert (partition(state).watermark, partition(state).floor) == (9, 3)
    state = told(back, state=state)
    assert (partition(state).watermark, partition(state).floor) == (4, 3)


def test_a_rebind_starts_a_new_life_and_remembers_the_old_one() -> None:
    rebind = Rebind(TOPIC, TOPIC_ID, "id-2", (PartitionStart(TOPIC, "id-2", 0, 40),), "me", "why")
    state = told(*BEGINNING, a_window(covered(0, 3)), rebind)
    assert state.topics == {TOPIC: "id-2"}
    assert state.watermarks() == {TopicPartition("id-2", 0): 40}
    assert partition(state).watermark == 3
    assert state.undone, "what was decided in the old life is still to be published"


def test_a_rebind_without_partitions_counts_as_read() -> None:
    state = told(*BEGINNING, Rebind(TOPIC, TOPIC_ID, "id-2", (), "me", "why"))
    assert state.watermarks() == {}
    assert "id-2" in state.partitions


def test_parking_hides_a_dataset_from_work_and_unparking_shows_it_again() -> None:
    content = Content(files=(a_file("b", covered(0, 1), [0]), a_file("a", covered(1, 2), [1])))
    state = told(*BEGINNING, window_of(content, covered(0, 2)), Park("a", 3, "full"))
    assert state.parked == {"a@files": "full"}
    assert state.open_parts(3) == ("b@files",)
    assert state.undone[3].parts == ["a@files", "b@files"]
    state = told(Unpark("a", "me"), state=state)
    assert state.parked == {}
    assert state.open_parts(3) == ("a@files", "b@files")


def test_a_replacement_is_noted_at_the_entry_it_replaces_and_is_no_work_of_its_own() -> None:
    content = Content(files=(a_file("a", covered(0, 2), [0, 1]),))
    groups = groups_of(content, DELIVER)
    replace = Replace(window="1-1", groups=groups, content=content, number=3)
    state = told(*BEGINNING, a_window(covered(0, 2)), replace, replace)
    assert list(state.undone) == [3]
    assert state.undone[3].replaced_by == [4, 5]


@pytest.mark.parametrize(
    "body",
    [
        a_compaction(Content(files=(a_file("a", covered(0, 2), [0, 1], "c"),))),
        Retire(
            window="1-x1",
            groups=(Group("a", 0, 0, 0, REMOVE),),
            content=Content(inputs=(Input("a", "x"),)),
            author="me",
            reason="old",
        ),
        Replay(
            window="1-x1", groups=(Group("a", 1, 1, 1, DELIVER),), content=Content(), author="me"
        ),
        Generation(
            window="1-x1",
            groups=(Group("a", 1, 1, 1, DELIVER),),
            content=Content(),
            generation=1,
            ranges=(covered(0, 2),),
        ),
    ],
    ids=["compact", "retire", "replay", "generation"],
)
def test_what_delivers_beside_windows_is_work_and_moves_no_watermark(
    body: Compact | Retire | Replay | Generation,
) -> None:
    before = told(*BEGINNING, a_window(covered(0, 2)))
    state = told(*BEGINNING, a_window(covered(0, 2)), body)
    steps = body.groups[0].steps
    publishes, deletes = PublishFiles() in steps, DeleteInputs() in steps
    assert state.undone.get(4) == (
        Undone(4, state.sha256, "1-x1", ["a@files"]) if publishes else None
    )
    assert state.owed.get(4) == (Owed(4, state.sha256, "1-x1", ["a@delete"]) if deletes else None)
    assert state.watermarks() == before.watermarks()


def test_a_replay_brings_versions_of_schemas_and_takes_none_back() -> None:
    group, content = (Group("a", 1, 1, 1, DELIVER),), Content()

    def delivering(**schemas: int) -> Replay:
        return Replay(window="1-x1", groups=group, content=content, author="me", schemas=schemas)

    state = told(*BEGINNING, a_window(covered(0, 2)), delivering(a=2, b=1), delivering(a=1))
    assert (state.schemas["a"], state.schemas["b"]) == (2, 1)


NO_PROGRESS: list[AnyBody] = [
    Claim("two"),
    Park("a", 3, "test"),
    Drop(content=Content(), author="me", reason="test"),
    Start((begins(9, 3),)),
    a_compaction(Content()),
]


@pytest.mark.parametrize("body", NO_PROGRESS, ids=lambda body: type(body).__name__)
def test_no_entry_moves_the_watermark_of_a_partition_it_does_not_cover(body: AnyBody) -> None:
    """Watermarks are never set forward of what an entry covers: these cover nothing."""
    state = told(*BEGINNING, a_window(covered(0, 2)))
    before = state.watermarks()
    after = told(body, state=state).watermarks()
    assert {place: after[place] for place in before} == before


def test_the_state_survives_being_written_and_read() -> None:
    """It is what a checkpoint holds; dictionaries by number must come back by number."""
    state = told(*BEGINNING, a_window(covered(0, 3)), Park("a", 3, "test"))
    raw = msgspec.json.encode(state)
    assert msgspec.json.decode(raw, type=FeedState) == state
