"""kill -9 at single requests, owners that wake too late, and the faults of a store: on HDFS.

Nothing inside the process knows that it is tried. A relay between it and the name node holds one
request; then the process is killed, and the request arrives, or never does. The name node itself is
killed, frozen, and put into safe mode.
"""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from penstock.testing.hdfs_relay import HdfsRelay, RelayRule
from tests.certify.case import Case, Run, not_shown
from tests.certify.counting import outcome
from tests.certify.data import Data
from tests.certify.lake_on_hdfs import HdfsJob
from tests.certify.lake_on_s3 import LakeChild, S3Place, lake_child
from tests.certify.s3_cases import FENCED, retire_all
from tests.certify.s3_counting import recover, resumed, settle
from tests.certify.table import Outcome
from tests.integration.lakes import journal_in
from tests.integration.processes import wait_for

COLD = {"C7", "C10", "C13"}  # restarted in a process of their own; others here, which is quicker
ENTRY, MARKER, LEASE, DATA = "/journal/", "/done/", "/lease", ".parquet"
STAGED = "/_penstock/events/staging/"  # and nothing of the probe, which comes first
RENAME, COMPLETE = "rename2", "complete"
WAIT_S = 900.0  # on a machine that others use too
MOST = 4000


@dataclass(frozen=True)
class At:
    """A request, and what becomes of it when its sender is dead."""

    method: str
    about: str
    nth: int = 1
    arrives: Literal["never", "late", "before"] = "never"  # before: done, and no reply is sent


# Entries of a new feed: bind, claim, start, then the first window. The probe renames, too.
POINTS = {
    "C7": At("addBlock", STAGED, 2),
    "C8": At(COMPLETE, STAGED, 2, "before"),
    "C9": At(RENAME, ENTRY, 4),
    "C10": At(RENAME, ENTRY, 4, "late"),
    "C10b": At(RENAME, ENTRY, 4, "before"),
    "C11": At(RENAME, DATA),
    "C11b": At(RENAME, DATA, 1, "late"),
    "C12": At(RENAME, DATA, 4),
    "C12b": At(RENAME, DATA, 5, "late"),
    "C13": At(RENAME, DATA, 4, "before"),
    "C13b": At(RENAME, DATA, 6, "before"),
    "C14": At(RENAME, MARKER),
    "C14b": At(RENAME, MARKER, 1, "late"),
    "C15": At(RENAME, MARKER, 1, "before"),
    "C15b": At(RENAME, LEASE, 2),
}
NOT_SHOWN = {
    "S1": "a disk of the executor; `make certify` shows it on the local store",
    "S2": "the disks of data nodes are theirs",
    "S4": "entries are damaged in the same way whatever the store is: `make certify`",
    "S5": "a file has its name when it is whole; what a dead writer left: test_hdfs_nodes.py",
    "S6": "a listing of HDFS is that of one name node",
    "S10": "HDFS has no such answer",
    "S11": "a rename of HDFS never overwrites unasked; the probe at the start tries it",
    "S12": "without Kerberos nothing expires; KRB1 has tickets that do",
    "S13": "these runs are the superuser's; `tests/contract/test_hdfs_nodes.py` has another",
    "S18": "names that HDFS cannot hold are encoded: test_hdfs_store.py, test_hdfs_names.py",
    "S20": "a rename of HDFS is one act",
}


def cases() -> Iterator[Case]:
    """C7 to C15, Z1, Z3, Z4, and the faults of stores that HDFS can have."""
    for point, at in POINTS.items():
        act = partial(killed, at, point in COLD)
        yield Case(point, (point.rstrip("b"),), act, 45.0, int(point.endswith("b")))
    yield Case("Z1", ("Z1",), partial(paused, At(RENAME, ENTRY, 4)), 50.0)
    yield Case("Z3", ("Z3",), partial(paused, At(RENAME, DATA, 4)), 50.0)
    yield Case("Z4", ("Z4",), woken_after_retirement, 50.0)
    for name, rules in PASSING.items():
        yield Case(name, (name,), partial(passing, rules), 50.0)
    yield Case("S9", ("S9",), late_entry, 60.0)
    yield Case("S14", ("S14",), partial(through_trouble, killed_name_node), 60.0)
    yield Case("S14-safe", ("S14",), partial(through_trouble, safe_mode), 60.0)
    yield Case("S14-frozen", ("S14",), partial(through_trouble, frozen_name_node), 60.0)
    yield Case("S16", ("S16",), deleted_from_outside, 50.0)
    yield Case("S17", ("S17",), foreign_file, 50.0)
    yield Case("S19", ("S3", "S19"), staged_deleted, 50.0)
    yield from (not_shown(each, why) for each, why in NOT_SHOWN.items())


