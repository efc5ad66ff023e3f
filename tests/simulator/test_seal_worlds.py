"""Sealed segments under schedules: random, directed, and every one of a small world."""

from contextlib import nullcontext

import pytest

from tests.simulator.chooser import RandomChooser
from tests.simulator.exhaustive import SmallWorld
from tests.simulator.mutations import Mutation
from tests.simulator.oracle import JOURNAL, SEGMENTS
from tests.simulator.seal_schedules import (
    SEAL_MUTATIONS,
    SEAL_SCHEDULES,
    Schedule,
    catch_seal,
)
from tests.simulator.seal_worlds import (
    SealRun,
    explore_seals,
    first_seal_violation,
    small_seal_worlds,
)


@pytest.mark.parametrize("schedule", SEAL_SCHEDULES, ids=lambda each: each.__name__)
def test_directed(schedule: Schedule) -> None:
    schedule()


def test_random_schedules_of_seals_break_nothing() -> None:
    assert first_seal_violation(100) == ""


def test_the_random_schedules_reach_seals_deletions_crashes_and_sleepers() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded."""
    record, strays = [], 0
    for seed in range(40):
        run = SealRun(RandomChooser(seed))
        run.run()
        record += run.world.record
        strays += run.world.seal_oracle.strays
    seen = "\n".join(record)
    wanted = (f"create {SEGMENTS}", f"delete {JOURNAL}", "is killed", "ends: FENCED", "lands late")
    assert [word for word in wanted if word not in seen] == []


@pytest.mark.parametrize("world", small_seal_worlds(), ids=lambda world: world.title)
def test_no_schedule_breaks_an_invariant(world: SmallWorld) -> None:
    found = explore_seals(world)
    print(f"{world.title}: {found.states:,} states, {len(found.shelves):,} lakes")
    assert found.ends > 0
    assert found.states > 1_000


@pytest.mark.parametrize("mutation", SEAL_MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_simulator_notices_seals_without(mutation: Mutation) -> None:
    caught = catch_seal(mutation)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"


def test_nothing_fails_while_every_rule_of_seals_is_in_force() -> None:
    assert catch_seal(Mutation("none", nullcontext), seeds=5).by == ""
