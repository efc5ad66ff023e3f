"""Marks: `_SUCCESS` and `_LATE`, created once, in order, and known by the entry that they name."""

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.entries import SealedEntry
from penstock.model.manifest import Group
from penstock.model.steps import FINALIZE, MarkLate, deliver_late
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.publish.acts import act_of, publish_at_once, publish_group
from penstock.protocol.publish.group_work import GroupWork, StepTools
from penstock.protocol.publish.mark_acts import mark_of
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.group_works import SEALED, staged, work_on

DAYS = tuple(f"feed/a/day=2026-11-{number:02}" for number in range(1, 5))


def complete(*directories: str, dataset: str = "a") -> GroupWork:
    return GroupWork(SEALED, Group(dataset, 0, 0, 0, FINALIZE), complete=directories)


def late(store: Store, *days: str, frontier: str = "2026-11-16") -> GroupWork:
    """Two rows in a file of each day."""
    handles = tuple(staged(store, f"a/day={day}/new") for day in days)
    group = Group("a", len(days), len(days), 8, deliver_late(frontier, ""))
    return GroupWork(SEALED, group, handles=handles, rows=(2,) * len(days))


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Both stores make objects once, and answer what lies there."""
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "lake")


@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
@pytest.mark.parametrize("nth", range(1, 5))
def test_directories_are_marked_in_order_whenever_it_ends(
    store: Store, nth: int, what: What
) -> None:
    faults = [Fault("create", what, "*/_SUCCESS", each) for each in range(nth, 30)]
    with suppress(StoreUnavailable, OutcomeUnknown):
        publish_group(StepTools(FaultStore(store, faults)), complete(*DAYS))
    there = list_keys(store, "feed")
    assert there == [f"{day}/_SUCCESS" for day in DAYS[: len(there)]]
    publish_group(StepTools(store), complete(*DAYS))
    assert list_keys(store, "feed") == [f"{day}/_SUCCESS" for day in DAYS]


def test_a_mark_tells_its_entry_and_its_window() -> None:
    store = MemoryStore()
    publish_group(StepTools(store), complete(DAYS[0]))
    found = json.loads(store.read(f"{DAYS[0]}/_SUCCESS") or b"")
    entry = SEALED.entry
    assert found == {
        "feed": entry.feed,
        "entry": entry.number,
        "hash": SEALED.sha256,
        "window": "1-x1",
        "at": entry.at,
    }


def test_the_days_of_datasets_are_marked_at_once_and_one_that_fails_stops_no_other() -> None:
    store = MemoryStore()
    broken = FaultStore(
        store, [Fault("create", What.FAIL_BEFORE, "feed/a/*", nth) for nth in range(1, 9)]
    )
    works = [complete(DAYS[0]), complete("feed/b/day=2026-11-01", dataset="b")]
    assert publish_at_once(StepTools(broken), works) == {works[1].key}


def test_late_rows_are_counted_by_directory_and_others_get_no_mark(store: Store) -> None:
    work = late(store, "2026-11-14", "2026-11-15", "2026-11-16")
    publish_group(StepTools(store), work)
    marks = {
        key: json.loads(store.read(key) or b"") for key in list_keys(store, "a") if "_L" in key
    }
    assert {key: found["rows"] for key, found in marks.items()} == {
        "a/day=2026-11-14/_LATE": 2,
        "a/day=2026-11-15/_LATE": 2,
    }


def test_the_mark_is_there_before_the_file() -> None:
    store = MemoryStore()
    work = late(store, "2026-11-15")
    failing = FaultStore(
        store, [Fault("publish", What.FAIL_BEFORE, "*", nth) for nth in range(1, 20)]
    )
    with pytest.raises((StoreUnavailable, OutcomeUnknown)):
        publish_group(StepTools(failing), work)
    assert list_keys(store, "a") == ["a/day=2026-11-15/_LATE"]


def test_a_further_entry_leaves_a_mark_beside_the_first_and_repeats_change_nothing(
    store: Store,
) -> None:
    first = late(store, "2026-11-15")
    body = msgspec.structs.replace(SEALED.entry.body, window="1-x2")
    entry = msgspec.structs.replace(SEALED.entry, body=body)
    other = replace(first, sealed=SealedEntry(entry, "1" * 64))
    act = act_of(MarkLate("2026-11-16"), StepTools(store))
    act.do(first)
    assert not act.is_done(other)
    for _ in range(2):
        act.do(other)
        act.do(first)
    assert act.is_done(first)
    assert act.is_done(other)
    assert list_keys(store, "a") == [
        "a/day=2026-11-15/_LATE",
        "a/day=2026-11-15/_LATE-1-x2",
    ]
    assert mark_of(other).is_in(store.read("a/day=2026-11-15/_LATE-1-x2"))


@pytest.mark.parametrize("found", [None, b"", b"{}", b'{"entry": 0, "hash": "x"}', b"\xff"])
def test_what_is_not_ours_is_not_taken_for_ours(found: bytes | None) -> None:
    assert not mark_of(complete(DAYS[0])).is_in(found)
    assert work_on(MemoryStore(), "a", FINALIZE).complete == ("a/day=2026-11-15",)
