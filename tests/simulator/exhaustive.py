"""Every schedule of a small world, states visited once, context switches bounded.

A process is a pure function from the answers it got to its next request, so its local state *is*
its list of answers: a node in a tree of answers. A state of the world is the shelf, one node per
process, and what is in flight. A node is entered again by running the real code on the answers
that lead to it, once; after that, exploring costs no protocol code at all.

Three requests commute with everything and are answered at once: reading a journal entry that is
there (entries never change, which is checked), leaving a tail mark (nobody acts on one unless it
lies beyond the tail), and staging a file under a name nobody else knows (only where no cleaner
runs). A crash is tried once after every request that changes something:
killing a process before or after a read is the same, because it takes its knowledge with it.
"""

import time
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.testing.memory_store import Act, Answer, Shelf
from tests.simulator.kafka import SimKafka
from tests.simulator.oracle import JOURNAL, SEGMENTS, TAIL, Oracle
from tests.simulator.process import Process
from tests.simulator.programs import Program
from tests.simulator.scheduler import check_ended
from tests.simulator.story import Violation
from tests.simulator.world import World

ERROR = ("error",)
MAX_LIVE = 4_000


class Node:
    """A process after a list of answers: its next request, or its end."""

    __slots__ = ("children", "last", "live", "name", "parent", "pending")

    def __init__(self, name: str, process: Process, parent: "Node | None", last: object) -> None:
        self.name = name
        self.pending = process.pending
        self.children: dict[object, Node] = {}
        self.parent = parent
        self.last = last
        self.live: Process | None = process


@dataclass(frozen=True)
class Actor:
    """A program that may run several lives: one more after every crash."""

    name: str
    program: Program
    crashes: int = 1


@dataclass(frozen=True)
class SmallWorld:
    """What is explored."""

    title: str
    kafka: SimKafka
    actors: tuple[Actor, ...]
    switches: int
    delays: int = 1
    atomic_publish: bool = False
    stage_at_once: bool = True
    seals: bool = False  # somebody seals entries


class State(msgspec.Struct, frozen=True):
    """One state; `lives` counts crashes, `fresh` says that a crash here is worth trying."""

    shelf: Shelf
    nodes: tuple[Node | None, ...]
    lives: tuple[int, ...]
    fresh: tuple[bool, ...]
    in_flight: tuple[tuple[int, Act], ...]
    delays: int
    current: int

    def key(self) -> int:
        """What makes two states the same, as 64 bits: a collision would hide one state."""
        nodes = tuple(map(id, self.nodes))
        return hash((self.shelf.mark, nodes, self.fresh, self.in_flight, self.delays, self.current))

    def tidy(self) -> "State":
        """Without what cannot matter any more: late requests that came too late, a dead current."""
        shelf = self.shelf
        in_flight = tuple(each for each in self.in_flight if shelf.perform(each[1])[1] is not shelf)
        node = self.nodes[self.current]
        current = self.current if node is not None and node.pending is not None else -1
        if in_flight == self.in_flight and current == self.current:
            return self
        return replace(self, in_flight=in_flight, current=current)


@dataclass
class Found:
    """What an exploration has seen."""

    states: int = 0
    shelves: set[int] = field(default_factory=set)
    ends: int = 0
    crashes: int = 0
    seconds: float = 0.0


