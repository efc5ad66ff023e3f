"""Compactions that are killed, stopped, or two at once, beside a run that goes on reading.

The run is a thread here, and reads what somebody produces meanwhile; `penstock compact` is a
process of its own. What it has left is finished by that run, in its epoch, without a restart.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from penstock.api.store import Store
from penstock.care.compact_feed import CompactionTools, compact_directories
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.feed_plan import planned
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.entries import Compact
from penstock.model.names import CompactedName, parse_name
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.runtime.parallel import ParallelMap
from penstock.spark.parallel_map import SparkParallelMap
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import Hold, Rule
from tests.certify import s3_cases as on_s3
from tests.certify import s3_counting
from tests.certify.case import Case, Run
from tests.certify.counting import outcome, recover, settle
from tests.certify.crash_cases import a_job
from tests.certify.data import Data
from tests.certify.lake_on_s3 import BucketJob, lake_child
from tests.certify.oracle import picture, tally_lake
from tests.certify.owner_cases import retire_all, unchanged
from tests.certify.s3_cases import At, await_request
from tests.certify.table import Outcome
from tests.integration.lakes import HASTY, feed_tools, journal_in
from tests.integration.points import COMPACTION
from tests.integration.processes import Child, Job, a_feed, child, wait_for

WORDS = ("compact", "events")
SETTINGS = "    compact: {min_files: 2}\n"
POLICY = CompactionPolicy(min_files=2)
REFUSED = 1  # some directory was left, because another entry took its files
EVERY_S = 0.4  # between records that come while a compaction works
WAIT_S = 300.0  # on a machine that others use too
# Requests of a compaction that goes to an object store. Its run reads beside it, without the proxy.
REQUESTS = {
    "C7-compact": At("UploadPart", on_s3.DATA, 2),
    "C9-compact": At(on_s3.PUT, on_s3.ENTRY),
    "C10-compact": At(on_s3.PUT, on_s3.ENTRY, arrives="late"),
    "C10b-compact": At(on_s3.PUT, on_s3.ENTRY, arrives="before"),
    "C11-compact": At(on_s3.COMPLETE, on_s3.DATA),
    "C11b-compact": At(on_s3.COMPLETE, on_s3.DATA, arrives="late"),
    "C13-compact": At(on_s3.COMPLETE, on_s3.DATA, arrives="before"),
    "C13b-compact": At("DeleteObjects"),
    "C13c-compact": At("DeleteObjects", arrives="late"),
    "C14-compact": At(on_s3.PUT, on_s3.MARKER),
    "C15-compact": At(on_s3.PUT, on_s3.MARKER, arrives="before"),
}


def cases() -> Iterator[Case]:
    """Every point, two at once, and three that wake too late."""
    for number, point in enumerate(COMPACTION):
        yield Case(point, (point,), partial(killed, point), 45.0, number % 2)
    yield Case("Z12-compact", ("Z12-compact",), two_at_once, 60.0)
    for point in ("Z1-compact", "Z3-compact", "Z9-compact"):
        yield Case(point, (point,), partial(woken, point), 45.0)


def s3_cases() -> Iterator[Case]:
    """The same in an object store."""
    for number, (point, at) in enumerate(REQUESTS.items()):
        yield Case(point, (point,), partial(killed_on_s3, at), 60.0, number % 2)
    for point in ("Z1-compact", "Z3-compact"):
        at = REQUESTS["C9-compact" if point.startswith("Z1") else "C11-compact"]
        yield Case(point, (point,), partial(woken_on_s3, at), 60.0)


@dataclass
class LiveRun:
    """A run in this process, and what it told."""

    thread: threading.Thread
    over: threading.Event
    codes: list[int]
    told: list[str]

    def problem(self) -> str:
        """Whether it ended otherwise than somebody who was asked to stop."""
        self.over.set()
        self.thread.join(WAIT_S)
        bad = [each for each in self.told if "failed" in each or "halted" in each]
        if self.codes == [0] and not bad:
            return ""
        return f"the run beside it ended with {self.codes}: {bad[:2] or self.told[-2:]}"


@contextmanager
def ingesting(run: Run, store: Store, job: Job | BucketJob, data: Data) -> Iterator[LiveRun]:
    """`penstock run` in this process while somebody produces; both end with the block."""
    told: list[str] = []
    codes: list[int] = []
    over = threading.Event()
    servers = {"bootstrap.servers": run.parts.kafka.bootstrap}
    tools = feed_tools(run.parts.spark, servers, store, HASTY)
    feed = a_feed(job.topic, max(10, job.max_records // 4))
    runner = Runner(
        (feed,), tools, lambda event: told.append(event.sentence), over.is_set, RunSpec()
    )
    reading = threading.Thread(target=lambda: codes.append(runner.run()))
    live = LiveRun(reading, over, codes, told)

    def produce() -> None:
        while not over.wait(EVERY_S):
            data.produce_more(run.parts.client, run.chance, 3)

    producing = threading.Thread(target=produce)
    reading.start()
    producing.start()
    try:
        wait_for(lambda: "owned" in stages(runner), "a claim", WAIT_S)
        yield live
    finally:
        over.set()
        producing.join(WAIT_S)
        reading.join(WAIT_S)


def stages(runner: Runner) -> list[str]:
    """How far each feed of a run is."""
    return [each.stage for each in runner.turns]


def compact_here(run: Run, store: Store, topic: str) -> list[int | None]:
    """`penstock compact` in this process: the entries, None for what was refused."""

    @contextmanager
    def opened() -> Iterator[ParallelMap]:
        yield SparkParallelMap(lambda: run.parts.spark, lambda _what, _done, _of: None)

    journal = journal_in(store)
    fold = journal.open(deep=True)
    tools = CompactionTools(a_feed(topic), HASTY, "certify", POLICY, opened)
    plans = list(planned(journal, fold, POLICY))
    return [each.entry for each in compact_directories(journal, fold, plans, tools)]


def is_finished(store: Store) -> bool:
    """Nothing that was decided waits to be shown or removed."""
    state = journal_in(store).open().state
    return not state.undone and not state.owed


def count_of(store: Store) -> int:
    """How many compactions were decided."""
    journal = journal_in(store)
    numbers = range(journal.open().state.number + 1)
    return sum(isinstance(journal.require(n).body, Compact) for n in numbers)


def by_directory(store: Store) -> dict[str, list[str]]:
    """The visible data files of each directory."""
    found: dict[str, list[str]] = {}
    for key in list_keys(store, "events"):
        if key.endswith(".parquet"):
            found.setdefault(key.rpartition("/")[0], []).append(key)
    return found


def with_many(store: Store) -> set[str]:
    """The directories in which something can be compacted."""
    return {directory for directory, keys in by_directory(store).items() if len(keys) > 1}


def left_small(store: Store, wanted: set[str]) -> str:
    """Whether a directory with many files has no compacted one now; others may have come since."""
    now = by_directory(store)
    left = [
        directory
        for directory in sorted(wanted)
        if not any(isinstance(parse_name(key), CompactedName) for key in now.get(directory, ()))
    ]
    return f"nothing was compacted in {left[0]}" if left else ""


def begun(run: Run) -> tuple[Data, Job]:
    """A lake with small files, on this disk."""
    data, job = a_job(run)
    job = replace(job, feed=SETTINGS)
    problem = recover(run, job)
    assert not problem, problem
    return data, job


def killed(point: str, run: Run) -> Outcome:
    """Kill a compaction beside a run; that run finishes it; compact again; count."""
    data, job = begun(run)
    store = LocalStore(job.lake)
    wanted = with_many(store)
    with ingesting(run, store, job, data) as live:
        dead = Child(job, point, words=WORDS)
        code = dead.end()
        problem = "" if code == -signal.SIGKILL else f"{point} ended with {code}: {dead.said()}"
        wait_for(lambda: is_finished(store), "the run to finish it", WAIT_S)
        decided = count_of(store)
        if point in ("C11-compact", "C13b-compact", "C13c-compact", "C14-compact") and not decided:
            problem = problem or "nothing was decided"
        compact_here(run, store, job.topic)
        problem = problem or live.problem()
    again = recover(run, replace(job, max_records=data.second_records))
    problem = problem or left_small(store, wanted) or again
    return outcome(settle(run, job), problem, note=f"{decided} decided before the kill")


def two_at_once(run: Run) -> Outcome:
    """Two processes compact the same files at once beside a run: each directory goes to one."""
    data, job = begun(run)
    store = LocalStore(job.lake)
    wanted = with_many(store)
    other = replace(job, directory=run.directory / "other", at=job.lake)
    with ingesting(run, store, job, data) as live:
        both = [Child(each, "none", words=WORDS) for each in (job, other)]
        codes = sorted(each.end() for each in both)
        problem = "" if set(codes) <= {0, REFUSED} else f"they ended with {codes}"
        problem = problem or live.problem()
    again = recover(run, job)
    problem = problem or left_small(store, wanted) or again
    return outcome(settle(run, job), problem, note=f"they ended with {codes}")


def woken(point: str, run: Run) -> Outcome:
    """Stopped; a run and a second compaction go on; retention takes all; it wakes."""
    data, job = begun(run)
    store = LocalStore(job.lake)
    wanted = with_many(store)
    with child(job, point, words=WORDS) as zombie:
        zombie.wait_until_stopped()
        problem = recover(run, job)
        data.produce_more(run.parts.client, run.chance, 20)
        problem = problem or recover(run, job)
        compact_here(run, store, job.topic)
        problem = problem or left_small(store, wanted)
        tally = tally_lake(run.parts, job.lake)
        retire_all(job)
        before = picture(job.lake)
        zombie.signal(signal.SIGCONT)
        code = zombie.end()
    problem = problem or unchanged(job, before, "something came back")
    problem = problem or left_staged(store)
    if code not in (0, REFUSED):
        problem = problem or f"the old one ended with {code}: {zombie.said()}"
    problem = problem or recover(run, job) or unchanged(job, before, "it came back later")
    return outcome(tally, problem, note=f"it ended with {code}")


def left_staged(store: Store) -> str:
    """Whether a refused compaction has left what it had staged."""
    left = [ref.place for ref in store.list_staged("_penstock/events/staging", ("events",))]
    return f"{len(left)} staged files are left, such as {left[0]}" if left else ""


def begun_on_s3(run: Run) -> tuple[Data, BucketJob]:
    """A lake with small files in a bucket."""
    data, job = s3_counting.a_job(run)
    problem = s3_counting.recover(run, job)
    assert not problem, problem
    return data, job


def killed_on_s3(at: At, run: Run) -> Outcome:
    """As `killed`; its request arrives late, before, or never."""
    data, job = begun_on_s3(run)
    store = job.store()
    wanted = with_many(store)
    with ingesting(run, store, job, data) as live:
        with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
            on_s3.kill_at(replace(job, endpoint=proxy.url), proxy, at, *WORDS)
            problem = on_s3.copied(proxy)
        wait_for(lambda: is_finished(store), "the run to finish it", WAIT_S)
        decided = count_of(store)
        compact_here(run, store, job.topic)
        problem = problem or live.problem()
    problem = problem or left_small(store, wanted)
    found = s3_counting.resumed(run, job, data, problem, cold=False)
    return replace(found, note=f"{decided} decided before the kill")


def woken_on_s3(at: At, run: Run) -> Outcome:
    """As `woken`: its request is held, and arrives when all is gone."""
    data, job = begun_on_s3(run)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        proxy.rules.add(Rule(Hold(on_s3.HELD), at.operation, at.key, nth=at.nth))
        with lake_child(replace(job, endpoint=proxy.url), *WORDS) as zombie:
            await_request(proxy, Hold(on_s3.HELD), zombie)
            zombie.signal(signal.SIGSTOP)
            problem = s3_counting.recover(run, job)
            data.produce_more(run.parts.client, run.chance, 20)
            problem = problem or s3_counting.recover(run, job)
            compact_here(run, job.store(), job.topic)
            tally = tally_lake(run.parts, job.mirror())
            on_s3.retire_all(job)
            before = job.picture()
            proxy.release(on_s3.HELD)
            zombie.signal(signal.SIGCONT)
            code = zombie.end()
    if code not in (0, REFUSED):
        problem = problem or f"the old one ended with {code}: {zombie.said()[-300:]}"
    problem = problem or s3_counting.recover(run, job)
    problem = problem or ("" if job.picture() == before else "something came back")
    return outcome(tally, problem, note=f"it ended with {code}")
