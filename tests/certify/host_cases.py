"""Faults of a cluster without a shared file system, its lake on an object store, or on HDFS.

The driver, each host and the store have directories of their own; hosts see no other. What tasks
send is held while something is killed, so that it happens in the middle of files.
"""

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from penstock.spark import executor_packages
from tests.certify.case import Case, Run
from tests.certify.cluster_jobs import PATIENCE_S, ClusterJob, Driver, on_hdfs, on_s3
from tests.certify.counting import outcome
from tests.certify.executor_cases import COPIES, is_there
from tests.certify.oracle import Tally, tally_feed
from tests.certify.spark_hosts import SparkHosts, needs, with_signal
from tests.certify.table import Outcome
from tests.integration.lakes import an_event
from tests.integration.processes import REPOSITORY, wait_for

RECORDS = 6_000
COMES_AND_GOES = """\
  spark.dynamicAllocation.enabled: "true"
  spark.dynamicAllocation.shuffleTracking.enabled: "true"
  spark.dynamicAllocation.minExecutors: "0"
  spark.dynamicAllocation.maxExecutors: "2"
  spark.dynamicAllocation.executorIdleTimeout: 2s
  spark.dynamicAllocation.schedulerBacklogTimeout: 1s
"""
PAGE = REPOSITORY / "docs" / "cluster.md"


Act = Callable[[Run, ClusterJob], str]
Placed = Callable[[Run], AbstractContextManager[ClusterJob]]


def cases() -> Iterator[Case]:
    """H1 to H7, on an object store."""
    for name, (act, guess_s) in ACTS.items():
        yield Case(name, (name,), partial(on_hosts, act, on_s3), guess_s)


def hdfs_cases() -> Iterator[Case]:
    """Those to which the store matters, on HDFS; after all others, as they cost the most."""
    for name in ("H1", "H2", "H3", "H4", "H7"):
        act, guess_s = ACTS[name]
        yield Case(name, (name,), partial(on_hosts, act, on_hdfs), guess_s, 2)


def on_hosts(act: Act, placed: Placed, run: Run) -> Outcome:
    """Run a case with records in a topic of its own, and count: what it says, and what is there."""
    if why := needs():
        return Outcome(not_shown=why)
    run.parts.client.create_topic(run.word, partitions=2)
    produce(run, range(RECORDS))
    with placed(run) as job:
        try:
            problem = act(run, job)
        finally:
            job.let_uploads_go()
        return outcome(counted(run, job), problem)


def produce(run: Run, numbers: range) -> None:
    """The same records to both partitions."""
    for partition in (0, 1):
        run.parts.client.produce(run.word, partition, [an_event(n) for n in numbers])


def counted(run: Run, job: ClusterJob) -> Tally:
    """The oracle on a copy of the lake; the audit of the lake itself; and what hosts have seen."""
    hosts = run.parts.hosts
    copy = job.copy_lake(run.directory / "copy")
    with Driver(job, "audit", "--deep") as audit:
        problems = [f"audit: {each}" for each in [audit.end()] if each]
        if "verdict    ok" not in audit.said():
            problems.append(f"audit said: {audit.said()[-300:]}")
    problems += hosts.shared_with([run.directory, REPOSITORY])
    for secret in job.secrets:
        problems += [f"the secret is in {path}" for path in hosts.holds(secret.encode())]
    tally = tally_feed(run.parts, copy, "events", whole=True, broken=None)
    return tally + Tally(problems=tuple(problems))


def executor_killed(run: Run, job: ClusterJob) -> str:
    """kill -9 of an executor's JVM in the middle of its files; what it sent arrives later."""
    job.hold_uploads()
    with Driver(job, "run", "--once") as running:
        job.wait_until_held(running)
        victim = run.parts.hosts.executors()[0]
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda: not is_there(victim), "the executor's end")
        job.let_uploads_go()
        return running.end()


def python_worker_killed(run: Run, job: ClusterJob) -> str:
    """kill -9 of the Python processes of both tasks; their executors stay."""
    job.hold_uploads()
    with Driver(job, "run", "--once") as running:
        job.wait_until_held(running)
        victims = run.parts.hosts.python_workers()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        job.let_uploads_go()
        return running.end() or ("" if victims else "no Python worker was at work")


