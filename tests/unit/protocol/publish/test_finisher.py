"""Finishing what was decided: published once, parked when it fails, derived again when lost."""

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care.seek import unpark
from penstock.errors import DecidedDataLost, Fenced, StoreUnavailable
from penstock.model.entries import Park, Replace
from penstock.model.staged import StagingSpot
from penstock.model.window import StagedWindow, StageOrder
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedFold
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.troubles import PublishPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import Act, MemoryStore, MemoryWriter
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_room,
    an_owner,
    decided_only,
    kinds,
    rows,
)
from tests.simulator.kafka import BAD, SimKafka, SimSource
from tests.simulator.programs import Room, compactor


def two_datasets(store: WatchedStore | None = None) -> tuple[Room, WatchedStore]:
    """Partition 0 is all for dataset a, partition 1 all for b."""
    store = store or WatchedStore()
    return a_room(SimKafka({0: ["a"] * 3, 1: ["b"] * 3}), store), store


A_ROWS = [(0, 0), (0, 1), (0, 2)]
B_ROWS = [(1, 0), (1, 1), (1, 2)]


def test_a_dataset_that_keeps_failing_is_parked_and_the_others_go_on() -> None:
    room, store = two_datasets()
    store.broken = {"a"}
    owner = an_owner(room)
    while owner.run_window():
        pass
    state = room.journal().open().state
    assert rows(store, "b") == B_ROWS
    assert rows(store, "a") == []
    assert list(state.parked) == ["a@files"]
    assert "it is broken on purpose" in state.parked["a@files"]
    assert sorted(state.watermarks().values()) == [3, 3]
    assert kinds(room).count("Park") == 1


class Watch:
    """A clock that only a test moves."""

    def __init__(self) -> None:
        self.tick = 1000.0

    def room(self, kafka: SimKafka, store: WatchedStore) -> Room:
        """A process that looks at this clock."""
        plain = a_room(kafka, store)
        around = Surroundings(
            plain.around.now, plain.around.sleep, plain.around.random, lambda: self.tick
        )
        return Room("test", store, around, kafka)


def patient_owner(room: Room, tries: int = 4) -> Owner:
    """An owner with the pauses that users have."""
    source = SimSource(room.kafka, room.store, room.around)
    policy = PublishPolicy(tries, retry_after_s=15.0, retry_most_s=100.0)
    spec = OwnerSpec(room.name, WindowPolicy(2), files="parquet", publish=policy)
    owner = Owner(room.journal(), source, room.around, spec)
    owner.take_over()
    return owner


def test_a_dataset_is_tried_a_few_times_with_growing_pauses_before_it_is_parked() -> None:
    """Goal: pauses of 15, 30 and 60 s; nobody waits in them. Method: a clock of our own."""
    store, watch = WatchedStore(), Watch()
    store.broken = {"a"}
    room = watch.room(SimKafka({0: ["a"], 1: ["b"] * 6}), store)
    owner = patient_owner(room)
    for pause_s in (15.0, 30.0, 60.0):
        owner.run_window()
        before = store.refused
        watch.tick += pause_s - 1
        owner.run_window()
        assert store.refused == before, "it rests"
        assert "Park" not in kinds(room)
        watch.tick += 1
    owner.run_window()
    assert kinds(room)[-1] == "Park"
    assert rows(store, "b") == [(1, offset) for offset in range(6)], "the others went on"


def test_what_is_parked_is_tried_again_by_itself_and_less_and_less_often() -> None:
    store, watch = WatchedStore(), Watch()
    store.broken = {"a"}
    room = watch.room(SimKafka({0: ["a"]}), store)
    owner = patient_owner(room, tries=1)
    owner.run_window()
    assert kinds(room)[-1] == "Park"
    for pause_s in (15.0, 30.0, 60.0, 100.0, 100.0):
        watch.tick += pause_s - 1
        before = store.refused
        owner.recover()
        assert store.refused == before
        watch.tick += 1
        owner.recover()
        assert store.refused > before
    assert kinds(room)[-1] == "Park", "trying leaves nothing in the journal"
    store.broken = set()
    watch.tick += 100
    owner.recover()
    assert kinds(room)[-1] == "Unpark"
    assert rows(store, "a") == [(0, 0)]
    assert room.journal().open().state.undone == {}


def test_a_dataset_that_recovers_in_time_is_not_parked() -> None:
    store, watch = WatchedStore(), Watch()
    store.broken = {"a"}
    room = watch.room(SimKafka({0: ["a"]}), store)
    owner = patient_owner(room)
    owner.run_window()
    store.broken = set()
    watch.tick += 15
    owner.recover()
    assert rows(store, "a") == [(0, 0)]
    assert "Park" not in kinds(room)


