"""The audit where a done marker is gone or forged: the files are looked at all the same."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.model.lanes import dataset_of
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.markers import Marker
from penstock.testing.memory_store import Act
from tests.helpers.deep_receipts import meanwhile, receipt
from tests.helpers.doctored_lakes import DoctoredLake, doubled, event, events, rewrite, without
from tests.helpers.journals import (
    LAYOUT,
    WatchedStore,
    a_room,
    an_owner,
    decided_only,
    delivered,
)
from tests.simulator import kafka
from tests.simulator.kafka import BAD, SimKafka
from tests.simulator.programs import FEED, Room, compactor, replayer

FIRST, LAST = 3, 6  # the entries of the four windows: after bind, claim and start


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctoredLake:
    """Four windows of fifty records."""
    found = DoctoredLake(tmp_path, events(200), max_records=50)
    found.plain_tools(monkeypatch)
    return found


def marker_removed(lake: DoctoredLake, number: int) -> None:
    (lake.root / LAYOUT.marker(number)).unlink()


def group_removed(lake: DoctoredLake, number: int) -> None:
    """The marker is there, and one of its groups is taken out of it."""
    path = lake.root / LAYOUT.marker(number)
    marker = msgspec.json.decode(path.read_bytes(), type=Marker)
    left = tuple(name for name in marker.groups if dataset_of(name) != "click")
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(marker, groups=left)))


def truncate(victim: Path) -> None:
    victim.write_bytes(victim.read_bytes()[:50])


HANDS: dict[str, Callable[[Path], object]] = {
    "row removed": lambda victim: rewrite(victim, without(164)),
    "row doubled": lambda victim: rewrite(victim, doubled(164)),
    "truncated": truncate,
    "deleted": Path.unlink,
}


@pytest.mark.parametrize("hide", [marker_removed, group_removed])
@pytest.mark.parametrize("hand", HANDS.values(), ids=HANDS)
def test_damage_in_the_last_window_is_told_without_its_marker(
    lake: DoctoredLake,
    capsys: pytest.CaptureFixture[str],
    hide: Callable[[DoctoredLake, int], None],
    hand: Callable[[Path], object],
) -> None:
    [victim] = lake.data("click", "150-200")
    hide(lake, LAST)
    assert lake.audit("--deep") == lake.audit() == 0  # as after a death before the marker
    capsys.readouterr()
    hand(victim)
    found = receipt(lake, capsys, code=4)["differences"]
    assert [each["file"] for each in found] == [lake.key(victim)]
    if hand in (HANDS["row removed"], HANDS["row doubled"]):
        [part] = found[0]["offsets"]
        assert (part["runs"], part["among"]) == ([[164, 165]], False)
    assert lake.audit() == 4


@pytest.mark.parametrize("hide", [marker_removed, group_removed])
@pytest.mark.parametrize("is_below_checkpoint", [False, True])
def test_a_marker_that_must_have_been_there_is_missed_and_the_files_are_looked_at(
    lake: DoctoredLake,
    capsys: pytest.CaptureFixture[str],
    hide: Callable[[DoctoredLake, int], None],
    is_below_checkpoint: bool,
) -> None:
    number = LAST if is_below_checkpoint else FIRST
    if is_below_checkpoint:
        journal = lake.room([]).journal()
        write_checkpoint(journal, journal.open().state)
    hide(lake, number)
    found = receipt(lake, capsys, code=4)
    [difference] = found["differences"]
    assert (difference["kind"], difference["file"]) == ("journal", LAYOUT.marker(number))
    assert f"the done marker of entry {number} for " in difference["found"]
    proof = "the checkpoint" if is_below_checkpoint else "the marker"
    assert (
        f"click{'' if hide is group_removed else ', order'} is gone; {proof} of entry 6"
        in (difference["found"])
    )
    assert found["pending"] == []
    [victim] = lake.data("click", "150-200" if is_below_checkpoint else "_0-50")
    victim.unlink()
    told = receipt(lake, capsys, code=4)["differences"]
    assert [(each["kind"], each["file"]) for each in told] == [
        ("journal", LAYOUT.marker(number)),
        ("file_missing", lake.key(victim)),
    ]


@pytest.mark.parametrize(
    "forged",
    [
        b"garbage",
        msgspec.json.encode(Marker(LAST, "f" * 64, ("click",))),
        msgspec.json.encode(Marker(FIRST, "f" * 64, ("zzz",))),
    ],
)
def test_a_forged_marker_of_a_group_that_is_marked_already_is_a_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], forged: bytes
) -> None:
    key = LAYOUT.part_marker(LAST, "click")
    lake.store.create(key, forged)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["file"]) == ("journal", key)
    assert "MARKER_WRONG" in difference["found"]


def test_a_marker_of_a_group_that_names_another_is_a_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    key = LAYOUT.part_marker(LAST, "click")
    sealed = lake.room([]).journal().require(LAST)
    lake.store.create(key, msgspec.json.encode(Marker(LAST, sealed.sha256, ("order",))))
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["file"], difference["found"]) == (
        key,
        "it marks order, but its name is that of click",
    )


def test_staged_files_that_are_lost_are_a_difference_until_they_are_derived_again(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.source.payloads += [event("click", n) for n in range(20)]
    lake.kafka = type(lake.kafka)(lake.source)
    owner = an_owner(lake.room([]), lake.source, max_records=50)
    number = decided_only(owner)
    for staged in (lake.root / LAYOUT.staging).rglob("*.staged"):
        staged.unlink()
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert (difference["kind"], difference["entry"]) == ("file_missing", number)
    assert difference["found"] == (
        "decided and lost: neither staged nor visible, with 20 rows; the next run derives it "
        "again, if Kafka still has its ranges"
    )
    assert lake.audit() == 4
    an_owner(lake.room([]), lake.source, max_records=50).recover()
    capsys.readouterr()
    assert receipt(lake, capsys)["pending"] == []


def test_a_window_that_becomes_visible_while_files_are_read_is_no_difference(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.source.payloads += events(20)
    lake.kafka = type(lake.kafka)(lake.source)
    owner = an_owner(lake.room([]), lake.source, max_records=50)
    decided_only(owner)
    meanwhile(lake, monkeypatch, owner.recover)
    found = receipt(lake, capsys)
    assert len(found["pending"]) == 3
    assert found["deep"]["files"] == 15


def a_lost_window() -> tuple[Room, WatchedStore]:
    """A window that is decided, and whose staged files are gone."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "b"]}), store)
    decided_only(an_owner(room))
    assert store.lose_staged() == 2
    return room, store


