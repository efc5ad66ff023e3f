"""Journals elsewhere under schedules: random and directed, with faults in each store alone."""

from contextlib import nullcontext

import pytest

from tests.simulator.chooser import RandomChooser
from tests.simulator.mutations import Mutation
from tests.simulator.place_schedules import (
    PLACE_MUTATIONS,
    PLACE_SCHEDULES,
    Schedule,
    catch_place,
)
from tests.simulator.place_worlds import PlaceRun, first_place_violation
from tests.simulator.two_stores import TwoStoreRun, first_two_store_violation


@pytest.mark.parametrize("schedule", PLACE_SCHEDULES, ids=lambda each: each.__name__)
def test_directed(schedule: Schedule) -> None:
    schedule()


def test_random_schedules_with_two_stores_break_nothing() -> None:
    assert first_two_store_violation(100) == ""


def test_random_schedules_of_places_break_nothing() -> None:
    assert first_place_violation(200) == ""


def test_the_random_schedules_reach_both_stores_and_every_way_to_be_refused() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded."""
    record: list[str] = []
    for seed in range(40):
        run = TwoStoreRun(RandomChooser(seed))
        run.run()
        record += [f"two {line}" for line in run.world.record]
        places = PlaceRun(RandomChooser(seed))
        places.run()
        record += [f"place {line}" for line in places.world.record]
    seen = "\n".join(record)
    wanted = (
        "journal/0/00000000000000000003.json  [fails]",
        ".staged -> feed/a/",
        "is killed",
        "lands late",
        "ends: FENCED",
        "ends: STORE_UNAVAILABLE",
        "ends: JOURNAL_ELSEWHERE",
        "create feed/_tail/journal.json = False",
    )
    assert [word for word in wanted if word not in seen] == []


@pytest.mark.parametrize("mutation", PLACE_MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_simulator_notices_places_without(mutation: Mutation) -> None:
    caught = catch_place(mutation)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"


def test_nothing_fails_while_every_rule_of_places_is_in_force() -> None:
    assert catch_place(Mutation("none", nullcontext), seeds=5).by == ""
