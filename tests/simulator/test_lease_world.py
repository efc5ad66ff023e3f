"""Several instances, one lease in both its forms, with pauses, late threads and faults."""

import pytest

from penstock.testing.memory_store import MemoryStore
from tests.simulator.chooser import RandomChooser
from tests.simulator.lease_mutations import LEASE_MUTATIONS, catch_lease
from tests.simulator.lease_runs import DIRECTED, FORMS, Run, first_lease_violation, run_randomly
from tests.simulator.mutations import Mutation


@pytest.mark.parametrize("form", FORMS, ids=["numbered", "replaced"])
@pytest.mark.parametrize("run", DIRECTED, ids=lambda run: run.__name__)
def test_a_holder_that_lives_keeps_the_feed(run: Run, form: type[MemoryStore]) -> None:
    run(form)


def test_random_schedules_of_the_lease_break_nothing() -> None:
    assert first_lease_violation(60) == ""


def test_the_random_schedules_reach_pauses_fences_and_leases_that_are_lost() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded."""
    worlds = [run_randomly(RandomChooser(seed), FORMS[seed % 2]) for seed in range(40)]
    seen = "\n".join(line for world in worlds for line in world.record)
    wanted = ("[reply lost]", "[lands late]", "is killed", ".heart is paused", "[fails]")
    assert [word for word in wanted if word not in seen] == []
    assert max(world.oracle.story(world.shelf).epoch for world in worlds) > 3


@pytest.mark.parametrize("mutation", LEASE_MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_world_notices_a_lease_without(mutation: Mutation) -> None:
    caught = catch_lease(mutation, seeds=100)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"