class Explorer:
    """Depth first over the states of one small world."""

    def __init__(self, world: SmallWorld, seconds: float | None = None) -> None:
        self._world = world
        self._oracle = Oracle(world.kafka)
        self._roots: dict[str, Node] = {}
        self._live: dict[int, Node] = {}
        self._visited: dict[int, int] = {}
        self._settled: set[tuple[object, ...]] = set()
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self.found = Found()

    def run(self) -> Found:
        """Explore everything; raises `Violation`. Stops early only when out of time."""
        began = time.monotonic()
        stack = [(self._first(), self._world.switches)]
        while stack:
            popped, switches = stack.pop()
            state = popped.tidy()
            key = state.key()
            if self._visited.get(key, -1) >= switches:
                continue
            self.found.states += key not in self._visited
            self._visited[key] = switches
            self._check_time()
            stack += self._next(state, switches)
        self.found.seconds = time.monotonic() - began
        return self.found

    def _first(self) -> State:
        count = len(self._world.actors)
        state = State(
            Shelf.empty(),
            (None,) * count,
            (0,) * count,
            (False,) * count,
            (),
            self._world.delays,
            0,
        )
        for index in range(count):
            state = self._started(state, index)
        return state

    def _next(self, state: State, switches: int) -> list[tuple[State, int]]:
        """Every state one step further, with the switches that are left there."""
        alive = [i for i, node in enumerate(state.nodes) if node is not None and node.pending]
        if not alive:
            self._settle(state)
        following: list[tuple[State, int]] = []
        for index in alive:
            cost = int(index != state.current and state.current in alive)
            if cost <= switches:
                left = switches - cost
                following.append((self._go(state, index), left))
                if state.delays and not self._pending(state, index).is_read:
                    following.append((self._delay(state, index), left))
            if state.fresh[index] and state.lives[index] < self._world.actors[index].crashes:
                following.append((self._crash(state, index), switches))
        for position in range(len(state.in_flight)):
            following.append((self._deliver(state, position), switches))
        return following

    def _go(self, state: State, index: int) -> State:
        act = self._pending(state, index)
        answer, shelf = self._perform(state.shelf, act)
        changed = replace(state, shelf=shelf, current=index)
        return self._answered(changed, index, answer, fresh=shelf is not state.shelf)

    def _delay(self, state: State, index: int) -> State:
        act = self._pending(state, index)
        changed = replace(
            state,
            in_flight=(*state.in_flight, (index, act)),
            delays=state.delays - 1,
            current=index,
        )
        return self._answered(changed, index, ERROR, fresh=True)

    def _deliver(self, state: State, position: int) -> State:
        _, act = state.in_flight[position]
        _, shelf = self._perform(state.shelf, act)
        rest = state.in_flight[:position] + state.in_flight[position + 1 :]
        return replace(state, shelf=shelf, in_flight=rest)

    def _crash(self, state: State, index: int) -> State:
        self.found.crashes += 1
        lives = (*state.lives[:index], state.lives[index] + 1, *state.lives[index + 1 :])
        return self._started(replace(state, lives=lives), index)

    def _started(self, state: State, index: int) -> State:
        actor = self._world.actors[index]
        name = f"{actor.name}.{state.lives[index]}"
        if name not in self._roots:
            self._roots[name] = self._new_node(name, self._process(name, actor), None, None)
        nodes = (*state.nodes[:index], self._roots[name], *state.nodes[index + 1 :])
        fresh = (*state.fresh[:index], False, *state.fresh[index + 1 :])
        return self._at_once(replace(state, nodes=nodes, fresh=fresh), index)

    def _answered(self, state: State, index: int, answer: object, *, fresh: bool) -> State:
        node = state.nodes[index]
        assert node is not None
        child = self._child(node, answer)
        nodes = (*state.nodes[:index], child, *state.nodes[index + 1 :])
        marks = (*state.fresh[:index], fresh, *state.fresh[index + 1 :])
        return self._at_once(replace(state, nodes=nodes, fresh=marks), index)

    def _at_once(self, state: State, index: int) -> State:
        """Answer requests that commute with everything, without making states of them."""
        node = state.nodes[index]
        shelf = state.shelf
        while node is not None and node.pending is not None and self._commutes(shelf, node.pending):
            answer, shelf = self._perform(shelf, node.pending)
            node = self._child(node, answer)
        nodes = (*state.nodes[:index], node, *state.nodes[index + 1 :])
        return replace(state, nodes=nodes, shelf=shelf)

    def _commutes(self, shelf: Shelf, act: Act) -> bool:
        if act.name == "head" and act.key.startswith(SEGMENTS):
            return not self._world.seals  # then nobody ever creates one
        if act.name == "read":
            is_there = act.key.startswith(JOURNAL) and act.key in shelf.objects
            return is_there and not self._world.seals
        if act.name == "create" and act.key.startswith(TAIL):
            return True
        return act.name == "stage" and self._world.stage_at_once

    def _perform(self, shelf: Shelf, act: Act) -> tuple[Answer, Shelf]:
        answer, after = shelf.perform(act)
        self._oracle.check_step(shelf, act, after)
        self.found.shelves.add(after.mark)
        return answer, after

    def _pending(self, state: State, index: int) -> Act:
        node = state.nodes[index]
        assert node is not None
        assert node.pending is not None
        return node.pending

    def _child(self, node: Node, answer: object) -> Node:
        child = node.children.get(answer)
        if child is None:
            process = self._at(node)
            process.resume(self._real(node, answer))
            child = self._new_node(node.name, process, node, answer)
            node.children[answer] = child
        return child

    def _at(self, node: Node) -> Process:
        """The process standing at a node: the one that is there, or one brought there anew."""
        if node.live is not None:
            process, node.live = node.live, None
            self._live.pop(id(node), None)
            return process
        path: list[Node] = []
        walk: Node | None = node
        while walk is not None and walk.parent is not None:
            path.append(walk)
            walk = walk.parent
        actor = next(a for a in self._world.actors if node.name.startswith(f"{a.name}."))
        process = self._process(node.name, actor)
        for step in reversed(path):
            assert step.parent is not None
            process.resume(self._real(step.parent, step.last))
        return process

    def _real(self, node: Node, answer: object) -> Answer | OutcomeUnknown | StoreUnavailable:
        if answer is ERROR:
            assert node.pending is not None
            return OutcomeUnknown(node.pending.name, node.pending.key, "simulated")
        return answer  # type: ignore[return-value]

    def _process(self, name: str, actor: Actor) -> Process:
        return Process(
            name, actor.program, self._world.kafka, atomic_publish=self._world.atomic_publish
        )

    def _new_node(self, name: str, process: Process, parent: Node | None, last: object) -> Node:
        check_ended(process)
        node = Node(name, process, parent, last)
        self._live[id(node)] = node
        if len(self._live) > MAX_LIVE:
            oldest = self._live.pop(next(iter(self._live)))
            if oldest.live is not None:
                oldest.live.kill()
                oldest.live = None
        return node

    def _settle(self, state: State) -> None:
        """Everybody has ended: a fresh owner must bring everything to a good end."""
        key = (state.shelf.mark, state.in_flight)
        if key in self._settled:
            return
        self._settled.add(key)
        self.found.ends += 1
        world = World(self._world.kafka, self._world.atomic_publish, shelf=state.shelf)
        world.oracle = self._oracle
        world.in_flight = [("late", act) for _, act in state.in_flight]
        world.settle()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TimeoutError(f"not finished after {self.found.states} states")


def explore(world: SmallWorld, seconds: float | None = None) -> Found:
    """Explore one small world; a broken invariant is raised with the world's name."""
    try:
        return Explorer(world, seconds).run()
    except Violation as error:
        error.add_note(f"in the world: {world.title}")
        raise
