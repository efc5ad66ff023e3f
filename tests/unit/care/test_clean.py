"""What nobody needs any more is removed, by kind, and nothing that anybody may still name."""

from collections.abc import Iterator
from dataclasses import replace
from unittest.mock import patch

import pytest

from penstock.care.clean import clean, garbage
from penstock.errors import OutcomeUnknown, PenstockError
from penstock.model.cleaned import Cleaned
from penstock.model.entries import Deciding, Replace
from penstock.model.halted import Halted
from penstock.model.manifest import Content
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.halted_objects import read_halted, write_halted
from penstock.protocol.loop.tidying import OwnWindows
from penstock.testing.fault_store import Died, Fault, FaultStore, What
from penstock.testing.memory_store import Act, MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner, delivered, leftover, rows
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.programs import LAKE, Room, corrector
from tests.simulator.schedules import at_decision

ENTRIES = f"{LAYOUT.journal}/*"


@pytest.fixture
def manifests() -> Iterator[None]:
    """Every entry has its content in a manifest."""
    with patch.object(Content, "is_large", property(lambda _content: True)):
        yield


def a_feed(store: MemoryStore, fates: list[str] | None = None) -> Room:
    """A source of a few records beside a lake."""
    return a_room(SimKafka({0: fates or ["a", "b", "a", "b"]}), store)


def die_before_the_window_is_decided(store: MemoryStore, room: Room) -> None:
    """An owner is killed before it sends the entry whose manifest lies there."""
    before = len(list_keys(store, LAYOUT.journal))
    nth = 1 + (before == 0) + 1 + (before == 0)  # claim, and bind and start if the feed is new
    dying = FaultStore(store, [Fault("create", What.DIE_BEFORE, ENTRIES, nth=nth)])
    owner = an_owner(replace(room, store=dying, name=f"dies at {before}"))
    with pytest.raises(Died):
        owner.run_window()


def listed(store: MemoryStore) -> list[str]:
    return list_keys(store, LAYOUT.manifests)


def named(room: Room) -> set[str]:
    journal = room.journal()
    bodies = [journal.require(n).body for n in range(journal.open().state.number + 1)]
    return {b.manifest.key for b in bodies if isinstance(b, Deciding) and b.manifest is not None}


@pytest.mark.usefixtures("manifests")
def test_a_manifest_that_no_entry_names_goes_once_its_epoch_is_over() -> None:
    store = MemoryStore()
    room = a_feed(store)
    die_before_the_window_is_decided(store, room)
    (orphan,) = listed(store)
    assert clean(room.journal()) == Cleaned()  # its owner may still decide it
    an_owner(room).run_window()
    assert garbage(room.journal()).manifests == (orphan,)
    assert clean(room.journal()) == Cleaned(staged=2, manifests=1)
    assert set(listed(store)) == named(room) != set()
    delivered(room)
    assert clean(room.journal(), thorough=True).manifests == 0
    assert rows(store, "a") + rows(store, "b") == [(0, 0), (0, 2), (0, 1), (0, 3)]


@pytest.mark.usefixtures("manifests")
def test_a_manifest_that_an_append_on_its_way_may_name_is_spared() -> None:
    """Goal: a cleaner comes between manifest and entry. Method: one runs before each append."""
    store = WatchedStore()
    room = a_feed(store)
    an_owner(room)  # an older epoch, so that there is one that is over
    owner = an_owner(room)
    removed: list[int] = []

    def clean_now(act: Act) -> bool:
        if at_decision(act):
            quiet = a_room(room.kafka, MemoryStore(store._perform))
            removed.append(clean(quiet.journal(), thorough=True).total)
        return False

    store.once(clean_now, lambda: None)
    while owner.run_window():
        pass
    assert len(removed) > 2
    assert not any(removed)
    assert rows(store, "a") == [(0, 0), (0, 2)]


@pytest.mark.usefixtures("manifests")
def test_the_manifest_of_replaced_files_is_spared_although_its_window_is_of_a_dead_epoch() -> None:
    store = WatchedStore()
    room = a_feed(store, ["a", "a"])
    dying = FaultStore(store, [Fault("publish", What.DIE_BEFORE)])
    with pytest.raises(Died):
        an_owner(replace(room, store=dying)).run_window()
    assert store.lose_staged() > 0
    an_owner(room)
    owner = an_owner(room)
    removed: list[int] = []

    def clean_now(act: Act) -> bool:
        if at_decision(act) and b'"kind":"replace"' in act.data:
            quiet = a_room(room.kafka, MemoryStore(store._perform))
            removed.append(clean(quiet.journal(), thorough=True).manifests)
        return False

    store.once(clean_now, lambda: None)
    owner.recover()
    assert removed == [0]
    journal = room.journal()
    tail = journal.open().state.number
    assert any(isinstance(journal.require(n).body, Replace) for n in range(tail + 1))
    an_owner(room)
    assert clean(room.journal(), thorough=True).manifests == 0
    assert rows(store, "a") == [(0, 0), (0, 1)]


