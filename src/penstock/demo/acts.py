"""The steps of the demo that start processes: the broker, the runs, the kill, the audit.

Each registers what it starts with the given stack, which always ends it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from penstock.config import places
from penstock.demo.child import Child, time_of
from penstock.demo.errors import DemoFailed
from penstock.demo.events import PARTITIONS, Topic
from penstock.demo.lakes import DemoLake
from penstock.demo.page import Period
from penstock.demo.place import FEED, TOPIC, Place
from penstock.demo.screen import Screen
from penstock.demo.watch import Onlooker, Sight
from penstock.spark.ivy import Progress
from penstock.spark.jars import BROKER, CONNECTOR, fetch, jar_paths
from penstock.spark.java import find_java
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, Record

DONE_BEFORE_THE_KILL = 3
DONE_AT_MOST = 6  # of ten; a window is staged too quickly to be seen from afar
ENOUGH_STAGED = 8  # this many staged files count as "in the middle of a window"
_LONG_ENOUGH_S = 0.3  # small windows may never have that many files
_SETTLED_S = 0.3
_SETTLE_S = 10.0
_SILENCE_S = 600.0  # a child without output for this time is stuck
_TOLD_EVERY = 2_000
AUDIT = ("audit", "--deep")


@dataclass(frozen=True, slots=True)
class Scene:
    """What the steps of the demo share."""

    place: Place
    lake: DemoLake
    screen: Screen
    stack: ExitStack
    records: int
    begun_s: float  # wall clock, as in the children's output


@dataclass(frozen=True, slots=True)
class Run:
    """One run as observed: its windows, the times of its events, and the files it cleaned away."""

    started_s: float
    claimed_s: float
    ended_s: float
    periods: tuple[Period, ...]
    records: int
    cleaned: int = 0


def start_broker(scene: Scene) -> EmbeddedKafka:
    """Fetch what is missing, and start Kafka."""
    cache, home = places.jar_cache(), places.java_home()

    def report(progress: Progress) -> None:
        words = f"jars {progress.phase}: {progress.done} of {progress.total}"
        scene.screen.progress(words, progress.done, progress.total)

    java = find_java(home).path
    options = places.java_network_options()
    fetch([BROKER, CONNECTOR], cache, java_home=home, java_options=options, report=report)
    scene.screen.progress("starting a broker")
    kafka = EmbeddedKafka(scene.place.kafka, jar_paths(BROKER, cache), java)
    return scene.stack.enter_context(kafka)


def fill(scene: Scene, client: KafkaClient, topic: Topic) -> None:
    """Create the topic and write every record, each confirmed by the broker."""
    client.create_topic(TOPIC, PARTITIONS)
    for partition in range(PARTITIONS):
        written = topic.records * partition // PARTITIONS
        client.produce(
            TOPIC,
            partition,
            _counted(scene, topic.of_partition(partition), written),
            compression_type="lz4",
            linger_ms=50,
            enable_idempotence="true",  # a retry does not double or reorder records
        )


def run_and_kill(scene: Scene, onlooker: Onlooker) -> tuple[Run, Sight]:
    """`penstock run --once`, killed with some windows done and one in the middle."""
    watched = _Watched(scene, "run-1", 0)
    seen_at: dict[str, float] = {}
    for _ in watched.turns(onlooker.pause_s):
        sight = onlooker.look()
        if len(sight.done) >= DONE_AT_MOST:
            break
        if len(sight.done) >= DONE_BEFORE_THE_KILL and sight.in_flight:
            first_seen = seen_at.setdefault(sight.in_flight, time.monotonic())
            is_old = time.monotonic() - first_seen > _LONG_ENOUGH_S
            if is_old or sight.staged_files >= ENOUGH_STAGED:
                break
        watched.show(sight)
    else:
        raise DemoFailed("The run was over before it could be killed.", watched.child.log)
    watched.child.kill()
    ended_s = time.time() - scene.begun_s
    window = sight.in_flight
    sight = _final_sight(
        onlooker
    )  # it may have gone further than was seen; the lake is what counts
    when = f"in the middle of window {window}" if window else f"after {len(sight.done)} windows"
    scene.screen.alarm(f"kill -9 {watched.child.pid} and its whole group, {when}")
    cut = Period(window or "killed", watched.last_s, ended_s, "killed")
    return watched.run(ended_s, [cut]), sight


def _final_sight(onlooker: Onlooker) -> Sight:
    """The lake after all workers have ended: they notice that their JVM is dead."""
    deadline = time.monotonic() + _SETTLE_S
    before, since = onlooker.look(), time.monotonic()
    while time.monotonic() - since < _SETTLED_S and time.monotonic() < deadline:
        time.sleep(onlooker.pause_s)
        sight = onlooker.look()
        if sight != before:
            before, since = sight, time.monotonic()
    return onlooker.look_closely()


def run_to_the_end(scene: Scene, onlooker: Onlooker, before: Run) -> Run:
    """`penstock run --once` again: takes over, and delivers the rest."""
    watched = _Watched(scene, "run-2", before.records)
    for _ in watched.turns(onlooker.pause_s):
        watched.show(onlooker.look())
    if watched.child.exit_code != 0:
        code = watched.child.exit_code
        raise DemoFailed(f"The second run ended with exit code {code}.", watched.child.log)
    return watched.run(watched.last_s, [])


def audit(scene: Scene) -> tuple[int, dict[str, Any]]:
    """The audit's exit code and receipt."""
    child = Child(scene.place, (*AUDIT, "--output", "json"), "audit")
    scene.stack.callback(child.stop)
    deadline = time.monotonic() + _SILENCE_S
    while child.exit_code is None:
        scene.screen.progress(f"penstock {' '.join(AUDIT)}")
        if time.monotonic() > deadline:
            raise DemoFailed(f"The audit took more than {_SILENCE_S:.0f} s.", child.log)
        time.sleep(0.05)
    receipts = [told for told in child.news() if "verdict" in told]
    if child.exit_code not in (0, 4) or not receipts:
        raise DemoFailed(f"The audit ended with exit code {child.exit_code}.", child.log)
    return child.exit_code, receipts[0]


