"""Acts: each step is looked at, done, and done for many groups at once, in its order."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from penstock.api.store import Store
from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.lanes import DELETE, FILES, part_of
from penstock.model.manifest import Group
from penstock.model.staged import StagedHandle
from penstock.model.steps import DELIVER, REMOVE, REWRITE, MarkLate, Step
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.publish.acts import act_of, publish_at_once, publish_group
from penstock.protocol.publish.group_work import GroupWork, PartKey, StepTools
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.group_works import DAY, SEALED, work_on
from tests.helpers.journals import WatchedStore


def keys(*datasets: str, lane: str = FILES) -> set[PartKey]:
    """These parts of the entry."""
    return {(SEALED.number, part_of(dataset, lane)) for dataset in datasets}


def names(store: MemoryStore) -> list[str]:
    """Everything visible."""
    return list_keys(store, "a") + list_keys(store, "b")


STEPS: list[Step] = [
    MarkLate("2026-11-16") if kind is MarkLate else kind() for kind in get_args(Step)
]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: type(s).__name__)
def test_every_step_has_an_act_that_looks_before_and_after(step: Step) -> None:
    """Goal: look, do and do-many agree, for every step there is, also for a later one."""
    store = MemoryStore()
    act = act_of(step, StepTools(store))
    one, other = (work_on(store, each, (step,), below=f"{DAY}/") for each in ("a", "b"))
    assert not act.is_done(one)
    act.do(one)
    assert act.is_done(one)
    assert not act.is_done(other), "only the group that was asked for"
    assert act.do_many([one, other]) == {one.key, other.key}, "what is done already is done"
    assert act.is_done(other)


def test_only_the_steps_of_the_lane_are_done() -> None:
    store = MemoryStore()
    work = work_on(store, "a", REWRITE)
    assert publish_at_once(StepTools(store), [work]) == keys("a")
    assert names(store) == ["a/new-0", "a/new-1", "a/old-0", "a/old-1"]
    publish_group(StepTools(store), replace(work, lane=DELETE))
    assert names(store) == ["a/new-0", "a/new-1"]


def test_a_group_that_fails_keeps_no_other_from_being_done() -> None:
    store = WatchedStore()
    works = [work_on(store, "a", DELIVER), work_on(store, "b", DELIVER)]
    store.broken = {"a"}
    assert publish_at_once(StepTools(store), works) == keys("b")
    with pytest.raises(StoreUnavailable):
        publish_group(StepTools(store), works[0])


def test_groups_with_different_steps_are_done_in_one_call() -> None:
    store = MemoryStore()
    works = [work_on(store, "a", DELIVER, inputs=0), work_on(store, "b", REMOVE, files=0)]
    assert publish_at_once(StepTools(store), works) == keys("a") | keys("b", lane=DELETE)
    assert names(store) == ["a/new-0", "a/new-1"]


def test_a_group_without_files_or_inputs_is_done() -> None:
    work = GroupWork(SEALED, Group("a", 0, 0, 0, REWRITE))
    assert publish_at_once(StepTools(MemoryStore()), [work]) == keys("a")
    assert publish_at_once(StepTools(MemoryStore()), []) == set()


@pytest.mark.parametrize("act", ["publish", "delete"])
@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
def test_a_lost_answer_is_looked_up(act: str, what: What) -> None:
    inner = MemoryStore()
    work = work_on(inner, "a", DELIVER if act == "publish" else REMOVE)
    store = FaultStore(inner, [Fault(act, what), Fault(act, what, nth=2)])
    publish_group(StepTools(store), work)
    assert store.unmet() == []
    assert ("a/new-1" in names(inner)) == (act == "publish")
    assert ("a/old-1" in names(inner)) == (act == "publish")


@pytest.mark.parametrize("act", ["publish", "delete"])
def test_a_group_that_gets_no_answer_is_not_called_done(act: str) -> None:
    inner = MemoryStore()
    work = work_on(inner, "a", DELIVER if act == "publish" else REMOVE)
    store = FaultStore(inner, [Fault(act, What.FAIL_BEFORE, nth=nth) for nth in range(1, 6)])
    assert publish_at_once(StepTools(store), [work]) == set()
    with pytest.raises(OutcomeUnknown):
        publish_group(StepTools(store), work)


def test_a_foreign_file_and_a_lost_one_are_told_apart() -> None:
    store = WatchedStore()
    foreign, lost = work_on(store, "a", DELIVER), work_on(store, "b", DELIVER)
    store.create("a/new-0", b"another")
    store.lose_staged("b")
    assert publish_at_once(StepTools(store), [foreign, lost]) == set()
    with pytest.raises(ForeignFile):
        publish_group(StepTools(store), foreign)
    with pytest.raises(StagedGone):
        publish_group(StepTools(store), lost)


def test_files_of_all_groups_are_published_in_the_given_way_at_once_and_in_order() -> None:
    asked: list[list[str]] = []

    def publish_all(store: Store, handles: Sequence[StagedHandle]) -> set[str]:
        asked.append([handle.final for handle in handles])
        return store.publish_all(handles) | {"a/new-0"}  # not certain of one

    store = MemoryStore()
    works = [work_on(store, "b", DELIVER), work_on(store, "a", DELIVER)]
    assert publish_at_once(StepTools(store, publish_all=publish_all), works) == keys("b")
    assert asked == [["a/new-0", "a/new-1", "b/new-0", "b/new-1"]]
