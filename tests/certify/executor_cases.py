"""Faults of Spark's side: workers, executors, copies of tasks, results that are too large."""

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace

from tests.certify.case import Case, Run
from tests.certify.counting import outcome, settle
from tests.certify.crash_cases import a_job, resumed
from tests.certify.oracle import tally_lake
from tests.certify.table import Outcome
from tests.integration import test_owners
from tests.integration.lakes import an_event, deep_fold
from tests.integration.processes import Child, Job, child, wait_for

RECORDS = 30_000
CLUSTER = f"""\
  spark.driver.host: 127.0.0.1
  spark.driver.bindAddress: 127.0.0.1
  spark.executor.memory: 700m
  spark.pyspark.python: "{sys.executable}"
"""
COPIES = """\
  spark.speculation: "true"
  spark.speculation.interval: 100ms
  spark.speculation.quantile: "0.5"
  spark.speculation.multiplier: "1.1"
"""


def cases() -> Iterator[Case]:
    """E1 to E6."""
    yield Case("E1", ("E1",), python_worker_killed, 25.0)
    yield Case("E2", ("E2",), executor_killed, 60.0)
    yield Case("E3", ("E3",), result_lost, 25.0)
    yield Case("E4", ("E4",), slow_task_is_copied, 60.0)
    yield Case("E5", ("E5",), zombie_workers, 80.0)
    yield Case("E6", ("E6",), result_too_large, 30.0)


def python_worker_killed(run: Run) -> Outcome:
    """The test of everyday, counted."""
    parts = run.parts
    test_owners.test_e1_a_python_worker_that_is_killed_costs_a_task_and_nothing_else(
        parts.spark, parts.kafka, parts.client, run.directory
    )
    return outcome(tally_lake(parts, run.directory / "lake", broken=None))


def result_lost(run: Run) -> Outcome:
    """A task writes all its files and ends before it reports; the next attempt is the one."""
    _, job = a_job(run)
    ran = Child(job, "E3")
    code = ran.end()
    problem = "" if code == 0 else f"ended with {code}: {ran.said()[-300:]}"
    if not job.directory.joinpath("lake.flaw").exists():
        problem = "no result was lost"
    return outcome(settle(run, job), problem)


def result_too_large(run: Run) -> Outcome:
    """Spark refuses the tasks' reports; nothing is decided, the cause is told; then it may."""
    data, job = a_job(run)
    tight = replace(job, spark='  spark.driver.maxResultSize: "1k"\n')
    ran = Child(tight, "none")
    code = ran.end()
    problem = "" if code == 1 else f"ended with {code}: {ran.said()[-300:]}"
    if "maxResultSize" not in ran.log.read_text() or "READ_FAILED" not in ran.log.read_text():
        problem = problem or f"the cause is not told: {ran.said()[-300:]}"
    if deep_fold(job.lake).state.windows:
        problem = problem or "something was decided"
    return resumed(run, replace(job, max_records=data.second_records), problem, cold=True)


def cluster_job(run: Run, more: str = "") -> Job:
    """A job on the standalone cluster, large enough for two tasks that take a while."""
    parts = run.parts
    parts.client.create_topic(run.word, partitions=2)
    for partition in (0, 1):
        parts.client.produce(run.word, partition, [an_event(n) for n in range(RECORDS)])
    return Job(
        run.directory,
        parts.kafka.bootstrap,
        run.word,
        max_records=5_000_000,
        spark=CLUSTER + more,
        master=parts.cluster.master,
    )


def until_staged(job: Job, running: Child) -> None:
    """Wait for the first staged files."""
    wait_for(
        lambda: any(job.lake.rglob("*.staged")) or running.process.poll() is not None,
        "staged files",
        180,
    )
    assert running.process.poll() is None, running.said()


def executor_killed(run: Run) -> Outcome:
    """kill -9 of an executor's JVM while it writes; another one takes its task."""
    job = cluster_job(run)
    with child(job, "none") as running:
        until_staged(job, running)
        killed = run.parts.cluster.executors()[:1]
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        code = running.end()
        problem = "" if code == 0 else f"ended with {code}: {running.said()[-300:]}"
    problem = problem or ("" if killed else "no executor was at work")
    return outcome(tally_lake(run.parts, job.lake, broken=None), problem)


def slow_task_is_copied(run: Run) -> Outcome:
    """One Python worker is stopped; the run must end by a copy while it is still stopped."""
    job = cluster_job(run, COPIES)
    with child(job, "none") as running:
        until_staged(job, running)
        stopped = stop(run.parts.cluster.python_workers()[:1])
        return counted_before_and_after(run, job, running, stopped)


def zombie_workers(run: Run) -> Outcome:
    """Workers are stopped, their driver is killed and replaced; then they go on writing."""
    job = cluster_job(run)
    with child(job, "none") as running:
        until_staged(job, running)
        stopped = stop(run.parts.cluster.python_workers())
        running.kill()
    try:
        restarted = Child(job, "none")
    except BaseException:
        let_go(stopped)
        raise
    return counted_before_and_after(run, job, restarted, stopped)


def counted_before_and_after(run: Run, job: Job, running: Child, stopped: list[int]) -> Outcome:
    """A run ends while workers are stopped, and then they go on: both times it is counted."""
    try:
        code = running.end()
        problem = "" if code == 0 else f"ended with {code}: {running.said()[-300:]}"
        problem = problem or ("" if stopped else "no worker was at work")
        first = tally_lake(run.parts, job.lake, broken=None)
    finally:
        let_go(stopped)
    return outcome(first + tally_lake(run.parts, job.lake, broken=None), problem)


def stop(pids: list[int]) -> list[int]:
    """SIGSTOP; returns those that got it."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def let_go(pids: list[int]) -> None:
    """SIGCONT, and wait until they have noticed that nobody waits for them."""
    for pid in pids:
        if is_there(pid):
            os.kill(pid, signal.SIGCONT)
    wait_for(lambda: not any(map(is_there, pids)), "the end of those that were stopped")


def is_there(pid: int) -> bool:
    """True while a process exists."""
    return os.path.exists(f"/proc/{pid}")  # noqa: PTH110
