"""The journal on a store: opening, deciding, claiming, and what accelerates the opening."""

import base64
import copy
import json
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.api.store import Store
from penstock.care.seek import unpark
from penstock.errors import EntryDamaged, EntryRefused, Fenced, ManifestDamaged, OutcomeUnknown
from penstock.model.entries import FORMAT, Bind, Compact, Park, Seek, Start
from penstock.model.envelope import Claim
from penstock.model.manifest import INLINE_FILES, Content, Input, ManifestRef
from penstock.model.ranges import TopicPartition
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import Undone
from penstock.protocol.journal.journal import MAX_OVERTAKEN
from penstock.protocol.journal.lake_identity import LAKE_KEY, lake_identity
from penstock.protocol.journal.markers import mark_done, still_undone
from penstock.protocol.loop.owner import Owner
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_file,
    a_room,
    a_window,
    an_owner,
    begun,
    covered,
    delivered,
    window_of,
)
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import Room, surroundings

ENTRIES = "_penstock/feed/journal/*"
PLACES = ("content", "packed", "manifest")


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "lake")


def keys(store: Store) -> dict[str, bytes | None]:
    """Everything that is visible."""
    return {key: store.read(key) for key in list_keys(store, "")}


def a_seek(to_offset: int, from_offset: int, partition: int) -> Seek:
    return Seek(TOPIC, TOPIC_ID, partition, from_offset, to_offset, "me", "test")


def test_opening_an_empty_lake_creates_nothing(tmp_path: Path) -> None:
    journal = a_room(store=LocalStore(tmp_path / "lake")).journal()
    assert journal.open().state.is_new
    assert journal.open(deep=True).state.is_new
    assert list(tmp_path.iterdir()) == []


def test_what_was_appended_is_what_others_open(store: Store) -> None:
    journal, fold = begun(store)
    journal.append(fold, a_window(covered(0, 3)), 1)
    for deep in (False, True):
        assert a_room(store=store, name="other").journal().open(deep=deep).state == fold.state


def test_entries_are_found_by_number_and_none_comes_after_the_last(store: Store) -> None:
    journal, fold = begun(store)
    kinds = []
    for number in range(fold.state.number + 1):
        sealed = journal.read(number)
        assert sealed is not None
        kinds.append(type(sealed.body))
    assert kinds == [Bind, Claim, Start]
    assert journal.read(fold.state.number + 1) is None


def test_two_first_starts_bind_once_and_both_go_on(store: Store) -> None:
    one, two = a_room(store=store).journal(), a_room(store=store, name="two").journal()
    mine, theirs = one.open(), two.open()
    one.bind(mine, CLUSTER, "parquet")
    two.bind(theirs, CLUSTER, "parquet")
    assert one.claim(mine, "one") == 1
    assert two.claim(theirs, "two") == 2
    assert theirs.state.number == 2


def test_a_feed_that_is_bound_is_not_bound_again(store: Store) -> None:
    journal, fold = begun(store)
    before = keys(store)
    journal.bind(fold, "another cluster", "parquet")
    assert keys(store) == before
    assert fold.state.cluster_id == CLUSTER


def test_two_claimers_get_two_epochs_and_the_first_is_fenced(store: Store) -> None:
    one, mine = begun(store)
    two = a_room(store=store, name="two").journal()
    theirs = two.open()
    assert one.claim(mine, "one again") == 2
    assert two.claim(theirs, "two") == 3
    before = keys(store)
    with pytest.raises(Fenced, match="epoch 3 by two; this owner had 2") as caught:
        one.append(mine, a_window(covered(0, 1), window="2-1"), 2)
    assert caught.value.exit_code == 75
    assert keys(store) == before


def test_a_fenced_owner_is_refused_before_its_decision_is_judged(store: Store) -> None:
    """It must not take an invalid plan for its own mistake, and plan again for ever."""
    journal, fold = begun(store)
    newer = journal.open()
    journal.claim(newer, "two")
    journal.append(newer, a_window(covered(0, 2), window="2-1"), 2)
    with pytest.raises(Fenced):
        journal.append(fold, a_window(covered(0, 3)), 1)


