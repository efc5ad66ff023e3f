"""Lanes: files and deletions are done, parked and consumed each by itself."""

from unittest.mock import patch

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care.compact import RewriteOrder, compact
from penstock.care.retire import retire
from penstock.errors import EntryRefused, OutcomeUnknown, StoreUnavailable
from penstock.model.entries import Compact, Park, Unpark
from penstock.model.layout import number_in
from penstock.model.manifest import ManifestFile
from penstock.model.steps import DeleteInputs, PublishFiles
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import seal
from penstock.runtime.surroundings import Surroundings
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner, delivered, kinds, rows
from tests.simulator.kafka import SimKafka
from tests.simulator.programs import FEED, Room, _rewrite, compactor


def two_of_each() -> tuple[Room, WatchedStore]:
    """Two windows, each with a file of a and one of b; all delivered."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "a"], 1: ["b", "b"]}), store)
    return delivered(room), store


def state_of(room: Room) -> FeedState:
    return room.journal().open().state


def compacted(room: Room, dataset: str = "a") -> int:
    """The number of a compaction of all files of a dataset."""

    def rewrite(order: RewriteOrder) -> tuple[ManifestFile, ...]:
        return (_rewrite(room, order)[1],)

    return compact(room.journal(), room.around, dataset, rewrite).number


def retired(room: Room, dataset: str = "a") -> None:
    files = tuple(list_keys(room.store, f"{FEED}/{dataset}"))
    retire(room.journal(), room.around, dataset, files, "ann", "erasure")


def without_marker(room: Room, store: WatchedStore, number: int) -> None:
    """Somebody removes the done marker of an entry, and all checkpoints."""
    store.delete(LAYOUT.marker(number))
    for key in list_keys(store, LAYOUT.checkpoints):
        store.delete(key)


@pytest.mark.parametrize("number", [3, 4])
def test_a_lost_marker_and_a_compaction_double_no_rows(number: int) -> None:
    """Goal: what was consumed was done. Method: lose the marker of an input, start again."""
    room, store = two_of_each()
    compacted(room)
    without_marker(room, store, number)
    owner = an_owner(room)
    owner.recover()
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert "Replace" not in kinds(room)
    assert state_of(room).undone == {}
    assert audit(room.journal()).verdict == "ok"


def test_a_lost_marker_and_a_retirement_bring_nothing_back() -> None:
    room, store = two_of_each()
    retired(room)
    without_marker(room, store, 3)
    owner = an_owner(room)
    owner.recover()
    assert rows(store, "a") == []
    assert "Replace" not in kinds(room)
    assert rows(store, "b") == [(1, 0), (1, 1)], "the sibling is not harmed"


def test_files_of_a_sibling_are_derived_although_the_other_was_consumed() -> None:
    """Goal: deriving again works on one group. Method: a is compacted; the files of b vanish."""
    room, store = two_of_each()
    compacted(room)
    without_marker(room, store, 3)
    [lost] = [key for key in list_keys(store, f"{FEED}/b") if "_1-1" in key]
    store.delete(lost)
    owner = an_owner(room)
    owner.recover()
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert rows(store, "b") == [(1, 0), (1, 1)]
    assert kinds(room).count("Replace") == 1
    assert state_of(room).undone == {}


def test_what_consumes_names_the_groups_that_it_consumes() -> None:
    room, _ = two_of_each()
    body = room.journal().require(compacted(room)).body
    assert isinstance(body, Compact)
    assert body.consumes is not None
    [consumed] = body.consumes
    assert (consumed.dataset, list(consumed.entries)) == ("a", [3, 4])


def test_an_entry_that_names_other_groups_is_refused() -> None:
    room, _ = two_of_each()
    journal = room.journal()
    number = compacted(room)
    body = journal.require(number).body
    fold = journal.open(deep=True)
    assert fold.inventory is not None
    wrong = msgspec.structs.replace(body, consumes=())
    entry = msgspec.structs.replace(journal.require(number).entry, body=wrong)
    content = journal.content_of(body)
    before = room.journal().empty_fold(deep=True)
    journal.fold_on(before, up_to=number - 1)
    assert before.inventory is not None
    why = before.inventory.objection(entry, content, {})
    assert why == "it names other groups than those that its inputs belong to"


def test_one_parked_dataset_keeps_no_other_from_being_compacted_or_retired() -> None:
    store = WatchedStore()
    store.broken = {"b"}
    room = a_room(SimKafka({0: ["a", "a"], 1: ["b", "b"]}), store)
    delivered(room)
    assert list(state_of(room).parked) == ["b@files"]
    compacted(room)
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert len(list_keys(store, f"{FEED}/a")) == 1
    retired(room)
    assert rows(store, "a") == []
    assert compactor("b")(room) == "refused: b has 0 files to compact"


def test_a_deletion_that_fails_is_owed_and_holds_nothing_back() -> None:
    """Goal: deletions owed are state. Method: the store refuses to delete; windows go on."""
    store = NoDeletes()
    room = delivered(a_room(SimKafka({0: ["a", "a"], 1: ["b", "b"]}, {0: 2, 1: 1}), store))
    store.keeps = True
    compacted(room)
    state = state_of(room)
    [owed] = state.owed.values()
    assert owed.parts == ["a@delete"]
    assert state.undone == {}, "its files are there, and marked"
    room.kafka.latest[1] = 2
    owner = an_owner(room, park_after=2)
    while owner.run_window():
        pass
    owner.recover()
    assert rows(store, "b") == [(1, 0), (1, 1)]
    assert list(state_of(room).parked) == ["a@delete"]
    write_checkpoint(room.journal(), owner.fold.state)
    assert state_of(room).owed.keys() == {owed.number}, "a checkpoint carries it"
    assert audit(room.journal()).verdict == "ok"
    store.keeps = False
    an_owner(room).recover()
    assert state_of(room).owed == {}
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert kinds(room)[-1] == "Unpark"


def test_a_deletion_waits_for_its_time() -> None:
    """Goal: readers by snapshot keep their files for a while. Method: a step with a time."""
    room, store = two_of_each()
    journal = room.journal()
    later = room.around.now() + 3600
    steps = (PublishFiles(), DeleteInputs(later))

    with patch("penstock.care.compact.REWRITE", steps):
        number = compacted(room)
    assert len(list_keys(store, f"{FEED}/a")) == 3, "both stay for readers that have begun"
    assert state_of(room).owed[number].not_before_s == later
    assert audit(journal).verdict == "ok"
    around = Surroundings(lambda: later + 1, room.around.sleep, room.around.random)
    an_owner(Room("later", store, around, room.kafka)).recover()
    assert len(list_keys(store, f"{FEED}/a")) == 1
    assert state_of(room).owed == {}


def test_a_dataset_that_is_parked_for_long_is_not_looked_at_when_a_journal_is_opened() -> None:
    """Goal: opening does not grow with the queue of a parked dataset. Method: count reads."""
    store = WatchedStore()
    store.broken = {"b"}
    room = a_room(SimKafka({0: ["a"] * 40, 1: ["b"] * 40}), store)
    owner = an_owner(room)
    while owner.run_window():
        pass
    write_checkpoint(room.journal(), owner.fold.state)
    assert len(state_of(room).undone) == 40
    store.acts.clear()
    room.journal().open()
    assert len([act for act in store.acts if "/done/" in act.key and act.name == "read"]) == 0
    assert len(store.acts) < 13


def test_recovery_publishes_the_files_of_many_entries_together() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"] * 30}), store)
    store.broken = {"a"}
    owner = an_owner(room, max_records=1)
    while owner.run_window():
        pass
    store.broken = set()
    store.acts.clear()
    an_owner(room)
    marks = [act.key for act in store.acts if act.name == "create" and "/_tail/" in act.key]
    assert rows(store, "a") == [(0, offset) for offset in range(30)]
    done = [act.key for act in store.acts if act.name == "create" and "/done/" in act.key]
    assert done == sorted(done), "in journal order"
    assert len(marks) == 3, "of the claim, of the unpark, and of the newest that was published"


def test_lanes_are_parked_and_let_go_by_name() -> None:
    room, _ = two_of_each()
    journal = room.journal()
    fold = journal.open()
    epoch = fold.state.epoch
    journal.append(fold, Park("a", 3, "full", "delete"), epoch)
    journal.append(fold, Park("a", 3, "full"), epoch)
    with pytest.raises(EntryRefused, match="lane of files of dataset a is parked already"):
        journal.append(fold, Park("a", 3, "full", "files"), epoch)
    journal.append(fold, Unpark("a", "me", lane="files"), epoch)
    assert list(fold.state.parked) == ["a@delete"]
    with pytest.raises(EntryRefused, match="lane of files of dataset a is not parked"):
        journal.append(fold, Unpark("a", "me", lane="files"), epoch)
    journal.append(fold, Unpark("a", "me"), epoch)
    assert fold.state.parked == {}


def test_entries_of_older_formats_prove_what_they_consume_by_the_names_of_files() -> None:
    """Goal: journals of format 3 are as safe. Method: take `consumes` out of a compaction."""
    room, store = two_of_each()
    number = compacted(room)
    key = LAYOUT.entry(number)
    sealed = room.journal().require(number)
    assert isinstance(sealed.body, Compact)
    body = msgspec.structs.replace(sealed.body, consumes=None)
    data, sha256 = seal(msgspec.structs.replace(sealed.entry, body=body))
    store.shelf = store.shelf.with_object(key, data)
    for marked in (LAYOUT.marker(number), LAYOUT.part_marker(number, "a@delete")):
        raw = msgspec.json.decode(store.read(marked) or b"", type=Marker)
        new = msgspec.json.encode(msgspec.structs.replace(raw, sha256=sha256))
        store.shelf = store.shelf.with_object(marked, new)
    for tail in list_keys(store, LAYOUT.tails):
        if number_in(tail.rpartition("/")[2]) == number:
            store.delete(tail)
    without_marker(room, store, 3)
    assert 3 in state_of(room).undone
    assert state_of(room).undone[3].parts == ["b@files"], "a was consumed, so it was done"


class NoDeleteMarkers(WatchedStore):
    """Gives no answer about markers of deletions while it is `silent`."""

    silent = False

    def create(self, key: str, data: bytes) -> bool:
        """As memory does, or it is not known."""
        if self.silent and key.endswith("@delete.json"):
            raise OutcomeUnknown("create", key, "silent on purpose")
        return super().create(key, data)


def test_a_deletion_whose_marker_has_no_answer_fails_neither_a_command_nor_a_window() -> None:
    """Goal: what is visible and marked is delivered. Method: only the deletion stays in doubt."""
    store = NoDeleteMarkers()
    room = delivered(a_room(SimKafka({0: ["a", "a"], 1: ["b", "b"]}, {0: 2, 1: 1}), store))
    store.silent = True
    number = compacted(room)
    assert rows(store, "a") == [(0, 0), (0, 1)]
    assert state_of(room).owed.keys() == {number}
    room.kafka.latest[1] = 2
    owner = an_owner(room, park_after=50)
    assert owner.run_window()
    assert rows(store, "b") == [(1, 0), (1, 1)]
    assert owner.troubles.parts["a@delete"].tries > 1, "it is counted, and tried again later"
    assert state_of(room).owed.keys() == {number}
    store.silent = False
    owner.recover()
    assert state_of(room).owed == {}


class NoDeletes(WatchedStore):
    """Does not delete data while it `keeps` it."""

    keeps = False

    def delete(self, key: str) -> None:
        """As memory does, or not at all."""
        if self.keeps and key.startswith(f"{FEED}/a/"):
            raise StoreUnavailable("delete", key, "it is kept on purpose")
        super().delete(key)