@pytest.mark.parametrize("is_longer", [False, True])
def test_what_is_derived_again_while_it_is_looked_for_is_no_difference(
    monkeypatch: pytest.MonkeyPatch, is_longer: bool
) -> None:
    """Also with other bytes than those that were lost, as another version would write them."""
    room, store = a_lost_window()
    assert len(audit(room.journal()).differences) == 2

    def derive() -> None:
        rows_as_bytes = kafka.rows_as_bytes
        if is_longer:
            monkeypatch.setattr(kafka, "rows_as_bytes", lambda *rows: rows_as_bytes(*rows) + b" ")
        an_owner(room).recover()

    store.once(lambda act: act.name == "head" and "/segments/" not in act.key, derive)
    receipt = audit(room.journal())
    assert (receipt.differences, len(receipt.pending)) == ((), 2)
    assert audit(room.journal()).differences == ()


def test_a_lost_compaction_is_a_difference_that_no_run_mends() -> None:
    store = WatchedStore()
    room = delivered(a_room(SimKafka({0: ["a"] * 5}), store))
    store.broken = {"a"}
    with pytest.raises(Exception, match="broken on purpose"):
        compactor("a")(room)
    assert store.lose_staged() == 1
    [difference] = audit(room.journal()).differences
    assert difference.kind == "file_missing"
    assert difference.found.endswith("it cannot be derived again, and the next run stops there")


def test_what_lies_at_the_name_of_a_file_that_waits_must_be_that_file() -> None:
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a"]}), store)
    number = decided_only(an_owner(room))
    [file] = room.journal().content_of(room.journal().require(number).body).files
    store.create(file.handle.final, b"somebody else's")
    [difference] = audit(room.journal()).differences
    assert (difference.kind, difference.file) == ("file_size", file.handle.final)


def test_markers_that_come_while_they_are_looked_for_are_not_missed() -> None:
    """Goal: no false alarm. Method: two windows are finished between the looks at their markers."""
    store = WatchedStore()
    room = a_room(SimKafka({0: ["a", "a"]}), store)
    owner = an_owner(room, max_records=1)
    decided_only(owner)
    decided_only(owner)
    first = LAYOUT.marker(FIRST)
    seen: list[str] = []

    def is_after_the_first(act: Act) -> bool:
        if act.name == "read" and seen.count(first) == 2:  # the plain opening looks, then we do
            return True
        seen.append(act.key if act.name == "read" else "")
        return False

    store.once(is_after_the_first, owner.recover)
    assert audit(room.journal()).differences == ()
    assert store.published(f"{FEED}/a/")


def test_a_dataset_that_was_parked_may_be_done_after_later_entries() -> None:
    store = WatchedStore()
    store.broken = {"a"}
    room = delivered(a_room(SimKafka({0: ["a", "b", "a", "b"]}), store), max_records=2)
    receipt = audit(room.journal())
    assert (receipt.verdict, len(receipt.pending)) == ("ok", 2)
    store.broken = set()
    delivered(room)
    assert audit(room.journal()).verdict == "ok"


def test_a_replay_whose_marker_is_gone_is_looked_at() -> None:
    store = WatchedStore()
    room = delivered(a_room(SimKafka({0: ["a", BAD]}), store))
    assert replayer("a")(room) == "decided"
    number = room.journal().open().state.number
    store.delete(LAYOUT.marker(number))
    assert audit(room.journal()).verdict == "ok"
    content = room.journal().content_of(room.journal().require(number).body)
    store.delete(content.files[0].handle.final)
    [difference] = audit(room.journal()).differences
    assert (difference.kind, difference.entry) == ("file_missing", number)