def test_an_overtaken_decision_is_made_again_when_it_is_still_valid(store: Store) -> None:
    journal, fold = begun(store)
    beside = journal.open()
    journal.append(beside, a_seek(9, 5, partition=1), 1)
    sealed = journal.append(fold, a_window(covered(0, 3)), 1)
    assert sealed.number == 4
    assert fold.state.watermarks() == {
        TopicPartition(TOPIC_ID, 0): 3,
        TopicPartition(TOPIC_ID, 1): 9,
    }


def test_an_overtaken_decision_is_refused_when_it_is_not_valid_any_more(store: Store) -> None:
    journal, fold = begun(store)
    journal.append(journal.open(), a_seek(2, 0, partition=0), 1)
    before = keys(store)
    with pytest.raises(EntryRefused, match="does not start at the watermark 2") as caught:
        journal.append(fold, a_window(covered(0, 3)), 1)
    assert caught.value.kind == "window"
    assert keys(store) == before
    assert fold.state.number == 3, "it has learned what came"


class Crowded(MemoryStore):
    """A store on which somebody else is always faster."""

    rival: FeedJournal | None = None

    def create(self, key: str, data: bytes) -> bool:
        """Let the rival take the number first."""
        if self.rival is not None and "/journal/" in key:
            rival, self.rival = self.rival, None
            fold = rival.open()
            rival.append(fold, Park(f"d{fold.state.number}", 0, "rival"), 1)
            self.rival = rival
        return super().create(key, data)


def test_somebody_who_is_always_too_late_gives_up_after_a_while() -> None:
    store = Crowded()
    journal, fold = begun(store)
    store.rival = a_room(store=store, name="rival").journal()
    with pytest.raises(EntryRefused, match=f"others were faster {MAX_OVERTAKEN} times"):
        journal.append(fold, a_window(covered(0, 3)), 1)
    assert fold.state.number == 2 + MAX_OVERTAKEN


def test_a_decision_whose_reply_was_lost_is_recognised_as_our_own(store: Store) -> None:
    _, fold = begun(store)
    faulty = FaultStore(store, [Fault("create", What.FAIL_AFTER, ENTRIES)])
    journal = a_room(store=faulty, name="faulty").journal()
    sealed = journal.append(fold, a_window(covered(0, 3)), 1)
    assert faulty.unmet() == []
    assert sealed.number == fold.state.number == 3
    assert journal.read(4) is None


def test_an_unknown_outcome_is_raised_and_leaves_everything_as_it_was(store: Store) -> None:
    _, fold = begun(store)
    faults = [Fault("create", What.DELAY, ENTRIES, nth=nth) for nth in (1, 2, 3)]
    faulty = FaultStore(store, faults)
    journal = a_room(store=faulty, name="faulty").journal()
    before, known = keys(store), copy.deepcopy(fold.state)
    with pytest.raises(OutcomeUnknown) as caught:
        journal.append(fold, a_window(covered(0, 3)), 1)
    assert caught.value.exit_code == 3
    assert keys(store) == before
    assert fold.state == known
    assert faulty.deliver() == 3
    assert journal.open().state.number == 3, "it has landed after all, once"


def test_content_lies_in_the_entry_packed_in_it_or_beside_it(store: Store) -> None:
    journal, fold = begun(store)
    parts = [covered(at, at + 1) for at in range(INLINE_FILES + 1)]
    files = tuple(a_file("a", part, [part.start]) for part in parts)
    for count, place in ((2, "content"), (INLINE_FILES, "packed"), (INLINE_FILES + 1, "manifest")):
        content = Content(files=files[:count])
        body = journal.with_content(window_of(content, covered(0, count)), content)
        found = {name for name in PLACES if getattr(body, name) is not None}
        assert found == {place}
        assert journal.content_of(body) == content
    sealed = journal.append(fold, body, 1)
    opened = journal.open(deep=True)
    assert opened.inventory is not None
    assert len(opened.inventory.files) == INLINE_FILES + 1
    assert len(list_keys(store, LAYOUT.manifests)) == 1
    assert journal.read(sealed.number) == sealed


