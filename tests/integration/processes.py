"""Processes as the tests see them: waiting, stopped, killed, and the workers that Spark forks."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, TimeSpec, WindowSpec

REPOSITORY = Path(__file__).parents[2]
CONFIG = """
version: 1
lake: {lake}
kafka: {{bootstrap.servers: "{bootstrap}"}}
spark:
  spark.master: "{master}"
  spark.driver.extraJavaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
{spark}feeds:
  events:
    topics: [{topic}]
    route: {{by: "field:type"}}
    time: {{field: event_time, unit: ms}}
    window: {{max_records: {max_records}}}
    quarantine: {{min_records: 1_000_000}}
{feed}"""


class Instance:
    """A `penstock run` of its own, with what it says."""

    def __init__(self, directory: Path, name: str) -> None:
        self.log = directory / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", "run"],
                cwd=directory,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def events(self) -> list[str]:
        """The names of what happened so far."""
        lines = self.log.read_text(errors="replace").splitlines()
        return [json.loads(line)["event"] for line in lines if line.startswith('{"at"')]

    def wait_for(self, event: str) -> None:
        wait_for(lambda: event in self.events(), f"{event} in {self.log.read_text()[-2000:]}")

    def signal(self, number: int) -> None:
        """To the whole group: Python, JVM and workers."""
        os.killpg(self.process.pid, number)

    def end(self) -> int:
        return self.process.wait(120)


@dataclass(frozen=True)
class Job:
    """A feed in a directory of its own: `penstock.yaml`, and the lake beside it."""

    directory: Path
    bootstrap: str
    topic: str
    max_records: int = 400
    spark: str = ""
    feed: str = ""
    master: str = "local[2]"
    at: Path | None = None  # the lake of another job

    @property
    def lake(self) -> Path:
        """Where it delivers to."""
        return self.at or self.directory / "lake"

    def write(self) -> Path:
        """Write the configuration as it is now; returns its path."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / "penstock.yaml"
        words = {"topic": self.topic, "max_records": self.max_records}
        extra = {"spark": self.spark, "feed": self.feed, "master": self.master}
        path.write_text(CONFIG.format(lake=self.lake, bootstrap=self.bootstrap, **words, **extra))
        return path


def a_feed(topic: str, max_records: int = 400) -> FeedSpec:
    """The same feed for a run in this process."""
    return FeedSpec(
        name="events",
        topics=(topic,),
        route=RouteSpec("field", "type"),
        time=TimeSpec(field="event_time", unit="ms"),
        window=WindowSpec(max_records=max_records),
        quarantine=QuarantineSpec(min_records=1_000_000),
    )


class Child:
    """A penstock process with a point, and what it noted: see `tests.integration.crashing`."""

    def __init__(
        self,
        job: Job,
        point: str,
        *options: str,
        words: tuple[str, ...] = ("run", "--once"),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        config = job.write()
        self.log = job.directory / "child.log"
        self._notes = job.directory / f"notes-{time.monotonic_ns()}"
        tail = [str(job.lake)] if words == ("clean",) else ["--config", str(config)]
        command = [sys.executable, "-m", "tests.integration.crashing", "--note", str(self._notes)]
        self.started_at = time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *options, point, *words, *tail],
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONPATH": search_path(), **(environment or {})},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def end(self, within_s: float = 300.0) -> int:
        """Wait for its end; whatever is left of its group is killed then."""
        try:
            return self.process.wait(within_s)
        finally:
            self.kill()

    def kill(self) -> None:
        """kill -9 of the group."""
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
        self.process.wait(90)

    def signal(self, number: int) -> None:
        """To the whole group: Python and JVM."""
        os.killpg(self.process.pid, number)

    def wait_until_stopped(self) -> None:
        """Until it has stopped itself at its point."""
        wait_for(
            lambda: is_stopped(self.process.pid) or self.process.poll() is not None, "a pause", 300
        )
        assert self.process.poll() is None, f"it ended at no point: {self.said()}"

    def said(self) -> str:
        """The end of what it printed."""
        return self.log.read_text(errors="replace")[-2000:]

    def notes(self) -> dict[str, float]:
        """When what happened for the first time, in seconds since it was started."""
        if not self._notes.exists():
            return {}
        lines = map(json.loads, self._notes.read_text().splitlines())
        return {line["what"]: line["at"] - self.started_at for line in lines}


@contextmanager
def child(job: Job, point: str, *options: str, **how: object) -> Iterator[Child]:
    """A process that does not outlive the block."""
    running = Child(job, point, *options, **how)  # type: ignore[arg-type]
    try:
        yield running
    finally:
        running.kill()


def killed_at(job: Job, point: str, nth: int = 0) -> Child:
    """Run until the point, and insist that it died there."""
    words = ("clean",) if point.startswith("C16") else ("run", "--once")
    dead = Child(job, point, "--nth", str(nth), words=words)
    code = dead.end()
    assert code == -signal.SIGKILL, f"{point}: ended with {code}: {dead.said()}"
    return dead


def search_path() -> str:
    """So that Spark's workers find our modules, too."""
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([str(REPOSITORY), *([given] if given else [])])


def wait_for(what: Callable[[], bool], why: str, within_s: float = 120.0) -> None:
    """Until something is so."""
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, f"waited {within_s:.0f} s for {why}"
        time.sleep(0.1)


def is_stopped(pid: int) -> bool:
    """True for a process that got SIGSTOP."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except FileNotFoundError:
        return False


def workers_of(pid: int) -> list[int]:
    """The processes that Spark's daemon has forked to run our function."""
    parents = _parents()
    daemons = {p for p, (_, command) in parents.items() if "pyspark.worker" in command}
    return [p for p in daemons if parents[p][0] in daemons and _is_below(parents, p, pid)]


def below(pid: int, word: str) -> list[int]:
    """The processes below one whose command has this word."""
    parents = _parents()
    return [p for p, (_, text) in parents.items() if word in text and _is_below(parents, p, pid)]


def _is_below(parents: Mapping[int, tuple[int, str]], child: int, pid: int) -> bool:
    while child in parents and child != pid:
        child = parents[child][0]
    return child == pid


def _parents() -> dict[int, tuple[int, str]]:
    """Parent and command of every process."""
    found: dict[int, tuple[int, str]] = {}
    for entry in Path("/proc").iterdir():
        if re.fullmatch(r"\d+", entry.name):
            try:
                stat = (entry / "stat").read_text()
                command = (entry / "cmdline").read_text()
            except OSError:
                continue
            found[int(entry.name)] = (int(stat.rpartition(")")[2].split()[1]), command)
    return found
