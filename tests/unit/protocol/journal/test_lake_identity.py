"""A lake has one identity, and does not lie inside another lake."""

from pathlib import Path

import pytest

from penstock.model.layout import Layout
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.journal.errors import LakeIdMissing, LakeInsideLake
from penstock.protocol.journal.lake_identity import LAKE_KEY, known_identity, lake_identity
from penstock.testing.memory_store import Act, Answer, MemoryStore
from tests.simulator.programs import surroundings


@pytest.mark.parametrize("inside", ["events", "events/click/day=2026-11-15", "_penstock/events"])
def test_a_new_lake_inside_another_is_refused_and_nothing_is_written(
    tmp_path: Path, inside: str
) -> None:
    outer = tmp_path / "lake"
    lake_identity(LocalStore(outer), surroundings("outer"))
    (outer / inside).mkdir(parents=True, exist_ok=True)
    inner = LocalStore(outer / inside)
    with pytest.raises(LakeInsideLake, match=str(outer)):
        lake_identity(inner, surroundings("inner"))
    assert list_keys(inner, "") == []


def test_a_lake_beside_another_is_made_and_one_that_is_known_is_not_asked_again(
    tmp_path: Path,
) -> None:
    first = LocalStore(tmp_path / "first")
    made = lake_identity(first, surroundings("first"))
    assert lake_identity(LocalStore(tmp_path / "second"), surroundings("second")) != made
    lake_identity(LocalStore(tmp_path), surroundings("around"))
    assert known_identity(first) == lake_identity(first, surroundings("again")) == made


@pytest.mark.parametrize("entry", [Layout("feed").entry(0), Layout("feed", 2).entry(7)])
def test_a_lake_that_has_lost_its_id_is_refused_and_can_get_it_back(
    tmp_path: Path, entry: str
) -> None:
    """With a new id, all journals of the lake would be those of another lake."""
    store = LocalStore(tmp_path)
    made = lake_identity(store, surroundings("first"))
    store.create(entry, b"{}")
    (tmp_path / LAKE_KEY).unlink()
    for ask in (known_identity, lambda lake: lake_identity(lake, surroundings("later"))):
        with pytest.raises(LakeIdMissing) as found:
            ask(store)
        assert entry in str(found.value)
    assert list_keys(store, "") == [entry]
    (tmp_path / LAKE_KEY).write_text(written_again(found.value, made))
    assert known_identity(store) == lake_identity(store, surroundings("later")) == made


def written_again(error: LakeIdMissing, lake: str) -> str:
    """The object as the error says that it has to be written."""
    _, _, content = str(error).partition("it is ")
    return content.partition(", where ID")[0].replace('"ID"', f'"{lake}"')


def test_what_is_no_entry_does_not_make_a_lake() -> None:
    """Probes, and journals without entries, lie there before the id does."""
    store = MemoryStore()
    for key in ("_penstock/probe/left", "_penstock/feed/lease/0000000001-000000000000.json"):
        store.create(key, b"")
    assert known_identity(store) is None
    assert lake_identity(store, surroundings("first")) == known_identity(store)


def test_a_first_start_beside_us_is_not_taken_for_a_lake_without_an_id() -> None:
    """Goal: the id is asked for again after the entries. Method: it is made after the first ask."""
    store = MemoryStore()
    other = MemoryStore(store._perform)
    reads = []

    def late(act: Act) -> Answer:
        reads.append(act)
        if len(reads) == 1:
            lake_identity(other, surroundings("other"))
            other.create(Layout("feed").entry(0), b"{}")
            return None
        return store._perform(act)

    store.ask = late
    assert lake_identity(store, surroundings("mine")) == known_identity(other)