def test_the_envelope_of_packed_content_is_plain_and_smaller(store: Store) -> None:
    journal, fold = begun(store)
    parts = [covered(at, at + 1) for at in range(200)]
    content = Content(files=tuple(a_file("a", part, [part.start]) for part in parts))
    window = window_of(content, covered(0, 200))
    sealed = journal.append(fold, journal.with_content(window, content), 1)
    raw = store.read(LAYOUT.entry(sealed.number))
    assert raw is not None
    read = json.loads(raw)
    assert (read["format"], read["body"]["kind"], read["body"]["content"]) == (
        FORMAT,
        "window",
        None,
    )
    plain = zlib.decompress(base64.b64decode(read["body"]["packed"]))
    assert json.loads(plain) == json.loads(msgspec.json.encode(content))
    assert len(raw) < len(plain) / 2
    assert journal.open().state.undone[sealed.number].parts == ["a@files"]


@pytest.mark.parametrize("packed", [b"garbage", zlib.compress(b"[]"), zlib.compress(b"{}") + b" "])
def test_packed_content_that_cannot_be_read_is_damage(packed: bytes) -> None:
    journal, _ = begun(MemoryStore())
    window = window_of(Content(), covered(0, 3))
    body = msgspec.structs.replace(window, content=None, packed=packed)
    with pytest.raises(EntryDamaged, match="content of window 1-1 cannot be read"):
        journal.content_of(body)


@pytest.mark.parametrize("places", [(), ("content", "packed"), ("packed", "manifest")])
def test_a_body_has_its_content_in_exactly_one_place(places: tuple[str, ...]) -> None:
    given: dict[str, Any] = {
        "content": Content(),
        "packed": b"x",
        "manifest": ManifestRef("key", "hash"),
    }
    with pytest.raises(ValueError, match="exactly one of content, packed and manifest"):
        Compact(window="1-1", groups=(), **{place: given[place] for place in places})


@pytest.mark.parametrize(("damage", "why"), [("gone", "it is gone"), ("edited", "hash is wrong")])
def test_a_manifest_that_is_not_what_the_entry_recorded_is_refused(damage: str, why: str) -> None:
    store = MemoryStore()
    journal, fold = begun(store)
    content = Content(inputs=tuple(Input("a", f"feed/a/{number}") for number in range(20_000)))
    body = journal.with_content(window_of(content, covered(0, 3)), content)
    journal.append(fold, body, 1)
    (key,) = list_keys(store, LAYOUT.manifests)
    raw = store.shelf.objects[key]
    store.shelf = store.shelf.with_object(key, None if damage == "gone" else raw + b" ")
    with pytest.raises(ManifestDamaged, match=why) as caught:
        journal.open(deep=True)
    assert caught.value.key == key


def test_the_lake_has_one_identity_whoever_asks_first(store: Store) -> None:
    first = lake_identity(store, surroundings("one"))
    assert lake_identity(store, surroundings("two")) == first
    raw = store.read(LAKE_KEY)
    assert raw is not None
    assert first.encode() in raw


def test_opening_asks_for_as_much_however_long_the_journal_is() -> None:
    """Goal: a start does not slow down over the years. Method: count requests, not seconds."""
    asked = []
    for records in (25, 225):
        room = delivered(a_room(SimKafka({0: ["a"] * records})), max_records=1, checkpoint_every=5)
        watched = FaultStore(room.store)
        state = a_room(store=watched).journal().open().state
        assert state.number == records + 2
        asked.append(len(watched.log))
    assert asked[0] == asked[1]
    assert asked[0] < 40


def test_checkpoints_and_tail_marks_do_not_pile_up() -> None:
    room = delivered(a_room(SimKafka({0: ["a"] * 60})), max_records=1, checkpoint_every=5)
    assert len(list_keys(room.store, LAYOUT.checkpoints)) == 3
    assert len(list_keys(room.store, LAYOUT.tails)) <= 3 + 5