def every(act: Literal["lose-reply", "lose-request"], method: str, step: int,
          about: str = "") -> list[RelayRule]:  # fmt: skip
    """A fault for every so many requests."""
    return [RelayRule(method, about, act, nth) for nth in range(step, MOST, step)]


PASSING: dict[str, Callable[[], list[RelayRule]]] = {
    "S7": lambda: [
        *every("lose-request", "getFileInfo", 9),
        *every("lose-reply", "getListing", 7),
        *every("lose-reply", "addBlock", 11),
    ],
    "S8": lambda: every("lose-reply", RENAME, 2, ENTRY) + every("lose-reply", RENAME, 2, MARKER),
    "S15": lambda: every("lose-reply", RENAME, 3, DATA) + every("lose-request", RENAME, 4, DATA),
}


def a_job(run: Run) -> tuple[Data, HdfsJob]:
    """A topic with data of this run's seed, and a job that reads it into a new lake."""
    data = Data.drawn(run.chance, run.word)
    data.produce(run.parts.client, run.chance)
    place = S3Place(f"{run.parts.hdfs.authority}/certify").below(run.word)
    bootstrap = run.parts.kafka.bootstrap
    return data, HdfsJob(run.directory, bootstrap, data.topic, place, data.first_records)


def killed(at: At, cold: bool, run: Run) -> Outcome:
    """Kill while one request is under way; it arrives late, before, or never; restart; count."""
    data, job = a_job(run)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        kill_at(replace(job, endpoint=relay.authority), relay, at)
    return resumed(run, job, data, "", cold=cold)


def kill_at(job: HdfsJob, relay: HdfsRelay, at: At) -> None:
    """Run until the request; the process is dead afterwards."""
    rule = RelayRule(at.method, at.about, "stall" if at.arrives == "before" else "hold", at.nth)
    relay.rules.append(rule)
    with lake_child(job, "run", "--once") as child:
        await_request(relay, rule, child)
        if at.arrives == "before":
            wait_for(lambda: relay.lost_replies > 0, "the name node's answer", WAIT_S)
        child.kill()
    if at.arrives == "late":
        relay.release()


def await_request(relay: HdfsRelay, rule: RelayRule, child: LakeChild) -> None:
    """Until the request has come."""

    def is_there() -> bool:
        assert child.process.poll() is None, f"it ended before: {child.said()}"
        return rule.hits > 0

    wait_for(is_there, "the request", WAIT_S)
    if rule.act == "hold":
        relay.wait_for_held()


def paused(at: At, run: Run) -> Outcome:
    """Stopped at a request; another one delivers all; the request arrives and the old one wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with (
        HdfsRelay(run.parts.hdfs.port) as relay,
        stopped_at(relay, replace(job, endpoint=relay.authority), at) as zombie,
    ):
        problem = recover(run, after, take_over=True)
        before = job.picture()
        problem = problem or wake(relay, zombie)
    problem = problem or ("" if job.picture() == before else "the old owner changed files")
    return outcome(settle(run, after), problem)


def stopped_at(relay: HdfsRelay, job: HdfsJob, at: At) -> "Stopped":
    """A process that stands still at a request."""
    return Stopped(relay, job, RelayRule(at.method, at.about, "hold", at.nth))


class Stopped:
    """A child that gets SIGSTOP while its request is held, and never outlives the block."""

    def __init__(self, relay: HdfsRelay, job: HdfsJob, rule: RelayRule) -> None:
        relay.rules.append(rule)
        self._relay, self._rule = relay, rule
        self._child = LakeChild(job, "run", "--once")

    def __enter__(self) -> LakeChild:
        await_request(self._relay, self._rule, self._child)
        self._child.signal(signal.SIGSTOP)
        return self._child

    def __exit__(self, *_of: object) -> None:
        self._child.kill()


def wake(relay: HdfsRelay, zombie: LakeChild) -> str:
    """Let the request and its sender go on; it must end as an owner that was replaced."""
    relay.release()
    zombie.signal(signal.SIGCONT)
    code = zombie.end()
    return "" if code == FENCED else f"the old owner ended with {code}: {zombie.said()[-300:]}"


def woken_after_retirement(run: Run) -> Outcome:
    """Z4: as Z3, but retention has removed all files before the old one wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        at = At(RENAME, DATA, 4)
        with stopped_at(relay, replace(job, endpoint=relay.authority), at) as zombie:
            problem = recover(run, after, take_over=True)
            tally = settle(run, after)
            retire_all(job)
            before = job.picture()
            problem = problem or wake(relay, zombie)
    problem = problem or recover(run, after)
    problem = problem or ("" if job.picture() == before else "something came back")
    return outcome(tally, problem)