def host_lost(run: Run, job: ClusterJob) -> str:
    """A whole host goes in the middle: worker, executor, Python, and its disk with the spool."""
    hosts = run.parts.hosts
    job.hold_uploads()
    try:
        with Driver(job, "run", "--once") as running:
            job.wait_until_held(running)
            lost = hosts.host_of(hosts.executors()[0])
            hosts.lose(lost)
            job.let_uploads_go()
            return running.end()
    finally:
        hosts.restart()


def slow_host_is_copied(run: Run, job: ClusterJob) -> str:
    """A Python worker is stopped in the middle; the run ends by a copy, and then it goes on."""
    hosts = run.parts.hosts
    quick = with_spark(job, COPIES)
    quick.hold_uploads()
    stopped: list[int] = []
    try:
        with Driver(quick, "run", "--once") as running:
            quick.wait_until_held(running)
            stopped = hosts.python_workers()[:1]
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            quick.let_uploads_go()
            problem = running.end()
            return problem or ("" if stopped else "no Python worker was at work")
    finally:
        for pid in stopped:
            with_signal(pid, signal.SIGCONT)
        wait_for(lambda: not any(map(is_there, stopped)), "the end of the slow worker")


def executors_come_and_go(run: Run, job: ClusterJob) -> str:
    """Dynamic allocation: all executors go while the feed is idle, and come for the next window."""
    hosts = run.parts.hosts
    with Driver(with_spark(job, COMES_AND_GOES), "run") as running:
        for windows in (1, 2):
            wait_for(lambda: has_said(running, windows), "a window", PATIENCE_S)  # noqa: B023
            wait_for(lambda: not hosts.executors(), "the end of idle executors", PATIENCE_S)
            if windows == 1:
                produce(run, range(RECORDS, RECORDS + 500))
        running.process.send_signal(signal.SIGTERM)
        return running.end()


def has_said(running: Driver, windows: int) -> bool:
    """Whether a run has delivered so many windows; fails if it has ended instead."""
    assert running.process.poll() is None, running.said()[-600:]
    return running.said().count('"event": "window"') >= windows


def packages_are_shipped(run: Run, job: ClusterJob) -> str:
    """Hosts have a Python and nothing else; packages come as an archive from the driver."""
    hosts = run.parts.hosts
    hosts.restart(lacks=("",))  # every name begins with nothing
    try:
        archive = run.directory / "packages.tar"  # not compressed: this is about what is in it
        executor_packages.main([str(archive), job.extra])
        shipped = with_spark(job, documented(str(archive)))
        with Driver(shipped, "run", "--once") as running:
            return running.end() or not_unpacked(hosts)
    finally:
        hosts.restart()


def package_is_missing(run: Run, job: ClusterJob) -> str:
    """No host has what the store needs: one sentence names it and a host; then all is delivered."""
    hosts = run.parts.hosts
    hosts.restart(lacks=(job.package,))
    try:
        with Driver(job, "run", "--once") as running:
            running.process.wait(PATIENCE_S)
            said = running.said()
        addresses = [host.address for host in hosts.hosts]
        if f"'{job.package}'" not in said or not any(each in said for each in addresses):
            return f"package and host are not named: {said[-600:]}"
        if "Traceback" in said or job.has_journal_of_windows():
            return f"a trace, or something was decided: {said[-300:]}"
    finally:
        hosts.restart()
    with Driver(job, "run", "--once") as running:
        return running.end()


def documented(archive: str) -> str:
    """The settings that ship packages, from the page that explains them, for this archive."""
    [block] = re.findall(r"```yaml\nspark:\n((?:  spark[^\n]*\n){2})```", PAGE.read_text())
    return str(block).replace("packages.tar.gz", archive)


def with_spark(job: ClusterJob, settings: str) -> ClusterJob:
    """The same job with more settings of Spark."""
    return replace(job, spark=settings)


def not_unpacked(hosts: SparkHosts) -> str:
    """Whether executors had the packages from somewhere else."""
    found = [h for h in hosts.hosts if any(h.directory.glob("work/*/*/packages/pyarrow"))]
    return "" if found else "no executor has unpacked the archive"


ACTS: dict[str, tuple[Act, float]] = {
    "H1": (executor_killed, 90.0),
    "H2": (python_worker_killed, 90.0),
    "H3": (host_lost, 90.0),
    "H4": (slow_host_is_copied, 90.0),
    "H5": (executors_come_and_go, 120.0),
    "H6": (packages_are_shipped, 150.0),
    "H7": (package_is_missing, 120.0),
}