def test_trouble_of_the_whole_store_parks_nothing() -> None:
    """Goal: when nothing can be published, that is not the fault of a dataset."""
    room, store = two_datasets()
    owner = an_owner(room)
    decided_only(owner)
    store.broken = {"a", "b"}
    for _ in range(10):
        with pytest.raises(StoreUnavailable):
            owner.recover()
    assert "Park" not in kinds(room)
    store.broken = set()
    owner.recover()
    assert rows(store, "a") + rows(store, "b") == [(0, 0), (1, 0)]


def test_a_dataset_that_never_gets_an_answer_is_parked_and_the_feed_goes_on() -> None:
    """Goal: repeated unknown outcomes of one dataset do not stop a feed, nor claim it again."""
    inner = MemoryStore()
    lost = [Fault("publish", What.FAIL_BEFORE, "feed/a/*", nth=nth) for nth in range(1, 40)]
    room = a_room(SimKafka({0: ["a"] * 3, 1: ["b"] * 3}), FaultStore(inner, lost))
    owner = an_owner(room, park_after=3)
    while owner.run_window():
        pass
    assert list(owner.fold.state.parked) == ["a@files"]
    assert rows(inner, "b") == B_ROWS
    assert kinds(room).count("Claim") == 1


def test_an_unparked_dataset_gets_its_queue_in_order_and_everything_once() -> None:
    room, store = two_datasets()
    store.broken = {"a"}
    owner = an_owner(room)
    while owner.run_window():
        pass
    store.broken = set()
    unpark(room.journal(), room.around, "a", "me")
    assert not owner.run_window(), "there is nothing to read, but it notices"
    owner.run_window()
    assert rows(store, "a") == A_ROWS
    assert len(store.published("feed/a/")) == 3
    assert store.published("feed/a/") == sorted(store.published("feed/a/"))
    assert room.journal().open().state.undone == {}


def test_a_dataset_that_fails_again_is_parked_again() -> None:
    room, store = two_datasets()
    store.broken = {"a"}
    owner = an_owner(room)
    owner.run_window()
    unpark(room.journal(), room.around, "a", "me")
    an_owner(room).run_window()
    assert kinds(room).count("Park") == 2
    assert list(room.journal().open().state.parked) == ["a@files"]


def test_a_foreign_file_parks_its_dataset_and_is_not_touched() -> None:
    room, store = two_datasets()
    number = decided_only(owner := an_owner(room))
    content = room.journal().content_of(room.journal().require(number).body)
    final = next(file.handle.final for file in content.files if file.dataset == "a")
    store.create(final, b"[[9, 9]]")
    owner.recover()
    state = owner.fold.state
    assert store.read(final) == b"[[9, 9]]"
    assert final in state.parked["a@files"]
    assert state.undone[number].parts == ["a@files"]
    assert len(store.shelf.staged) == 1, "our staged file waits"
    store.delete(final)
    unpark(room.journal(), room.around, "a", "me")
    an_owner(room).recover()
    assert rows(store, "a") == [(0, 0)]
    assert room.journal().open().state.undone == {}


def test_a_publish_whose_reply_is_lost_is_looked_up() -> None:
    inner = MemoryStore()
    store = FaultStore(
        inner, [Fault("publish", What.FAIL_AFTER), Fault("publish", What.FAIL_BEFORE, nth=2)]
    )
    room = a_room(SimKafka({0: ["a"], 1: ["b"]}), store)
    an_owner(room).run_window()
    assert store.unmet() == []
    assert rows(inner, "a") == [(0, 0)]
    assert rows(inner, "b") == [(1, 0)]
    assert room.journal().open().state.undone == {}


def test_a_publish_without_any_answer_is_left_for_the_next_start() -> None:
    inner = MemoryStore()
    store = FaultStore(inner, [Fault("publish", What.DELAY, nth=nth) for nth in (1, 2, 3, 4)])
    room = a_room(SimKafka({0: ["a"]}), store)
    an_owner(room, park_after=5).run_window()
    assert list(room.journal().open().state.undone) == [3]
    store.deliver()
    an_owner(room).recover()
    assert rows(inner, "a") == [(0, 0)]
    assert room.journal().open().state.undone == {}


def lost_window(fates: list[str]) -> tuple[Room, WatchedStore, int]:
    """A window of one partition is decided, and then all its staged files vanish."""
    store = WatchedStore()
    room = a_room(SimKafka({0: fates}), store)
    number = decided_only(an_owner(room, max_records=10))
    assert store.lose_staged() > 0
    return room, store, number