@pytest.mark.usefixtures("manifests")
def test_what_was_left_before_the_oldest_checkpoint_is_found_by_the_command() -> None:
    store = WatchedStore()
    room = a_feed(store, ["a"] * 30)
    die_before_the_window_is_decided(store, room)
    (orphan,) = listed(store)
    delivered(room, max_records=1, checkpoint_every=5)
    an_owner(room)
    store.acts.clear()
    assert garbage(room.journal()).manifests == ()
    entries = [act for act in store.acts if act.name == "read" and "/journal/" in act.key]
    assert len(entries) < 30, "only entries since the oldest checkpoint"
    assert garbage(room.journal(), thorough=True).manifests == (orphan,)


def test_strangers_among_the_manifests_stay() -> None:
    store = MemoryStore()
    room = a_feed(store)
    for name in ("notes.txt", "1-1.json", "x-1-abc.json", "1-1-abc", "9-1-abc.json"):
        store.create(f"{LAYOUT.manifests}/{name}", b"")
    delivered(room)
    an_owner(room)
    assert clean(room.journal(), thorough=True) == Cleaned()


def test_corrected_records_that_no_entry_names_go_once_their_epoch_is_over() -> None:
    store = MemoryStore()
    room = delivered(a_feed(store, ["a", BAD]))
    dying = FaultStore(store, [Fault("create", What.DIE_BEFORE, ENTRIES)])
    with pytest.raises(Died):
        corrector("b")(replace(room, store=dying, name="dies"))
    (orphan,) = list_keys(store, LAYOUT.corrections)
    assert clean(room.journal()).total == 0
    assert corrector("b")(room) == "decided"
    an_owner(room)
    assert garbage(room.journal()).corrections == (orphan,)
    assert clean(room.journal()) == Cleaned(staged=1, corrections=1)
    (kept,) = list_keys(store, LAYOUT.corrections)
    assert kept != orphan
    assert rows(store, "b") == [(0, 1)]


def halt(room: Room, code: str) -> None:
    """The owner leaves why it has halted."""
    journal = room.journal()
    state = journal.open().state
    halted = Halted(
        feed=LAYOUT.feed,
        lake=LAKE,
        epoch=state.epoch,
        number=state.number + 1,
        windows=state.windows,
        code=code,
        sentence="",
        advice="",
        since=f"since epoch {state.epoch}",
        at="",
        owner="me",
    )
    journal.create(LAYOUT.halted_object(state.epoch, state.number + 1), halted_bytes(halted))


def halted_bytes(halted: Halted) -> bytes:
    """As it lies in the lake."""
    store = MemoryStore()
    write_halted(a_room(store=store).journal(), halted)
    (key,) = list_keys(store, LAYOUT.halted)
    return store.read(key) or b""


def test_halts_that_are_over_go_but_the_last_one_still_tells_since_when() -> None:
    store = MemoryStore()
    room = a_feed(store)
    for _ in range(3):
        an_owner(room)
        halt(room, "GAP_FOUND")
    assert read_halted(room.journal(), room.journal().open().state) is not None
    owner = an_owner(room)  # it goes on, so all of them are void
    assert clean(room.journal()) == Cleaned(halted=2)
    assert len(list_keys(store, LAYOUT.halted)) == 1
    owner.run_window()
    assert clean(room.journal()) == Cleaned(halted=1)
    halt(room, "GAP_FOUND")
    assert clean(room.journal()) == Cleaned()


def test_only_the_owner_itself_cleans_after_its_own_windows() -> None:
    store = MemoryStore()
    room = a_feed(store)
    an_owner(room)
    for window in ("1-1", "1-2", "1-3", "1-xabc"):
        leftover(room, window)
    assert clean(room.journal()) == Cleaned()
    own = OwnWindows(1, 2, frozenset({"1-2"}))
    assert clean(room.journal(), own) == Cleaned(abandoned=1)
    assert [key.split("/")[-2] for key in store.shelf.staged] == ["1-2", "1-3", "1-xabc"]


@pytest.mark.usefixtures("manifests")
def test_all_is_tried_when_one_removal_gets_no_answer() -> None:
    store = MemoryStore()
    room = a_feed(store)
    for _ in range(2):
        die_before_the_window_is_decided(store, room)
    an_owner(room)
    faulty = FaultStore(store, [Fault("delete", What.FAIL_BEFORE)])
    with pytest.raises(OutcomeUnknown) as caught:
        clean(replace(room, store=faulty).journal())
    assert isinstance(caught.value, PenstockError)
    assert len(listed(store)) == 1
    assert store.shelf.staged == {}
    assert clean(room.journal()) == Cleaned(manifests=1)


def test_what_was_removed_is_told_in_words() -> None:
    assert Cleaned().sentence() == ""
    many = Cleaned(1, 2_000, 1, 2, 1, 3)
    assert many.sentence() == (
        "1 staged file of dead runs, 2,000 staged files of abandoned windows, 1 unused manifest, "
        "2 unused files of corrected records, 1 object of halts that are over, 3 temporary files "
        "removed"
    )
    assert (many.files, many.objects, many.total) == (2_001, 4, 2_008)
