"""The window loop: one turn at a time, with everything that can come in between."""

from collections.abc import Callable

import msgspec
import pytest

from penstock.care.seek import Approval, accept_gaps, seek_all, unpark
from penstock.errors import (
    ClusterChanged,
    Fenced,
    GapFound,
    LogWentBack,
    OutcomeUnknown,
    StagedSetWrong,
    TopicMissing,
    TopicReplaced,
)
from penstock.model.entries import Window
from penstock.model.names import epoch_of
from penstock.model.ranges import TopicPartition
from penstock.model.staged import StagingSpot
from penstock.model.window import Available, PartitionOffsets, StagedWindow, StageOrder
from penstock.ports.store.list_keys import list_keys
from penstock.testing.fault_store import Fault, FaultStore, What
from tests.helpers.changing_kafka import ChangingKafka, expired_to
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_room,
    an_owner,
    begins,
    covered,
    decided_only,
    delivered,
    kinds,
    rows,
)
from tests.simulator.kafka import BAD, CLUSTER, FILTERED, MARKER, TOPIC_ID, SimKafka, SimSource
from tests.simulator.programs import GivenRules, Room
from tests.simulator.schedules import at_window

PLACE = TopicPartition(TOPIC_ID, 0)


def watched(*fates: list[str]) -> tuple[Room, WatchedStore]:
    store = WatchedStore()
    return a_room(SimKafka(dict(enumerate(fates))), store), store


def other_cluster(now: Available) -> Available:
    return msgspec.structs.replace(now, cluster_id="cluster-2")


def other_topic(now: Available) -> Available:
    (topic,) = now.topics
    return Available(now.cluster_id, (msgspec.structs.replace(topic, topic_id="id-2"),))


def no_topic(now: Available) -> Available:
    return Available(now.cluster_id, ())


def test_a_first_start_binds_claims_and_reads_nothing_yet() -> None:
    room, store = watched(["a"])
    owner = an_owner(room)
    assert kinds(room) == ["Bind", "Claim"]
    assert (owner.epoch, owner.fold.state.cluster_id) == (1, CLUSTER)
    assert store.shelf.staged == {}


def test_windows_follow_each_other_until_there_is_nothing_left() -> None:
    room, store = watched(["a", "b", "a"], ["b", BAD, FILTERED, MARKER])
    owner = an_owner(room)
    turns = 0
    while owner.run_window():
        turns += 1
    assert kinds(room) == ["Bind", "Claim", "Start", *["Window"] * turns]
    assert turns == 4
    assert rows(store, "a") == [(0, 0), (0, 2)]
    assert rows(store, "b") == [(0, 1), (1, 0)]
    assert len(list_keys(store, "_penstock/feed/quarantine")) == 1
    assert owner.fold.state.undone == {}
    assert store.shelf.staged == {}


def test_an_idle_turn_writes_nothing() -> None:
    room, store = watched(["a"])
    owner = an_owner(room)
    while owner.run_window():
        pass
    before = store.shelf.mark
    assert not owner.run_window()
    assert store.shelf.mark == before


def test_a_window_carries_its_epoch_and_its_turn() -> None:
    room, _ = watched(["a"] * 3)
    an_owner(room, max_records=1).run_window()
    second = an_owner(room, max_records=1)
    while second.run_window():
        pass
    journal = room.journal()
    bodies = [journal.require(number).body for number in range(second.fold.state.number + 1)]
    windows = [body.window for body in bodies if isinstance(body, Window)]
    assert windows == ["1-1", "2-1", "2-2"]
    assert [epoch_of(window) for window in windows] == [1, 2, 2]


def test_the_first_offset_is_resolved_once_and_held() -> None:
    """`start: latest` must not be looked up again by the next owner: it would skip records."""
    room = a_room(SimKafka({0: ["a"] * 6}, {0: 2}))

    def latest(_topic: str, _partition: int, offsets: PartitionOffsets) -> int:
        return offsets.latest

    assert not an_owner(room, rules=GivenRules(begin=latest)).run_window()
    room.kafka.latest[0] = 4
    delivered(room, rules=GivenRules(begin=latest))
    assert rows(room.store, "a") == [(0, 2), (0, 3)]


def test_a_partition_added_later_is_read_from_its_beginning() -> None:
    room = a_room(SimKafka({0: ["a"] * 3, 1: ["b"] * 2}, {0: 3}))
    del room.kafka.latest[1]

    def latest(_topic: str, _partition: int, offsets: PartitionOffsets) -> int:
        return offsets.latest

    owner = an_owner(room, rules=GivenRules(begin=latest))
    owner.run_window()
    room.kafka.latest[1] = 2
    while owner.run_window():
        pass
    assert rows(room.store, "b") == [(1, 0), (1, 1)]
    assert kinds(room).count("Start") == 2