@pytest.mark.parametrize("damaged", [b"", b"garbage", b'{"hash":"0"}', None])
def test_a_damaged_checkpoint_is_passed_over_with_a_notice(damaged: bytes | None) -> None:
    store = MemoryStore()
    room = delivered(a_room(SimKafka({0: ["a"] * 20}), store), max_records=1, checkpoint_every=5)
    *_, older, newest = list_keys(store, LAYOUT.checkpoints)
    raw = store.shelf.objects[newest]
    flipped = raw[:-5] + bytes([raw[-5] ^ 1]) + raw[-4:]
    wanted = room.journal().open(deep=True).state
    store.shelf = store.shelf.with_object(newest, flipped if damaged is None else damaged)
    journal = room.journal()
    assert journal.open().state == wanted
    (notice,) = journal.notices
    assert newest in notice
    store.shelf = store.shelf.with_object(older, b"garbage")
    again = room.journal()
    assert again.open().state == wanted
    assert [key in notice for key, notice in zip((newest, older), again.notices, strict=True)]


def test_a_checkpoint_of_an_unknown_shape_is_passed_over() -> None:
    """A later Penstock may keep more in it, and this one can do without."""
    store = MemoryStore()
    room = delivered(a_room(store=store))
    state = room.journal().open().state
    raw = msgspec.json.encode({"state": {"number": 1, "invented": True}})
    store.shelf = store.shelf.with_object(LAYOUT.checkpoint(1), raw)
    journal = room.journal()
    assert journal.open().state == state
    assert len(journal.notices) == 1


def parked_room() -> tuple[Room, WatchedStore, Owner]:
    """Dataset a is broken and parked; three windows with a and b are decided."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 3, 1: ["b"] * 3}), store)
    store.broken = {"a"}
    owner = an_owner(room)
    while owner.run_window():
        pass
    assert list(owner.fold.state.parked) == ["a@files"]
    return room, store, owner


def test_parked_groups_get_markers_of_their_own_later_and_in_journal_order() -> None:
    room, store, _ = parked_room()
    undone = sorted(room.journal().open().state.undone)
    assert len(undone) == 3
    assert [key for key in store.created("/done/") if key.endswith("/a@files.json")] == []
    store.broken = set()
    unpark(room.journal(), room.around, "a", "me")
    an_owner(room).recover()
    wanted = [LAYOUT.part_marker(number, "a@files") for number in undone]
    assert [key for key in store.created("/done/") if key.endswith("/a@files.json")] == wanted
    assert room.journal().open().state.undone == {}
    assert len(store.published("feed/a/")) == 3
    assert store.published("feed/a/") == sorted(store.published("feed/a/"))


def test_an_entry_of_which_a_group_is_parked_stays_undone_for_everybody() -> None:
    room, _, owner = parked_room()
    state = room.journal().open().state
    assert state == owner.fold.state
    assert {tuple(undone.parts) for undone in state.undone.values()} == {("a@files",)}
    assert all(state.open_parts(number) == () for number in state.undone)


@pytest.mark.parametrize(
    ("first", "second"),
    [(("a",), ("b",)), (("b",), ("a", "b")), (("a", "b"), ("a",)), ((), ("a",))],
)
def test_markers_of_two_publishers_combine(
    store: Store, first: tuple[str, ...], second: tuple[str, ...]
) -> None:
    undone = Undone(7, "f" * 64, "1-1", ["a", "b"])
    mark_done(store, LAYOUT, undone, first)
    mark_done(store, LAYOUT, undone, second)
    left = [name for name in ("a", "b") if name not in {*first, *second}]
    assert still_undone(store, LAYOUT, undone) == left
    mark_done(store, LAYOUT, undone, ("a", "b"))
    assert still_undone(store, LAYOUT, undone) == []


def test_without_a_marker_everything_is_undone(store: Store) -> None:
    undone = Undone(7, "f" * 64, "1-1", ["a", "b"])
    assert still_undone(store, LAYOUT, undone) == ["a", "b"]
