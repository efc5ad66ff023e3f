"""The audit in random worlds: no false alarm at any moment, nor while others are at work.

Owners, compactions, retention, replays and seeks run under faults, crashes and delays. What they
leave behind at any instant is a lawful state of the lake, so an audit has nothing to object to.
"""

import pytest

from penstock.audit.receipt import Difference, Receipt
from penstock.audit.shallow import audit
from penstock.testing.memory_store import MemoryStore
from tests.simulator.chooser import RandomChooser
from tests.simulator.programs import Program, Room, surroundings
from tests.simulator.random_runs import RandomRun, fates_of
from tests.simulator.world import World

AUDITORS = 4


def auditor(objections: list[Difference]) -> Program:
    """`penstock audit` beside whoever runs."""

    def run(room: Room) -> str:
        receipt = audit(room.journal())
        objections.extend(receipt.differences)
        return receipt.verdict

    return run


class AuditedRun(RandomRun):
    """A random world with auditors among its processes."""

    def __init__(self, seed: int) -> None:
        super().__init__(RandomChooser(seed))
        self.objections: list[Difference] = []
        beside = [(f"auditor{n}-", auditor(self.objections)) for n in range(AUDITORS)]
        self.turns.commands = [*beside, *self.turns.commands]


def receipt_now(world: World) -> Receipt:
    """The audit of everything that lies there at this instant."""
    store = MemoryStore()
    store.shelf = world.shelf
    return audit(Room("now", store, surroundings("now"), world.kafka).journal())


@pytest.mark.parametrize("block", range(2))
def test_an_audit_beside_owners_and_commands_raises_no_false_alarm(block: int) -> None:
    for seed in range(block * 100, block * 100 + 100):
        run = AuditedRun(seed)
        run.run()
        assert run.objections == [], f"seed {seed}"
        receipt = receipt_now(run.world)
        assert (receipt.verdict, receipt.pending) == ("ok", ()), f"seed {seed}: {receipt}"


def test_the_lake_passes_its_audit_after_every_single_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    audited = [0]
    go = World.go

    def go_and_audit(world: World, name: str) -> None:
        before = world.shelf.mark
        go(world, name)
        if world.shelf.mark != before:
            audited[0] += 1
            assert receipt_now(world).differences == (), world.record

    monkeypatch.setattr(World, "go", go_and_audit)
    for seed in range(60):
        RandomRun(RandomChooser(seed), fates_of(seed)).run()
    assert audited[0] > 1000
