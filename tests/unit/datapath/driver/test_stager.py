"""Staging a window: when it is read again, what is discarded meanwhile, and what is held."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from penstock.api.source import ANY_SIZE, ReadFailed
from penstock.datapath.driver.stager import HOLD_S, LONGEST_HOLD_S, Stager
from penstock.datapath.schemas.learning import ROUNDS, Learning
from penstock.datapath.stage.shred_plan import Samples, ShredPlan, TaskReport
from penstock.datapath.stage.task import RecordTooLarge
from penstock.model.evidence import RangeEvidence
from penstock.model.layout import Layout
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, RouteSpec
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.window import StageOrder
from penstock.ports.registry.errors import (
    RegistryDown,
    RegistryRefused,
    RegistryTrouble,
    RegistryWrong,
)
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.memory_store import MemoryStore

STAGING = "_penstock/f/staging"
COVERED = OffsetRange("t", "id", 0, 0, 9)
FEED = FeedSpec(name="f", topics=("t",), route=RouteSpec("field", "type"))


def an_order(*, decided: bool = False) -> StageOrder:
    return StageOrder("f", "1-1", STAGING, (COVERED,), decided=decided)


def staged(store: LocalStore) -> StagedHandle:
    """A file of the window."""
    writer = store.open_staged("f/b/file.parquet", StagingSpot(STAGING, "1-1", "attempt"))
    writer.write(b"rows")
    return writer.finish()


@pytest.mark.parametrize("is_decided", [True, False])
def test_only_what_no_entry_names_is_discarded(tmp_path: Path, is_decided: bool) -> None:
    """Goal: a read that has to begin again. Method: a record is too large, then Kafka is gone."""
    store = LocalStore(str(tmp_path / "lake"))
    handle = staged(store)

    def run(plan: ShredPlan) -> list[TaskReport]:
        if plan.order.largest_bytes < ANY_SIZE:
            raise RecordTooLarge
        raise ReadFailed(plan.order.window, "Kafka is gone")

    stager = Stager(FEED, store, Learning(store, Layout("f"), FEED, None), run, lambda: 0.0)
    with pytest.raises(ReadFailed, match="gone"):
        stager.stage(an_order(decided=is_decided))
    assert store.look(handle).staged is is_decided


class Teaching:
    """Tasks that meet a new type in each of their first reads."""

    def __init__(self, *types: str) -> None:
        self.plans: list[ShredPlan] = []
        self._types = list(types)

    def __call__(self, plan: ShredPlan) -> list[TaskReport]:
        self.plans.append(plan)
        kind = self._types.pop(0) if self._types else None
        samples = () if kind is None else (Samples(kind, True, (b'{"type": "x", "n": 1}',)),)
        return [TaskReport(RangeEvidence.empty(COVERED), samples=samples)]


def a_stager(tasks: Teaching, max_new: int = 1000) -> Stager:
    store = MemoryStore()
    learning = Learning(store, Layout("f"), FEED, None)
    return Stager(FEED, store, learning, tasks, lambda: 0.0, max_new)


def test_a_window_is_read_again_with_what_it_taught_until_nothing_is_new() -> None:
    tasks = Teaching("click", "order")
    stager = a_stager(tasks)
    assert stager.stage(an_order()).files == ()
    assert [sorted(plan.schemas) for plan in tasks.plans] == [[], ["click"], ["click", "order"]]
    stager.stage(an_order())
    assert len(tasks.plans) == 4  # the next window knows them


def test_what_one_read_taught_leaves_less_room_for_the_next() -> None:
    tasks = Teaching("click", "order", "flood")
    a_stager(tasks, max_new=2).stage(an_order())
    assert [plan.max_new for plan in tasks.plans] == [2, 1, 0, 0]
    assert sorted(tasks.plans[-1].schemas) == ["click", "order"]


def test_new_types_in_every_read_end_it() -> None:
    tasks = Teaching(*(f"type-{number}" for number in range(ROUNDS)))
    with pytest.raises(ReadFailed, match="in a row"):
        a_stager(tasks).stage(an_order())
    assert len(tasks.plans) == ROUNDS


def naming(*keys: str) -> list[TaskReport]:
    """A report per partition, whose records name a schema each."""
    return [
        TaskReport(RangeEvidence.empty(OffsetRange("t", "id", partition, 0, 9)), named=(key,))
        for partition, key in enumerate(keys)
    ]


class Troubled:
    """A stager whose registry is in trouble, and a clock beside it; of schemas `1` is known."""

    def __init__(self, trouble: RegistryTrouble, reports: Sequence[TaskReport]) -> None:
        self.tick = 100.0
        learning = MagicMock(keys={})
        learning.learn.side_effect = trouble
        learning.named.known = {"1": None}
        learning.schemas.known, learning.schemas.file_schemas.known = {}, {}
        learning.named.ready.return_value = {}
        self.stager = Stager(
            FEED, MemoryStore(), learning, lambda _plan: list(reports), lambda: self.tick
        )

    def stage(self) -> None:
        with pytest.raises(RegistryTrouble):
            self.stager.stage(an_order())


@pytest.mark.parametrize(
    "trouble",
    [RegistryDown("http://r", "503"), RegistryRefused("http://r", 401), RegistryWrong("r", "odd")],
    ids=["down", "refused", "wrong"],
)
def test_partitions_with_schemas_that_nobody_knows_are_held_whatever_the_registry_says(
    trouble: RegistryTrouble,
) -> None:
    troubled = Troubled(trouble, naming("1", "2"))
    troubled.stage()
    assert troubled.stager.held_now() == {("t", 1): str(trouble)}


def test_a_partition_is_held_longer_each_time_within_a_bound() -> None:
    troubled = Troubled(RegistryDown("http://r", "503"), naming("2"))
    for pause_s in (HOLD_S, 2 * HOLD_S, 4 * HOLD_S, 8 * HOLD_S, LONGEST_HOLD_S, LONGEST_HOLD_S):
        troubled.stage()
        troubled.tick += pause_s - 0.1
        assert ("t", 0) in troubled.stager.held_now()
        troubled.tick += 0.1
        assert troubled.stager.held_now() == {}


def test_whoever_watches_is_told_why_a_window_is_read_again() -> None:
    told: list[str] = []
    tasks = Teaching("click", "order")
    stager = a_stager(tasks)

    def watched(plan: ShredPlan) -> list[TaskReport]:
        told.append(stager.again)
        return tasks(plan)

    stager._run_tasks = watched
    stager.stage(an_order())
    assert told == ["", "reading again, new types: 1", "reading again, new types: 2"]
    assert stager.again == ""