def test_an_owner_that_is_overtaken_by_a_seek_throws_its_window_away_and_plans_again() -> None:
    room, store = watched(["a"] * 5)
    owner = an_owner(room)
    store.once(at_window, lambda: seek_all(room.journal(), {PLACE: 3}, Approval("me", "test")))
    assert owner.run_window(), "it was a turn, although nothing was decided"
    assert kinds(room) == ["Bind", "Claim", "Start", "Seek"]
    assert store.shelf.staged == {}
    while owner.run_window():
        pass
    assert rows(store, "a") == [(0, 3), (0, 4)]


def test_an_owner_that_is_overtaken_by_something_harmless_decides_all_the_same() -> None:
    room, store = watched(["a"] * 2, ["b"] * 9)
    owner = an_owner(room)
    owner.run_window()
    other = TopicPartition(TOPIC_ID, 1)
    room.kafka.latest[1] = 1
    store.once(at_window, lambda: seek_all(room.journal(), {other: 9}, Approval("me", "test")))
    owner.run_window()
    assert kinds(room)[-2:] == ["Seek", "Window"]
    assert rows(store, "a") == [(0, 0), (0, 1)]


def test_an_owner_that_is_fenced_decides_nothing_and_throws_nothing_away() -> None:
    room, store = watched(["a"] * 2)
    old = an_owner(room)
    store.once(at_window, lambda: an_owner(room))
    with pytest.raises(Fenced):
        old.run_window()
    assert "Window" not in kinds(room)
    assert store.published("feed/") == []


def test_an_idle_owner_notices_that_somebody_else_has_claimed() -> None:
    room, _ = watched([])
    old = an_owner(room)
    an_owner(room)
    with pytest.raises(Fenced):
        old.run_window()


def test_an_idle_owner_notices_a_seek_back() -> None:
    room, store = watched(["a"] * 4)
    owner = an_owner(room, max_records=9)
    owner.plan()
    seek_all(room.journal(), {PLACE: 4}, Approval("me", "skip it all"))
    assert owner.run_window()
    assert not owner.run_window()
    seek_all(room.journal(), {PLACE: 2}, Approval("me", "not that much"))
    owner.run_window()
    owner.run_window()
    assert rows(store, "a") == [(0, 2), (0, 3)]


def test_an_idle_owner_notices_that_a_dataset_was_unparked() -> None:
    room, store = watched(["a"])
    store.broken = {"a"}
    owner = an_owner(room)
    while owner.run_window():
        pass
    store.broken = set()
    unpark(room.journal(), room.around, "a", "me")
    owner.run_window()
    owner.run_window()
    assert rows(store, "a") == [(0, 0)]


class Miscounting(SimSource):
    """Loses a file of its first window on the way back to the driver."""

    lost = False

    def stage(self, order: StageOrder) -> StagedWindow:
        """One file too few, once."""
        staged = super().stage(order)
        if self.lost:
            return staged
        self.lost = True
        return msgspec.structs.replace(staged, files=staged.files[1:])


def test_what_does_not_add_up_is_thrown_away_and_the_watermark_stands() -> None:
    room, store = watched(["a", "b"])
    owner = an_owner(room, Miscounting(room.kafka, store, room.around))
    with pytest.raises(StagedSetWrong):
        owner.run_window()
    assert store.shelf.staged == {}
    assert "Window" not in kinds(room)
    while owner.run_window():
        pass
    assert rows(store, "a") + rows(store, "b") == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (other_cluster, ClusterChanged),
        (other_topic, TopicReplaced),
        (no_topic, TopicMissing),
        (expired_to(2), GapFound),
    ],
)
def test_a_source_that_is_not_what_was_read_stops_the_feed_before_anything_is_read(
    change: Callable[[Available], Available], error: type[Exception]
) -> None:
    store = WatchedStore()
    kafka = ChangingKafka({0: ["a"] * 4})
    room = a_room(kafka, store)
    owner = an_owner(room, max_records=1)
    owner.run_window()
    kafka.change = change
    before = store.shelf.mark
    with pytest.raises(error):
        owner.run_window()
    assert store.shelf.mark == before


def test_a_truncated_log_stops_the_feed() -> None:
    room, store = watched(["a"] * 4)
    owner = an_owner(room, max_records=9)
    owner.run_window()
    room.kafka.latest[0] = 3
    before = store.shelf.mark
    with pytest.raises(LogWentBack):
        owner.run_window()
    assert store.shelf.mark == before


