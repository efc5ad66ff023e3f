"""Every protective rule, switched off, is noticed by the simulator."""

import pytest

from tests.simulator.mutations import MUTATIONS, Mutation, catch, fails_with_every_rule

DEMANDED = {
    "chain check",
    "nonce read-back",
    "epoch check on append",
    "no-clobber publish",
    "never delete journal keys",
    "identity in is_done",
    "staged source proven consumed",
    "durable start",
    "inputs must be live",
    "cleaner spares the newest epoch",
    "tail-cut detection",
    "a step is done before it counts as done",
    "each step has its own act",
    "a newer format is not read as a known one",
    "an older checkpoint is not filled with defaults",
    "steps run in the order that was decided",
    "consumption proves done",
    "consumption proves no deletion",
    "the groups consumed are those of the inputs",
    "deletions wait for the files",
    "parts are marked in journal order",
    "one group is derived again",
    "parked parts wait for an unpark",
    "trouble of the store parks nothing",
    "checkpoints carry what is owed",
    "a day is complete only when all of it is visible",
    "windows and replays know what is final",
    "what is declared complete is as of the entry before",
    "the mark of late rows comes before their files",
}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.rule)
def test_the_simulator_notices_a_protocol_without(mutation: Mutation) -> None:
    caught = catch(mutation, random_schedules=500)
    print(f"{caught.rule}: {caught.by}: {caught.why}")
    assert caught.by, f"nothing noticed that this rule was off: {mutation.rule}"


def test_nothing_fails_while_every_rule_is_in_force() -> None:
    assert fails_with_every_rule() == ""


def test_every_demanded_rule_has_a_mutation() -> None:
    assert {mutation.rule for mutation in MUTATIONS} >= DEMANDED
