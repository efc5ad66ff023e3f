"""The protocol as a Hypothesis state machine: long, odd schedules that shrink to short ones."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.simulator.kafka import BAD, FILTERED, MARKER, SimKafka
from tests.simulator.programs import (
    Program,
    cleaner,
    compactor,
    owner,
    replayer,
    retirer,
    seeker,
)
from tests.simulator.world import World

FATES = [["a", "b", BAD, "a", FILTERED, "b"], ["a", MARKER, "a", "b"], []]
COMMANDS: dict[str, Program] = {
    "clean": cleaner(),
    "compact": compactor("a"),
    "replay": replayer("b"),
    "retire": retirer("b"),
    "seek": seeker(1, 2),
}


class ProtocolMachine(RuleBasedStateMachine):
    """Rules are what can happen; the world's oracle judges after every one of them."""

    def __init__(self) -> None:
        super().__init__()
        fates = {partition: list(each) for partition, each in enumerate(FATES)}
        self.world = World(SimKafka(fates, {0: 2, 1: 1, 2: 0}))
        self.count = 0

    def waiting(self) -> list[str]:
        """Processes that wait for an answer."""
        return [name for name, process in self.world.processes.items() if process.is_alive]

    @rule()
    def start_owner(self) -> None:
        """An owner starts, beside whoever runs."""
        if len(self.waiting()) < 4:
            self.count += 1
            self.world.spawn(f"owner{self.count}", owner(checkpoint_every=3))

    @rule(kind=st.sampled_from(sorted(COMMANDS)))
    def start_command(self, kind: str) -> None:
        """A command starts, beside whoever runs."""
        if len(self.waiting()) < 4:
            self.count += 1
            self.world.spawn(f"{kind}{self.count}", COMMANDS[kind])

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0, 3), steps=st.integers(1, 25))
    def run_some(self, which: int, steps: int) -> None:
        """One process makes some steps."""
        name = self.waiting()[which % len(self.waiting())]
        for _ in range(steps):
            if self.world.processes[name].is_alive:
                self.world.go(name)

    @precondition(lambda self: self.waiting())
    @rule(which=st.integers(0, 3), fault=st.sampled_from(["fail", "lose_reply", "delay", "crash"]))
    def disturb(self, which: int, fault: str) -> None:
        """One request fails, loses its reply, is delayed; or the process is killed."""
        name = self.waiting()[which % len(self.waiting())]
        pending = self.world.processes[name].pending
        if fault == "delay" and pending is not None and pending.is_read:
            fault = "fail"
        getattr(self.world, fault)(name)

    @precondition(lambda self: self.world.in_flight)
    @rule(which=st.integers(0, 9))
    def land(self, which: int) -> None:
        """A delayed request lands."""
        self.world.deliver(which % len(self.world.in_flight))

    @rule(partition=st.integers(0, 1))
    def produce(self, partition: int) -> None:
        """A record more is there to read."""
        kafka = self.world.kafka
        end = kafka.latest[partition]
        kafka.latest[partition] = min(end + 1, len(kafka.partitions[partition]))

    @invariant()
    def holds(self) -> None:
        """The state invariants; the world has checked every single step already."""
        self.world.oracle.check(self.world.shelf)

    def teardown(self) -> None:
        """Faults are over: everything must come to a good end."""
        self.world.settle()


TestProtocol = ProtocolMachine.TestCase
TestProtocol.settings = settings(max_examples=150, stateful_step_count=60, deadline=None)