def test_lost_staged_files_are_derived_again() -> None:
    room, store, number = lost_window(["a", "b", BAD, "a"])
    owner = an_owner(room)
    owner.recover()
    assert rows(store, "a") == [(0, 0), (0, 3)]
    assert rows(store, "b") == [(0, 1)]
    assert kinds(room)[-1] == "Replace"
    body = room.journal().require(owner.fold.state.number).body
    assert isinstance(body, Replace)
    assert body.number == number
    assert owner.fold.state.undone == {}
    assert store.shelf.staged == {}


def test_only_what_was_lost_is_replaced() -> None:
    """What is still staged keeps its identity, since somebody may be publishing it right now."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "b"]}), store)
    number = decided_only(an_owner(room))
    files = room.journal().content_of(room.journal().require(number).body).files
    lost, kept = (file.handle for file in files)
    store.lose_staged(lost.staged)
    owner = an_owner(room)
    owner.recover()
    content = room.journal().content_of(room.journal().require(owner.fold.state.number).body)
    assert [file.handle.final for file in content.files] == [lost.final]
    assert kept.staged in [act.key for act in store.acts if act.name == "link"]
    assert rows(store, "a") + rows(store, "b") == [(0, 0), (0, 1)]
    assert store.shelf.staged == {}


def test_a_second_loss_is_mended_as_the_first_one() -> None:
    room, store, number = lost_window(["a"])

    def about_to_publish_anew(act: Act) -> bool:
        return act.name == "link" and any(b'"kind":"replace"' in past.data for past in store.acts)

    store.once(about_to_publish_anew, store.lose_staged)
    owner = an_owner(room)
    owner.recover()
    assert rows(store, "a") == [(0, 0)]
    assert kinds(room).count("Replace") == 2
    assert number not in owner.fold.state.undone


class OtherBytes(WatchedStore):
    """A store in which a file that is staged again has the same rows and other bytes."""

    is_again = False

    def open_staged(self, final: str, spot: StagingSpot) -> MemoryWriter:
        """With a space before the rows, the second time."""
        writer = super().open_staged(final, spot)
        if self.is_again:
            writer.write(b" ")
        return writer


def replaces(act: Act) -> bool:
    """True for the creation of a `replace` entry."""
    return act.name == "create" and b'"kind":"replace"' in act.data


class Gone(Exception):
    """The process is no more."""


@pytest.mark.parametrize("datasets", [["a"], ["a", "b"]])
@pytest.mark.parametrize("dies", [False, True])
def test_an_attempt_that_was_taken_for_lost_and_shows_up_is_ours(
    datasets: list[str], dies: bool
) -> None:
    """Goal: it is neither foreign nor doubled. Method: its complete arrives after the `replace`.

    The owner that finds it may die before it has decided for it.
    """
    store = OtherBytes()
    room = a_room(SimKafka({0: datasets}), store)
    number = decided_only(an_owner(room, max_records=10))
    files = room.journal().content_of(room.journal().require(number).body).files
    staged = {file.handle.final: store.shelf.staged[file.handle.staged] for file in files}
    store.lose_staged()
    store.is_again = True

    def about_to_publish_anew(act: Act) -> bool:
        return act.name == "link" and any(map(replaces, store.acts))

    def die() -> None:
        raise Gone

    def show_up() -> None:
        for final, data in staged.items():
            assert store.create(final, data)
        if dies:
            store.once(replaces, die)

    store.once(about_to_publish_anew, show_up)
    owner = an_owner(room)
    if dies:
        with pytest.raises(Gone):
            owner.recover()
        owner = an_owner(room)
    owner.recover()
    assert [rows(store, each) for each in datasets] == [[(0, n)] for n in range(len(datasets))]
    assert owner.fold.state.undone == {}
    assert owner.fold.state.parked == {}
    assert store.shelf.staged == {}
    assert {file.handle.final: store.read(file.handle.final) for file in files} == staged
    assert audit(room.journal()).differences == (), "the journal names what is there, by its size"


def test_a_stranger_is_foreign_also_where_files_were_replaced() -> None:
    store = OtherBytes()
    room = a_room(SimKafka({0: ["a"]}), store)
    number = decided_only(an_owner(room))
    (file,) = room.journal().content_of(room.journal().require(number).body).files
    store.lose_staged()
    store.is_again = True

    def about_to_publish_anew(act: Act) -> bool:
        return act.name == "link" and any(map(replaces, store.acts))

    store.once(about_to_publish_anew, lambda: store.create(file.handle.final, b"[[9, 9]]"))
    owner = an_owner(room)
    owner.recover()
    assert list(owner.fold.state.parked) == ["a@files"]
    assert store.read(file.handle.final) == b"[[9, 9]]"
    assert len(store.shelf.staged) == 1


class Noting(SimSource):
    """Remembers what it was asked to stage."""

    def __init__(self, room: Room) -> None:
        super().__init__(room.kafka, room.store, room.around)
        self.orders: list[StageOrder] = []

    def stage(self, order: StageOrder) -> StagedWindow:
        """As the simulated source does."""
        self.orders.append(order)
        return super().stage(order)


def test_derived_files_belong_to_the_generation_of_their_window() -> None:
    """The configuration may have moved on since; the names of the files must be the same."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    source = Noting(room)
    decided_only(an_owner(room, source, generation=3))
    store.lose_staged()
    an_owner(room, source, generation=4).recover()
    first, again = source.orders
    assert again == msgspec.structs.replace(first, decided=True, some_groups=first.groups)
    assert again.generation == 3