@pytest.mark.parametrize(
    ("change", "error"), [(other_topic, TopicReplaced), (other_cluster, ClusterChanged)]
)
def test_the_source_is_looked_at_again_after_staging(
    change: Callable[[Available], Available], error: type[Exception]
) -> None:
    """Goal: no window mixes two lives of a topic. Method: it is recreated while we read."""
    store = WatchedStore()
    kafka = ChangingKafka({0: ["a"] * 4})
    room = a_room(kafka, store)
    owner = an_owner(room)
    store.once(lambda act: act.name == "stage", lambda: setattr(kafka, "change", change))
    with pytest.raises(error):
        owner.run_window()
    assert "Window" not in kinds(room)
    assert store.shelf.staged == {}


def test_an_accepted_gap_lets_the_feed_go_on() -> None:
    kafka = ChangingKafka({0: ["a"] * 4})
    room = a_room(kafka)
    owner = an_owner(room, max_records=1)
    owner.run_window()
    kafka.change = expired_to(3)
    with pytest.raises(GapFound) as caught:
        owner.run_window()
    lost = covered(caught.value.start, caught.value.end)
    accept_gaps(room.journal(), [lost], Approval("me", "expired"))
    delivered(room)
    assert rows(room.store, "a") == [(0, 0), (0, 3)]
    assert "Gap" in kinds(room)


def test_a_topic_that_is_not_wanted_any_more_may_be_gone() -> None:
    kafka = ChangingKafka({0: ["a"]})
    room = delivered(a_room(kafka))
    kafka.change = no_topic
    owner = an_owner(room, rules=GivenRules(wanted=lambda _topic: False))
    assert not owner.run_window()


def test_a_decision_without_an_answer_throws_nothing_away() -> None:
    store = WatchedStore()
    late = [Fault("create", What.DELAY, "*/journal/*", nth=nth) for nth in (4, 5, 6)]
    faulty = FaultStore(store, late)
    room = a_room(SimKafka({0: ["a"]}), faulty)
    owner = an_owner(room)
    with pytest.raises(OutcomeUnknown):
        owner.run_window()
    assert len(store.shelf.staged) == 1
    faulty.deliver()
    an_owner(room).recover()
    assert rows(store, "a") == [(0, 0)]


def test_recovery_comes_before_new_work() -> None:
    room, store = watched(["a"] * 3)
    decided_only(an_owner(room, max_records=1))
    an_owner(room, max_records=1).run_window()
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert [final.split("_")[-2] for final in store.published("feed/a")] == ["0-1", "1-2"]


class Speculative(SimSource):
    """As a cluster does: each window has an attempt that was lost on the way and never counted."""

    def stage(self, order: StageOrder) -> StagedWindow:
        """Stage, and leave a stray file behind."""
        writer = self._store.open_staged(
            "feed/a/stray", StagingSpot(order.staging, order.window, "s")
        )
        writer.write(b"stray")
        writer.finish()
        return super().stage(order)


def test_strays_of_done_windows_are_removed_and_a_checkpoint_is_left_every_so_often() -> None:
    room, store = watched(["a"] * 9)
    owner = an_owner(room, Speculative(room.kafka, store, room.around), 1, checkpoint_every=5)
    strays, checkpoints = [], []
    while owner.run_window():
        strays.append(len(store.shelf.staged))
        checkpoints.append(len(list_keys(store, LAYOUT.checkpoints)))
    assert max(strays) < 6
    assert strays[-1] < max(strays)
    assert checkpoints[0] == 0
    assert checkpoints[-1] == 2
    assert rows(store, "a") == [(0, offset) for offset in range(9)]


def test_the_staging_of_others_is_not_tidied_away() -> None:
    """A command may have staged beside us, and not decided yet."""
    room, store = watched(["a"] * 9)
    owner = an_owner(room, max_records=1, checkpoint_every=2)
    writer = store.open_staged("feed/a/other", StagingSpot(LAYOUT.staging, "1-xcommand", "1"))
    writer.write(b"rows")
    writer.finish()
    while owner.run_window():
        pass
    assert [key.split("/")[-2] for key in store.shelf.staged] == ["1-xcommand"]


def test_a_window_without_rows_is_decided_and_needs_no_marker() -> None:
    room, store = watched([MARKER, FILTERED, MARKER])
    owner = an_owner(room, max_records=9)
    assert owner.run_window()
    assert owner.fold.state.watermarks() == {PLACE: 3}
    assert owner.fold.state.undone == {}
    assert list_keys(store, LAYOUT.done) == []
    assert room.journal().open(deep=True).state == owner.fold.state


def test_a_start_is_durable_before_anything_is_staged() -> None:
    room, store = watched(["a"])
    an_owner(room).run_window()
    names = [(act.name, act.key) for act in store.acts if act.name in ("create", "stage")]
    start = names.index(("create", LAYOUT.entry(2)))
    assert start < next(i for i, (name, _) in enumerate(names) if name == "stage")
    body = room.journal().require(2).body
    assert msgspec.structs.asdict(body)["partitions"] == (begins(0, 0),)
