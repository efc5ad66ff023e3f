"""The commands beside a live feed: each is one entry, decided on what is there now, or refused."""

from collections.abc import Callable

import pytest

from penstock.care.clean import clean
from penstock.care.compact import RewriteOrder, compact
from penstock.care.done_files import done_files
from penstock.care.replay import ReplayOrder, StagedReplay, drop, live_records, replay
from penstock.care.retire import retire
from penstock.care.seek import Approval, accept_gaps, seek_all, unpark
from penstock.errors import EntryRefused
from penstock.model.entries import Compact, Drop, Gap, Replay, Retire, Seek, Unpark
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition
from penstock.model.window import StageOrder
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedFold
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import (
    WatchedStore,
    a_room,
    an_owner,
    covered,
    decided_only,
    delivered,
    kinds,
    leftover,
    rows,
)
from tests.simulator.kafka import BAD, TOPIC, TOPIC_ID, SimKafka, write_file
from tests.simulator.programs import FEED, Room, compactor, replayer
from tests.simulator.schedules import at_decision, at_discard

PLACE = TopicPartition(TOPIC_ID, 0)
FATES = ["a", BAD, "a", "b", BAD]


def a_lake(*fates: list[str]) -> tuple[Room, WatchedStore]:
    """Everything delivered, one record a window."""
    store = WatchedStore()
    room = a_room(SimKafka(dict(enumerate(fates or (FATES,)))), store)
    return delivered(room, max_records=1), store


def watermark(room: Room) -> int:
    return room.journal().open().state.watermarks()[PLACE]


def deep(room: Room) -> FeedFold:
    return room.journal().open(deep=True)


def bad(*offsets: int) -> RecordSet:
    return RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of(offsets))


def test_a_seek_forward_skips_what_was_not_read_yet() -> None:
    room, store = a_lake(["a"] * 2)
    room.kafka.partitions[0] += ["a"] * 4
    room.kafka.latest[0] = 6
    (sealed,) = seek_all(room.journal(), {PLACE: 4}, Approval("me", "broken producer"))
    assert sealed.body == Seek(TOPIC, TOPIC_ID, 0, 2, 4, "me", "broken producer")
    delivered(room)
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 4), (0, 5)]


def test_a_seek_back_over_skipped_offsets_is_allowed_and_over_delivered_ones_is_not() -> None:
    room, store = a_lake(["a"] * 2)
    room.kafka.partitions[0] += ["a"] * 2
    room.kafka.latest[0] = 4
    seek_all(room.journal(), {PLACE: 4}, Approval("me", "skip"))
    seek_all(room.journal(), {PLACE: 2}, Approval("me", "after all"))
    before = store.shelf.mark
    with pytest.raises(EntryRefused, match="needs a new generation"):
        seek_all(room.journal(), {PLACE: 1}, Approval("me", "again"))
    assert store.shelf.mark == before
    delivered(room)
    assert rows(store, "a") == [(0, offset) for offset in range(4)]


def test_a_seek_of_a_partition_that_was_never_read_is_refused() -> None:
    room, store = a_lake()
    before = store.shelf.mark
    with pytest.raises(EntryRefused, match="has no start"):
        seek_all(room.journal(), {TopicPartition(TOPIC_ID, 9): 4}, Approval("me", "test"))
    assert store.shelf.mark == before


def test_a_gap_is_accepted_where_the_watermark_stands_and_nowhere_else() -> None:
    room, store = a_lake(["a"] * 2)
    before = store.shelf.mark
    for wrong in (covered(1, 4), covered(3, 4), covered(2, 2), covered(0, 1, 9)):
        with pytest.raises(EntryRefused):
            accept_gaps(room.journal(), [wrong], Approval("me", "test"))
    assert store.shelf.mark == before
    (sealed,) = accept_gaps(room.journal(), [covered(2, 4)], Approval("me", "expired"))
    assert sealed.body == Gap(covered(2, 4), "me", "expired")
    assert watermark(room) == 4


def test_a_compaction_leaves_the_same_rows_in_one_file() -> None:
    room, store = a_lake(["a"] * 4)
    assert len(list_keys(store, "feed/a")) == 4
    assert compactor("a")(room) == "decided"
    assert len(list_keys(store, "feed/a")) == 1
    assert rows(store, "a") == [(0, offset) for offset in range(4)]
    assert kinds(room)[-1] == Compact.__name__
    assert deep(room).state.undone == {}
    assert store.shelf.staged == {}


def test_a_compaction_shows_the_new_file_before_it_removes_the_old_ones() -> None:
    """A lister may see rows twice for a moment, and never too few."""
    room, store = a_lake(["a"] * 3)
    compactor("a")(room)
    link = max(i for i, act in enumerate(store.acts) if act.name == "link")
    deletes = [i for i, act in enumerate(store.acts) if act.name == "delete" and "/a/" in act.key]
    assert len(deletes) == 3
    assert link < min(deletes)