def passing(rules: Callable[[], list[RelayRule]], run: Run) -> Outcome:
    """A whole run with faults that pass: it ends well by itself."""
    data, job = a_job(run)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        relay.rules.extend(rules())
        child = LakeChild(replace(job, endpoint=relay.authority), "run", "--once")
        code = child.end()
        problem = "" if code == 0 else f"ended with {code}: {child.said()[-300:]}"
        problem = problem or ("" if relay.hits else "no fault was met")
    found = resumed(run, job, data, problem, cold=False)
    return replace(found, note=f"{relay.hits} faults met")


def late_entry(run: Run) -> Outcome:
    """S9: every try of a decision is late; a newer owner delivers; then all of them arrive."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    rule = RelayRule(RENAME, ENTRY, "hold", 4, MOST)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        relay.rules.append(rule)
        with lake_child(replace(job, endpoint=relay.authority), "run", "--once") as child:
            await_request(relay, rule, child)
            wait_for(lambda: relay.held > 1, "another try", WAIT_S)
            child.kill()
        problem = recover(run, after, take_over=True)
        before = job.objects()
        relay.release()
    problem = problem or ("" if job.objects() == before else "a late request changed something")
    return outcome(settle(run, after), problem)


def through_trouble(trouble: Callable[[Run], None], run: Run) -> Outcome:
    """S14: the name node is in trouble from the first rename of a file on; the run rides it out."""
    data, job = a_job(run)
    rule = RelayRule(RENAME, DATA, "hold", 4)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        relay.rules.append(rule)
        with lake_child(replace(job, endpoint=relay.authority), "run", "--once") as child:
            await_request(relay, rule, child)
            trouble(run)
            relay.rules.clear()
            relay.let_go()
            run.parts.hdfs.await_ready()
            code = child.end()
    problem = "" if code in (0, 1, 3) else f"ended with {code}: {child.said()[-300:]}"
    found = resumed(run, job, data, problem, cold=True)
    return replace(found, note="ridden out" if code == 0 else f"ended with {code}, then resumed")


def killed_name_node(run: Run) -> None:
    """kill -9, and started again after five seconds."""
    run.parts.hdfs.kill_name_node()
    time.sleep(5.0)
    run.parts.hdfs.start_name_node(wait=False)


def safe_mode(run: Run) -> None:
    """Ten seconds without changes."""
    run.parts.hdfs.enter_safe_mode()
    time.sleep(10.0)
    run.parts.hdfs.leave_safe_mode()


def frozen_name_node(run: Run) -> None:
    """Longer than any request waits."""
    run.parts.hdfs.freeze_name_node()
    time.sleep(15.0)
    run.parts.hdfs.thaw_name_node()


def deleted_from_outside(run: Run) -> Outcome:
    """S16: the audit names a file that somebody deleted, and no run makes it again in silence."""
    data, job = a_job(run)
    found = resumed(run, job, data, "", cold=False)
    gone = min(job.picture())
    job.store().delete(gone)
    child = LakeChild(job, "audit")
    code = child.end()
    told = child.log.read_text(errors="replace")
    problem = "" if code == 4 and gone in told else f"the audit ended with {code}: {told[-300:]}"
    problem = problem or recover(run, job)
    problem = problem or ("" if gone not in job.picture() else "it was made again")
    return replace(found, problem="; ".join(each for each in (found.problem, problem) if each))


def foreign_file(run: Run) -> Outcome:
    """S17: somebody's file at a final name is not overwritten; once it is gone, ours is there."""
    data, job = a_job(run)
    rule = RelayRule(RENAME, DATA, "hold")
    with HdfsRelay(run.parts.hdfs.port) as relay:
        relay.rules.append(rule)
        with lake_child(replace(job, endpoint=relay.authority), "run", "--once") as child:
            await_request(relay, rule, child)
            journal = journal_in(job.store()).open()
            assert journal.state.undone, "nothing was decided"
            key = first_final(relay.last_hit, job)
            assert job.store().create(key, b"of somebody else")
            relay.release()
            code = child.end()
    problem = "" if code != 0 else "it ended as if all was well"
    if job.store().read(key) != b"of somebody else":
        problem = problem or "it was overwritten"
    job.store().delete(key)
    return resumed(run, job, data, problem, cold=True)


def first_final(frame: bytes, job: HdfsJob) -> str:
    """The key of a data file in the bytes of a request to rename it, after that of the staged."""
    text = frame.decode("utf-8", "replace")
    end = text.rindex(DATA) + len(DATA)
    return text[text.rindex(f"{job.root}/", 0, end) + len(job.root) + 1 : end]


def staged_deleted(run: Run) -> Outcome:
    """S3, S19: what was staged and decided is deleted; it is derived again from Kafka."""
    data, job = a_job(run)
    with HdfsRelay(run.parts.hdfs.port) as relay:
        kill_at(replace(job, endpoint=relay.authority), relay, At(RENAME, DATA, 4))
    problem = "" if job.abort_uploads() else "nothing was staged"
    return resumed(run, job, data, problem, cold=True)