class _Watched:
    """A run that is observed: its windows are recorded and printed."""

    def __init__(self, scene: Scene, name: str, delivered: int) -> None:
        self._scene = scene
        self._started_s = self._now_s()
        self._claimed_s = 0.0
        self._periods: list[Period] = []
        self._delivered = delivered
        self._cleaned = 0
        self.last_s = self._started_s
        self.child = Child(scene.place, ("run", "--once"), name)
        scene.stack.callback(self.child.stop)

    def turns(self, pause_s: float) -> Iterator[None]:
        """Yield repeatedly while the child runs, and once more after its end."""
        heard_at = time.monotonic()
        is_over = False
        while not is_over:
            is_over = self.child.exit_code is not None
            for event in self.child.news():
                heard_at = time.monotonic()
                self._note(event)
            if time.monotonic() - heard_at > _SILENCE_S:
                raise DemoFailed(f"The run was silent for {_SILENCE_S:.0f} s.", self.child.log)
            if not is_over:
                yield
                time.sleep(pause_s)

    def show(self, sight: Sight) -> None:
        """Update the progress line."""
        if not self._claimed_s:
            words = "starting Spark"
        elif sight.in_flight:
            words = f"window {sight.in_flight}: {sight.staged_files} files staged"
        else:
            words = f"{self._delivered:,} of {self._scene.records:,} records"
        self._scene.screen.progress(words, self._delivered, self._scene.records)

    def run(self, ended_s: float, more: Sequence[Period]) -> Run:
        """The recorded run."""
        begun = Period("start", self._started_s, self._claimed_s, "starting")
        periods = (begun, *self._periods, *more)
        return Run(
            self._started_s, self._claimed_s, ended_s, periods, self._delivered, self._cleaned
        )

    def _note(self, event: dict[str, Any]) -> None:
        if event["event"] == "compiling":
            self._scene.screen.tell(str(event["message"]))
        if event.get("feed") != FEED:
            return
        at_s = time_of(event) - self._scene.begun_s
        if event["event"] == "claimed":
            self._claimed_s = self.last_s = at_s
            after = f"{at_s - self._started_s:.1f} s after its start"
            self._scene.screen.say(f"epoch {event['epoch']}: claimed the feed, {after}")
        elif event["event"] == "window":
            self._delivered += event["records"]
            self.last_s = at_s
            window = str(event["window"])
            period = Period(window, at_s - event["seconds"], at_s, "delivered", event["records"])
            self._periods.append(period)
            self._scene.screen.say(
                f"window {window:5} {event['records']:>9,} records {event['seconds']:6.1f} s"
                f"   {self._delivered:>9,} delivered"
            )
        elif event["event"] == "cleaned":
            self._cleaned += event["files"]
        elif event["level"] != "info":
            self._scene.screen.alarm(str(event["message"]))

    def _now_s(self) -> float:
        return time.time() - self._scene.begun_s


def _counted(scene: Scene, records: Iterator[Record], before: int) -> Iterator[Record]:
    for number, record in enumerate(records):
        if number % _TOLD_EVERY == 0:
            done = before + number
            scene.screen.progress(f"{done:,} of {scene.records:,} events", done, scene.records)
        yield record