def test_fewer_than_two_files_are_not_compacted() -> None:
    room, store = a_lake(["a"])
    before = store.shelf.mark
    assert compactor("a")(room) == "refused: a has 1 files to compact"
    assert compactor("nothing")(room) == "refused: nothing has 0 files to compact"
    assert store.shelf.mark == before


def test_files_of_windows_that_are_not_done_are_not_compacted() -> None:
    room, store = a_lake(["a"] * 2)
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] = 3
    decided_only(an_owner(room))
    assert len(done_files(deep(room), "a")) == 2
    assert compactor("a")(room) == "decided"
    an_owner(room).recover()
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 2)]


def test_a_compaction_that_changes_the_rows_is_refused_and_its_files_are_removed() -> None:
    room, store = a_lake(["a"] * 3)

    def rewrite_badly(order: RewriteOrder) -> tuple[ManifestFile, ...]:
        stage = StageOrder(FEED, order.window, order.staging, ())
        return (write_file(store, room.around, stage, "a", covered(0, 3), [0, 1]),)

    before = store.shelf.objects
    with pytest.raises(EntryRefused, match="it takes 3 rows of a and gives 2 others"):
        compact(room.journal(), room.around, "a", rewrite_badly)
    assert store.shelf.objects == before
    assert store.shelf.staged == {}


def test_a_compaction_is_built_anew_when_an_owner_claims_meanwhile() -> None:
    """Goal: nothing staged in a dead epoch is decided. Method: a claim right before the append."""
    room, store = a_lake(["a"] * 3)
    store.once(at_decision, lambda: an_owner(room))
    assert compactor("a")(room) == "decided"
    assert kinds(room)[-2:] == ["Claim", "Compact"]
    assert any(at_discard(act) for act in store.acts)
    assert store.shelf.staged == {}
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 2)]


def test_a_command_gives_up_when_owners_keep_coming() -> None:
    room, store = a_lake(["a"] * 3)

    def come_again() -> None:
        an_owner(room)
        store.once(lambda act: act.name == "stage", arm)

    def arm() -> None:
        store.once(at_decision, come_again)

    arm()
    assert "it was overtaken 5 times" in compactor("a")(room)
    assert "Compact" not in kinds(room)
    assert store.shelf.staged == {}


def test_retention_removes_named_files_once() -> None:
    room, store = a_lake(["a"] * 3)
    inputs = done_files(deep(room), "a")[:2]
    sealed = retire(room.journal(), room.around, "a", inputs, "me", "30 days")
    assert isinstance(sealed.body, Retire)
    assert rows(store, "a") == [(0, 2)]
    assert done_files(deep(room), "a") == tuple(list_keys(store, "feed/a"))
    before = store.shelf.mark
    with pytest.raises(EntryRefused, match="is not live any more"):
        retire(room.journal(), room.around, "a", inputs, "me", "30 days")
    assert store.shelf.mark == before


def test_retention_does_not_touch_what_is_not_done() -> None:
    room, store = a_lake(["a"] * 2)
    room.kafka.partitions[0].append("a")
    room.kafka.latest[0] = 3
    decided_only(an_owner(room))
    inventory = deep(room).inventory
    assert inventory is not None
    before = store.shelf.mark
    with pytest.raises(EntryRefused, match="which is not done"):
        retire(room.journal(), room.around, "a", tuple(inventory.files), "me", "test")
    assert store.shelf.mark == before


def test_quarantined_records_are_known_until_they_are_replayed() -> None:
    room, store = a_lake()
    assert live_records(deep(room)) == (bad(1, 4),)
    assert replayer("a")(room) == "decided"
    assert kinds(room)[-1] == Replay.__name__
    assert live_records(deep(room)) == ()
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 2), (0, 4)]
    assert replayer("a")(room) == "refused: the quarantine is empty"


def test_records_that_fail_again_stay_in_the_quarantine() -> None:
    room, store = a_lake()

    def decode_one(order: ReplayOrder) -> StagedReplay:
        stage = StageOrder(FEED, order.window, order.staging, ())
        file = write_file(store, room.around, stage, "a", covered(4, 5), [4])
        return StagedReplay((file,), (bad(4),))

    replay(room.journal(), room.around, "me", decode_one)
    assert live_records(deep(room)) == (bad(1),)
    assert rows(store, "a") == [(0, 0), (0, 2), (0, 4)]


@pytest.mark.parametrize(
    ("delivers", "names"), [([1, 4], [4]), ([4], [1, 4]), ([1], [4]), ([2], [2])]
)
def test_a_replay_that_does_not_add_up_is_refused(delivers: list[int], names: list[int]) -> None:
    room, store = a_lake()

    def decode(order: ReplayOrder) -> StagedReplay:
        stage = StageOrder(FEED, order.window, order.staging, ())
        file = write_file(store, room.around, stage, "a", covered(1, 5), delivers)
        return StagedReplay((file,), (bad(*names),))

    before = store.shelf.objects
    with pytest.raises(EntryRefused):
        replay(room.journal(), room.around, "me", decode)
    assert store.shelf.objects == before
    assert store.shelf.staged == {}


