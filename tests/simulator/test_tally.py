"""The second book: the same journal, with other kinds, rules, fold and state."""

import pytest

from penstock.errors import EntryRefused, Fenced
from penstock.testing.memory_store import Act
from tests.simulator.chooser import RandomChooser
from tests.simulator.mutations import Mutation
from tests.simulator.tally_mutations import TALLY_MUTATIONS, catch_tally
from tests.simulator.tally_world import (
    JOURNAL,
    TallyWorld,
    clerk,
    corrector,
    first_violation,
    run_tally,
    story_of,
)


def at_add(act: Act) -> bool:
    """Just before an amount is added."""
    return act.name == "create" and act.key.startswith(JOURNAL) and b'"kind":"add"' in act.data


def at_take_back(act: Act) -> bool:
    """Just before an amount is taken back."""
    return act.name == "create" and b'"kind":"take_back"' in act.data


def error_of(world: TallyWorld, name: str) -> Exception | None:
    """How a process ended."""
    world.run(name)
    ended = world.processes[name].ended
    return None if ended is None else ended.error


def test_random_schedules_of_the_tally_break_nothing() -> None:
    assert first_violation(300) == ""


def test_the_random_schedules_reach_fences_refusals_lost_replies_and_checkpoints() -> None:
    """Goal: the schedules are not idle. Method: look for each in what was recorded."""
    seen = "\n".join(line for seed in range(40) for line in run_tally(RandomChooser(seed)).record)
    wanted = ("ends: FENCED", "ends: ENTRY_REFUSED", "[reply lost]", "[lands late]", "is killed")
    missing = [
        word for word in (*wanted, "create _penstock/tally/checkpoints/") if word not in seen
    ]
    assert missing == []


def test_an_old_clerk_adds_nothing_after_a_newer_claim() -> None:
    world = TallyWorld()
    world.spawn("old", clerk(world.told))
    world.run_until("old", at_add)
    world.spawn("new", clerk(world.told))
    world.run("new")
    assert isinstance(error_of(world, "old"), Fenced)
    assert not any(token.startswith("old.") for token in story_of(world.shelf).added)
    world.settle()


def test_an_amount_whose_reply_is_lost_is_added_once() -> None:
    world = TallyWorld()
    world.spawn("clerk", clerk(world.told))
    world.run_until("clerk", at_add)
    world.lose_reply("clerk")
    assert error_of(world, "clerk") is None
    assert "clerk.0" in world.told.landed
    world.settle()


def test_the_rule_of_the_book_refuses_and_the_clerk_goes_on() -> None:
    world = TallyWorld()
    world.spawn("clerk", clerk(world.told))
    assert world.run("clerk") == "total 7"
    assert world.told.not_landed == {"clerk.2"}
    world.settle()


def test_two_correctors_take_back_an_amount_once() -> None:
    world = TallyWorld()
    world.spawn("clerk", clerk(world.told))
    world.run("clerk")
    world.spawn("one", corrector())
    world.run_until("one", at_take_back)
    world.spawn("two", corrector())
    assert world.run("two") == "decided"
    refused = error_of(world, "one")
    assert isinstance(refused, EntryRefused)
    assert "does not count 1 any more" in refused.why
    world.settle()


@pytest.mark.parametrize("mutation", TALLY_MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_tally_notices_a_journal_without(mutation: Mutation) -> None:
    caught = catch_tally(mutation)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"