def test_lost_files_whose_records_have_changed_stop_the_feed() -> None:
    room, store, number = lost_window(["a", "b"])
    room.kafka.partitions[0][0] = "b"
    owner = an_owner(room)
    with pytest.raises(DecidedDataLost, match="other records for these ranges") as caught:
        owner.recover()
    assert caught.value.window == "1-1"
    assert caught.value.exit_code == 5
    assert "Replace" not in kinds(room)
    assert rows(store, "a") + rows(store, "b") == []
    assert number in room.journal().open().state.undone


def test_lost_files_whose_contents_have_changed_stop_the_feed() -> None:
    """The same positions, and other values: only the source's own hash tells."""

    class Rewritten(SimSource):
        def stage(self, order: StageOrder) -> StagedWindow:
            staged = super().stage(order)
            evidence = [msgspec.structs.replace(e, content_sum=7) for e in staged.evidence]
            return msgspec.structs.replace(staged, evidence=tuple(evidence))

    room, _, _ = lost_window(["a", "b"])
    owner = an_owner(room, Rewritten(room.kafka, room.store, room.around))
    with pytest.raises(DecidedDataLost, match="other contents for these offsets"):
        owner.recover()
    assert "Replace" not in kinds(room)


def test_an_old_owner_does_not_derive_anything_again() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    old = an_owner(room)
    decided_only(old)
    store.lose_staged()
    an_owner(room)
    with pytest.raises(Fenced):
        old.recover()
    assert "Replace" not in kinds(room)


def test_what_others_have_published_and_compacted_meanwhile_is_not_a_loss() -> None:
    """Goal: neither staged nor final is not proof of a loss. Method: a sleeper wakes up late."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "a"]}), store)
    old = an_owner(room, max_records=1)
    decided_only(old)
    new = an_owner(room)
    while new.run_window():
        pass
    assert compactor("a")(room) == "decided"
    before = dict(store.shelf.objects)
    old.recover()
    assert store.shelf.objects == before
    assert rows(store, "a") == [(0, 0), (0, 1)]


def command(room: Room, fold: FeedFold) -> Finisher:
    """As commands have it: without a source and without the right to park."""
    return Finisher(room.journal(), fold, room.around, fold.state.epoch)


def test_a_command_leaves_parking_to_the_owner() -> None:
    room, store = two_datasets()
    decided_only(an_owner(room))
    store.broken = {"a"}
    with pytest.raises(StoreUnavailable):
        command(room, room.journal().open()).finish_all()
    assert "Park" not in kinds(room)


def test_a_command_leaves_losses_to_the_owner() -> None:
    room, _, _ = lost_window(["a"])
    with pytest.raises(DecidedDataLost):
        command(room, room.journal().open()).finish_all()
    an_owner(room).recover()
    assert rows(room.store, "a") == [(0, 0)]


def test_finishing_twice_changes_nothing() -> None:
    room, store = two_datasets()
    owner = an_owner(room)
    decided_only(owner)
    owner.recover()
    before = dict(store.shelf.objects)
    owner.recover()
    command(room, room.journal().open()).finish_all()
    assert store.shelf.objects == before


def test_a_parked_dataset_keeps_what_it_has_staged() -> None:
    """Goal: parking is a queue and not a loss. Method: checkpoints and tidying go on meanwhile."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 6, 1: ["b"] * 6}), store)
    store.broken = {"a"}
    owner = an_owner(room, checkpoint_every=2)
    while owner.run_window():
        pass
    assert len(store.shelf.staged) == 6
    assert list_keys(room.store, LAYOUT.checkpoints)
    journal = room.journal()
    journal.append(fold := journal.open(), Park("b", 0, "test"), fold.state.epoch)
    store.broken = set()
    unpark(room.journal(), room.around, "a", "me")
    an_owner(room).recover()
    assert rows(store, "a") == [(0, offset) for offset in range(6)]
