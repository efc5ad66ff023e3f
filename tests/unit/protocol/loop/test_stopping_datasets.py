"""Datasets that stop at records whose schema cannot be merged with theirs, and go on when told."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care.clean import clean
from penstock.care.replay_feed import held_back
from penstock.care.seek import unpark
from penstock.cli.main import main
from penstock.errors import EntryRefused, FeedHalted
from penstock.feeds.endings import failing_and_stopped
from penstock.feeds.errors import SchemasIncompatible
from penstock.model.entries import SealedEntry, Unpark, Window
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.loop.owner import Owner
from penstock.protocol.publish.groups import load_content
from penstock.testing.memory_store import Act
from tests.helpers.journals import WatchedStore, a_room, an_owner, kinds, rows
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.kafka import MISFIT, STOPPING, SimKafka, SimSource
from tests.simulator.programs import FEED, GivenRules, Room, replayer

FATES = (["a", MISFIT, "a"], ["b", "b", "b"])
WORDS = ("errors", "accept", FEED, "--dataset", "a", "--reason", "old client", "--author", "ann")


def stops(dataset: str) -> bool:
    return dataset == STOPPING


def a_stopping_room() -> tuple[Room, WatchedStore]:
    store = WatchedStore()
    return a_room(SimKafka(dict(enumerate(FATES))), store), store


class HookedSource(SimSource):
    """A source of which a test changes what it staged, or acts while it stages."""

    def __init__(self, room: Room, then: Callable[[StagedWindow], StagedWindow]) -> None:
        super().__init__(room.kafka, room.store, room.around)
        self._then = then

    def stage(self, order: StageOrder) -> StagedWindow:
        return self._then(super().stage(order))


def run_all(room: Room, **spec: Any) -> Owner:
    """An owner that has delivered whatever it could."""
    owner = an_owner(room, **{"rules": GivenRules(stopping=stops), **spec})
    while owner.run_window():
        pass
    return owner


def test_it_stops_by_name_and_all_others_go_on() -> None:
    room, store = a_stopping_room()
    state = run_all(room).fold.state
    assert rows(store, "a") == [(0, 0)], "what came before is visible, and nothing after it"
    assert rows(store, "b") == [(1, 0), (1, 1), (1, 2)]
    assert sorted(state.watermarks().values()) == [3, 3], "everything is decided"
    assert state.stopped == ["a"]
    assert "1 record came" in state.parked["a@files"]
    assert store.published("quarantine/"), "the record itself can be looked at"
    assert "Park" not in kinds(room), "it stands in the entry of its window"


def test_the_entry_of_the_window_says_so_itself() -> None:
    room, _ = a_stopping_room()
    run_all(room)
    assert [sorted(window.stops) for window in windows(room)] == [[], ["a"], []]


def every_entry(room: Room) -> list[SealedEntry]:
    journal = room.journal()
    return [journal.require(n) for n in range(journal.open().state.number + 1)]


def windows(room: Room) -> list[Window]:
    return [sealed.body for sealed in every_entry(room) if isinstance(sealed.body, Window)]


def test_a_new_owner_waits_for_the_word_and_a_person_gives_it() -> None:
    room, store = a_stopping_room()
    run_all(room)
    run_all(room)
    assert rows(store, "a") == [(0, 0)]
    assert "Unpark" not in kinds(room)
    sealed = unpark(room.journal(), room.around, "a", "ann", "old client")
    assert sealed.body == Unpark("a", "ann", "old client")
    state = run_all(room).fold.state
    assert rows(store, "a") == [(0, 0), (0, 2)]
    assert (state.stopped, state.parked, state.undone) == ([], {}, {})


def test_who_wants_a_failed_dataset_to_be_tried_again_does_not_let_a_stopped_one_go() -> None:
    """Goal: a word is about what was seen. Method: the cause is another one when it is written."""
    room, store = a_stopping_room()
    run_all(room)
    with pytest.raises(EntryRefused, match="a was stopped meanwhile"):
        unpark(room.journal(), room.around, "a", "ann", "the disk is mended", stopped=False)
    assert kinds(room)[-1] != "Unpark"
    unpark(room.journal(), room.around, "a", "ann", "they may come", stopped=True)
    assert room.journal().open().state.stopped == []
    store.broken = {"a"}
    run_all(room)
    with pytest.raises(EntryRefused, match="a was let go meanwhile"):
        unpark(room.journal(), room.around, "a", "ann", "they may come", stopped=True)


def test_an_owner_that_runs_notices_the_word() -> None:
    room, store = a_stopping_room()
    owner = run_all(room)
    unpark(room.journal(), room.around, "a", "ann", "old client")
    assert not owner.run_window(), "there is nothing to read, but it notices"
    assert rows(store, "a") == [(0, 0), (0, 2)], "or `--once` would end before it is visible"
    assert owner.fold.state.undone == {}


def test_what_a_person_let_go_is_visible_although_the_window_being_read_stops_it_again() -> None:
    """Goal: the word is not used up in vain. Method: it comes while a window is staged."""
    store = WatchedStore()
    room = a_room(SimKafka({0: [MISFIT, "a", MISFIT, "a"]}, {0: 2}), store)
    words = [lambda: unpark(room.journal(), room.around, "a", "ann", "old client")]

    def a_person_comes(staged: StagedWindow) -> StagedWindow:
        if room.journal().open().state.stopped and words:
            words.pop()()
        return staged

    owner = an_owner(room, HookedSource(room, a_person_comes), rules=GivenRules(stopping=stops))
    assert owner.run_window()
    assert rows(store, "a") == []
    room.kafka.latest[0] = 4
    assert owner.run_window()
    assert rows(store, "a") == [(0, 1)]
    assert owner.fold.state.stopped == ["a"]


def test_further_records_that_do_not_fit_leave_the_cause_as_it_was() -> None:
    room = a_room(SimKafka({0: [MISFIT, MISFIT, MISFIT, "a"]}), WatchedStore())
    state = run_all(room).fold.state
    assert state.parked["a@files"].startswith("2 records came in window 1-1 whose schema")
    assert [sorted(window.stops) for window in windows(room)] == [["a"], ["a"]]


def test_what_would_not_stop_any_more_is_let_go_by_the_next_owner() -> None:
    """To change the configuration is a word, too."""
    room, store = a_stopping_room()
    run_all(room)
    owner = an_owner(room)
    owner.run_window()
    assert rows(store, "a") == [(0, 0), (0, 2)]
    assert owner.fold.state.stopped == []


def test_a_new_owner_starts_although_a_person_is_faster_to_let_a_dataset_go() -> None:
    room, store = a_stopping_room()
    run_all(room)

    def is_unpark(act: Act) -> bool:
        return act.name == "create" and b'"kind":"unpark"' in (act.data or b"")

    store.once(is_unpark, lambda: unpark(room.journal(), room.around, "a", "ann", "old client"))
    an_owner(room).run_window()
    assert kinds(room).count("Unpark") == 1
    assert rows(store, "a") == [(0, 0), (0, 2)]


def test_a_dataset_that_fails_and_is_stopped_waits_for_both() -> None:
    room, store = a_stopping_room()
    store.broken = {"a"}
    state = run_all(room).fold.state
    assert kinds(room).count("Park") == 1
    assert state.stopped == ["a"]
    assert "1 record came" in state.parked["a@files"]
    store.broken = set()
    run_all(room)
    assert rows(store, "a") == []
    unpark(room.journal(), room.around, "a", "ann", "old client")
    run_all(room)
    assert rows(store, "a") == [(0, 0), (0, 2)]


def test_staged_files_of_a_stopped_dataset_are_spared_and_the_audit_knows_them() -> None:
    room, _ = a_stopping_room()
    run_all(room)
    run_all(room)
    clean(room.journal())
    receipt = audit(room.journal())
    assert receipt.differences == ()
    assert [(each.dataset, each.rows) for each in receipt.pending] == [("a", 1)]
    assert "schema cannot be merged" in receipt.pending[0].parked
    state = room.journal().open().state
    for number in state.undone:
        journal = room.journal()
        assert load_content(journal, journal.open(), journal.require(number)).files


def test_a_checkpoint_remembers_what_is_stopped() -> None:
    room, _ = a_stopping_room()
    run_all(room, checkpoint_every=1)
    fold = room.journal().open()
    assert fold.checkpoint > 0
    assert fold.state.stopped == ["a"]


def test_records_replayed_to_a_stopped_dataset_are_held_back_with_the_rest() -> None:
    room, store = a_stopping_room()
    run_all(room)
    assert replayer("a")(room) == "decided"
    state = room.journal().open().state
    assert held_back(state, [state.number]) == ["a"]
    assert rows(store, "a") == [(0, 0)]
    unpark(room.journal(), room.around, "a", "ann", "old client")
    state = run_all(room).fold.state
    assert rows(store, "a") == [(0, 0), (0, 1), (0, 2)]
    assert held_back(state, range(state.number)) == []


def test_what_failed_and_what_was_stopped_are_told_apart() -> None:
    room, _ = a_stopping_room()
    state = run_all(room).fold.state
    state.parked["b"] = "no space"
    failing, stopped = failing_and_stopped(state)
    assert failing == {"b": "no space"}
    assert list(stopped) == ["a"]
    error = SchemasIncompatible("feed", stopped)
    assert isinstance(error, FeedHalted)
    assert "penstock errors accept feed --dataset NAME" in str(error)


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    return DiskLake(tmp_path)


def test_the_command_lets_it_go_on_once(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    room = lake.room(*FATES)
    run_all(room)
    assert main(lake.words(*WORDS)) == 0
    assert "a is accepted" in capsys.readouterr().out
    assert room.journal().open().state.stopped == []
    assert every_entry(room)[-1].body == Unpark("a", "ann", "old client")
    assert main(lake.words(*WORDS)) == 2
    assert "is not stopped. Nothing was changed." in capsys.readouterr().err
    run_all(room)
    assert rows(lake.store, "a") == [(0, 0), (0, 2)]


def test_the_command_answers_in_json_and_knows_a_dataset_by_its_own_name(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    room = lake.room(*FATES)
    number = run_all(room).fold.state.number
    assert main(lake.words(*WORDS, "--output", "json")) == 0
    row = json.loads(capsys.readouterr().out)
    assert row == {"feed": FEED, "dataset": "a", "accepted": True, "entry": number + 1}
    other = [word if word != "a" else "b" for word in WORDS]
    assert main(lake.words(*other)) == 2
    assert "Stopped datasets: none." in capsys.readouterr().err


def test_status_shows_what_is_stopped(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    run_all(lake.room(*FATES))
    assert main(lake.words("status")) == 0
    assert f"{FEED}: a is stopped: 1 record came" in capsys.readouterr().out
    assert main(lake.words("status", FEED, "--output", "json")) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["stopped"], list(row["parked"])) == (["a"], ["a"])


@pytest.mark.parametrize("name", ["shop/Order", "shop%2FOrder"])
def test_the_command_knows_a_dataset_also_by_the_name_that_status_shows(
    lake: DiskLake, name: str
) -> None:
    room = lake.room(*FATES)

    def of_another(staged: StagedWindow) -> StagedWindow:
        return msgspec.structs.replace(staged, misfits={"shop%2FOrder": 1})

    owner = an_owner(
        room, HookedSource(room, of_another), rules=GivenRules(stopping=lambda _dataset: True)
    )
    owner.run_window()
    assert room.journal().open().state.stopped == ["shop%2FOrder"]
    assert main(lake.words(*[name if word == "a" else word for word in WORDS])) == 0
    assert room.journal().open().state.stopped == []


def test_an_empty_dataset_is_refused_and_the_stopped_ones_are_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    run_all(lake.room(*FATES))
    assert main(lake.words(*["" if word == "a" else word for word in WORDS])) == 2
    assert "Stopped datasets: a." in capsys.readouterr().err


def test_files_of_other_datasets_are_listed_while_one_is_stopped(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    """Method: windows that hold both datasets, so that none of their entries is done."""
    run_all(lake.room(*FATES), max_records=4)
    assert main(lake.words("files", FEED)) == 0
    listed = capsys.readouterr().out.split()
    assert listed == [str(file.relative_to(lake.root)) for file in lake.files()]
    assert {name.split("/")[1] for name in listed} == {"b"}
