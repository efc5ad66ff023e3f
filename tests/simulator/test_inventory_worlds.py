"""Inventory checkpoints under schedules: random, directed, and every one of small worlds."""

from contextlib import nullcontext

import pytest

from tests.simulator.chooser import RandomChooser
from tests.simulator.exhaustive import SmallWorld
from tests.simulator.inventory_schedules import (
    INVENTORY_MUTATIONS,
    INVENTORY_SCHEDULES,
    Schedule,
    catch_inventory,
)
from tests.simulator.inventory_worlds import (
    ROOTS,
    InventoryRun,
    explore_inventory,
    first_inventory_violation,
    small_inventory_worlds,
)
from tests.simulator.mutations import Mutation


@pytest.mark.parametrize("schedule", INVENTORY_SCHEDULES, ids=lambda each: each.__name__)
def test_directed(schedule: Schedule) -> None:
    schedule()


def test_random_schedules_of_inventory_checkpoints_break_nothing() -> None:
    assert first_inventory_violation(300) == ""


def test_the_random_schedules_reach_roots_losses_decisions_and_crashes() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded."""
    record = []
    for seed in range(40):
        run = InventoryRun(RandomChooser(seed))
        run.run()
        record += run.world.record
    seen = "\n".join(record)
    wanted = (f"create {ROOTS}", f"delete {ROOTS}", "somebody: loses", "is killed", "ends: decided")
    assert [word for word in wanted if word not in seen] == []


@pytest.mark.parametrize("world", small_inventory_worlds(), ids=lambda world: world.title)
def test_no_schedule_breaks_an_invariant(world: SmallWorld) -> None:
    found = explore_inventory(world)
    print(f"{world.title}: {found.states:,} states, {len(found.shelves):,} lakes")
    assert found.ends > 0
    assert found.states > 1_000


@pytest.mark.parametrize("mutation", INVENTORY_MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_simulator_notices_checkpoints_without(mutation: Mutation) -> None:
    caught = catch_inventory(mutation)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"


def test_nothing_fails_while_every_rule_of_checkpoints_is_in_force() -> None:
    assert catch_inventory(Mutation("none", nullcontext), seeds=50).by == ""