def test_dropped_records_are_given_up_once() -> None:
    room, store = a_lake()
    sealed = drop(room.journal(), room.around, (bad(1),), "me", "test data")
    assert isinstance(sealed.body, Drop)
    assert live_records(deep(room)) == (bad(4),)
    before = store.shelf.mark
    for wrong in (bad(1), bad(1, 4), bad(0)):
        with pytest.raises(EntryRefused, match="are not live any more"):
            drop(room.journal(), room.around, (wrong,), "me", "again")
    assert store.shelf.mark == before


def test_two_replays_of_the_same_records_deliver_them_once() -> None:
    room, store = a_lake()
    store.once(at_decision, lambda: replayer("b")(room))
    assert replayer("a")(room).startswith("refused: its records [1, 2), [4, 5)")
    assert rows(store, "a") == [(0, 0), (0, 2)]
    assert rows(store, "b") == [(0, 1), (0, 3), (0, 4)]
    assert store.shelf.staged == {}


def test_only_a_parked_dataset_can_be_unparked() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    store.broken = {"a"}
    an_owner(room).run_window()
    before = store.shelf.mark
    with pytest.raises(EntryRefused, match="b is not parked"):
        unpark(room.journal(), room.around, "b", "me")
    assert store.shelf.mark == before
    assert unpark(room.journal(), room.around, "a", "me").body == Unpark("a", "me")
    with pytest.raises(EntryRefused, match="a is not parked"):
        unpark(room.journal(), room.around, "a", "me")


def test_nothing_can_be_decided_beside_a_feed_that_does_not_exist() -> None:
    room = a_room(store=MemoryStore())
    assert clean(room.journal()).total == 0
    commands: list[Callable[[], object]] = [
        lambda: unpark(room.journal(), room.around, "a", "me"),
        lambda: seek_all(room.journal(), {PLACE: 4}, Approval("me", "test")),
        lambda: accept_gaps(room.journal(), [covered(0, 1)], Approval("me", "test")),
        lambda: drop(room.journal(), room.around, (bad(1),), "me", "test"),
        lambda: retire(room.journal(), room.around, "a", (), "me", "test"),
    ]
    for command in commands:
        with pytest.raises(EntryRefused):
            command()
    assert list_keys(room.store, "") == []


def test_the_cleaner_removes_what_dead_epochs_left_and_spares_the_living() -> None:
    room, store = a_lake(["a"] * 2)
    an_owner(room)
    for window in ("1-7", "1-xabc", "2-1", "2-xabc", "3-1"):
        leftover(room, window)
    assert clean(room.journal()).total == 2
    assert sorted(key.split("/")[-2] for key in store.shelf.staged) == ["2-1", "2-xabc", "3-1"]
    assert clean(room.journal()).total == 0


def test_the_cleaner_spares_what_a_dead_owner_decided_and_did_not_publish() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    decided_only(an_owner(room))
    owner = an_owner(room)
    assert clean(room.journal()).total == 0
    owner.recover()
    assert rows(store, "a") == [(0, 0)]


def test_the_cleaner_spares_the_queue_of_a_parked_dataset() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 3}), store)
    store.broken = {"a"}
    delivered(room, max_records=1)
    an_owner(room)
    assert clean(room.journal()).total == 0
    assert len(store.shelf.staged) == 3


def test_the_cleaner_decides_nothing_and_leaves_strangers_alone() -> None:
    room, store = a_lake(["a"])
    an_owner(room)
    for stranger in ("lost+found", "1", "-", "²-1", "1-A"):
        leftover(room, stranger)
    before = store.shelf.mark
    assert clean(room.journal()).total == 0
    assert store.shelf.mark == before


def test_commands_that_consume_need_a_fold_that_knows_the_files() -> None:
    room, _ = a_lake()
    light = room.journal().open()
    with pytest.raises(ValueError, match="deep"):
        done_files(light, "a")
    with pytest.raises(ValueError, match="deep"):
        live_records(light)
    body = Drop(
        content=room.journal().content_of(room.journal().require(0).body), author="", reason=""
    )
    with pytest.raises(ValueError, match="deep"):
        room.journal().append(light, body, light.state.epoch)


def test_an_accepted_range_says_where_it_is_from() -> None:
    room, _ = a_lake(["a"])
    other = OffsetRange("other", "id-2", 0, 0, 1)
    with pytest.raises(EntryRefused, match=r"other/0 \[0, 1\) has no start"):
        accept_gaps(room.journal(), [other], Approval("me", "test"))
