"""kill -9 at single requests, owners that wake too late, and the faults of a store: on S3.

Nothing inside the process knows that it is tried. A proxy between it and the object store holds one
request; then the process is killed, and the request arrives, or never does.
"""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from penstock.care.retire import retire
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    CONFLICT,
    SLOW_DOWN,
    Act,
    DropReply,
    Hold,
    Late,
    Rule,
    Stall,
)
from tests.certify.case import Case, Run, not_shown
from tests.certify.counting import outcome
from tests.certify.lake_on_s3 import S3_WORDS, BucketJob, LakeChild, lake_child
from tests.certify.s3_counting import a_job, recover, resumed, settle
from tests.certify.table import Outcome
from tests.integration.lakes import AROUND, an_event, journal_in
from tests.integration.processes import wait_for

COLD = {"C7", "C10", "C13"}  # restarted in a process of their own; others here, which is quicker
FENCED = 75
HELD = "held"
ENTRY, MARKER, LEASE = "*/journal/*", "*/done/*", "*/lease*"
DATA = "*.parquet"  # and nothing of the probe, which comes first
PUT, COMPLETE = S3_WORDS.put, S3_WORDS.publish
WAIT_S = 900.0  # on a machine that others use too
MOST = 4000


@dataclass(frozen=True)
class At:
    """A request, and what becomes of it when its sender is dead."""

    operation: str
    key: str = "*"
    nth: int = 1
    arrives: str = "never"  # never | late | before: performed, and the reply is not sent


# Entries of a new feed: bind, claim, start, then the first window.
POINTS = {
    "C7": At("UploadPart", DATA, 2),
    "C8": At("UploadPart", DATA, 2, arrives="before"),
    "C9": At(PUT, ENTRY, 4),
    "C10": At(PUT, ENTRY, 4, "late"),
    "C10b": At(PUT, ENTRY, 4, "before"),
    "C11": At(COMPLETE, DATA),
    "C11b": At(COMPLETE, DATA, arrives="late"),
    "C12": At(COMPLETE, DATA, 2),
    "C12b": At(COMPLETE, DATA, 3, arrives="late"),
    "C13": At(COMPLETE, DATA, arrives="before"),
    "C13b": At(COMPLETE, DATA, 2, arrives="before"),
    "C14": At(PUT, MARKER),
    "C14b": At(PUT, MARKER, arrives="late"),
    "C15": At(PUT, MARKER, arrives="before"),
    "C15b": At(PUT, LEASE, 2),
}
NOT_SHOWN = {
    "S1": "the disk of an executor: a file it has no room for is never sent (test_s3_full_disk)",
    "S2": "S3 has no fsync",
    "S4": "entries are damaged in the same way whatever the store is: `make certify`",
    "S5": "S3 takes a part only with its MD5, and shows an object only when it is whole",
    "S11": "the probe at the start refuses such a store (test_s3_versions)",
    "S14": "HDFS only",
    "S15": "nothing is renamed on S3",
    "S18": "keys are encoded, and versions are no files (test_s3_store, test_s3_versions)",
    "S20": "nothing is renamed or copied on S3; runs here look for copies",
}


def cases() -> Iterator[Case]:
    """C7 to C16, Z1, Z3, Z4, A5, E4, and the faults of stores that S3 can have."""
    for point in POINTS:
        act = partial(killed, POINTS[point], point in COLD)
        yield Case(point, (point.rstrip("b"),), act, 35.0, int(point.endswith("b")))
    for nth in range(2):
        yield Case(f"C16/{nth + 1}", ("C16",), partial(killed_cleaner, nth), 60.0, nth)
    yield Case("Z1", ("Z1",), partial(paused, At(PUT, ENTRY, 4)), 40.0)
    yield Case("Z3", ("Z3",), partial(paused, At(COMPLETE, DATA, 2)), 40.0)
    yield Case("Z4", ("Z4",), woken_after_retirement, 40.0)
    for name, rules in PASSING.items():
        yield Case(name, (name,), partial(passing, rules), 40.0)
    yield Case("A5", ("A5",), one_dataset_fails, 45.0)
    yield Case("E4", ("E4",), nothing_can_be_staged, 45.0)
    yield Case("S9", ("S9",), late_entry, 45.0)
    yield Case("S12", ("S12",), partial(cut_off, True), 45.0)
    yield Case("S13", ("S13",), partial(cut_off, False), 45.0)
    yield Case("S16", ("S16",), deleted_from_outside, 40.0)
    yield Case("S17", ("S17",), foreign_object, 45.0)
    yield Case("S19", ("S3", "S19"), aborted_uploads, 45.0)
    yield from (not_shown(each, why) for each, why in NOT_SHOWN.items())


def every(act: Act, operation: str, step: int, key: str = "*") -> list[Rule]:
    """A fault for every so many requests."""
    return [Rule(act, operation, key, nth=nth) for nth in range(step, MOST, step)]


PASSING: dict[str, Callable[[], list[Rule]]] = {
    "S6": lambda: every(DropReply(), "ListObjectsV2|ListMultipartUploads", 2),
    "S7": lambda: [
        *every(SLOW_DOWN, "*", 5),
        *every(DropReply(), "Get*|Head*|List*|UploadPart", 7),
    ],
    "S8": lambda: [
        *every(DropReply(), PUT, 2, ENTRY),
        *every(DropReply(), COMPLETE, 3),
        *every(DropReply(), PUT, 2, MARKER),
        *every(DropReply(), PUT, 2, LEASE),
    ],
    "S10": lambda: every(CONFLICT, f"{PUT}|{COMPLETE}", 3),
}


def killed(at: At, cold: bool, run: Run) -> Outcome:
    """Kill while one request is under way; it arrives late, before, or never; restart; count."""
    data, job = a_job(run)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        kill_at(replace(job, endpoint=proxy.url), proxy, at, "run", "--once")
        problem = copied(proxy)
    return resumed(run, job, data, problem, cold=cold)


def kill_at(job: BucketJob, proxy: FaultProxy, at: At, *words: str) -> None:
    """Run until the request; the process is dead afterwards."""
    act: Act = Stall() if at.arrives == "before" else Hold(HELD)
    proxy.rules.add(Rule(act, at.operation, at.key, nth=at.nth))
    with lake_child(job, *words) as child:
        await_request(proxy, act, child)
        child.signal(signal.SIGKILL)
        child.end()
    if at.arrives == "late":
        proxy.release(HELD)
        wait_for(lambda: any(is_hit(record.act, act) and record.forwarded
                             for record in proxy.requests()), "the late request")  # fmt: skip


def await_request(proxy: FaultProxy, act: Act, child: LakeChild) -> None:
    """Until the request is held, or was performed without a reply."""

    def is_there() -> bool:
        assert child.process.poll() is None, f"it ended before: {child.said()}"
        return any(
            is_hit(record.act, act) and (isinstance(act, Hold) or record.forwarded)
            for record in proxy.requests()
        )

    wait_for(is_there, "the request", WAIT_S)
    if isinstance(act, Hold):
        proxy.waiting.wait_for(HELD)


def is_hit(word: str, act: Act) -> bool:
    """Whether a record is of a request that this act hit."""
    return word == type(act).__name__


def copied(proxy: FaultProxy) -> str:
    """S20: nothing is ever renamed by a copy."""
    return "an object was copied" if "CopyObject" in proxy.records.count() else ""


def killed_cleaner(nth: int, run: Run) -> Outcome:
    """Two owners die before they decide; a cleaner dies at its first abort; then all goes on."""
    data, job = a_job(run)
    url = run.parts.bucket_place.settings["endpoint"]
    with FaultProxy(url) as proxy:
        at = At(run.parts.bucket_place.words.put, ENTRY, 4)
        kill_at(replace(job, endpoint=proxy.url), proxy, at, "run", "--once")
    staged = len(job.uploads())
    with FaultProxy(url) as proxy:
        words = run.parts.bucket_place.words
        at = At(words.discard, words.staged, arrives="before" if nth else "never")
        kill_at(replace(job, endpoint=proxy.url), proxy, at, "run", "--once")
    problem = "" if staged else "nothing was staged that could be cleaned"
    return resumed(run, job, data, problem, cold=nth == 0)


def paused(at: At, run: Run) -> Outcome:
    """Stopped at a request; another one delivers all; the request arrives and the old one wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        proxy.rules.add(Rule(Hold(HELD), at.operation, at.key, nth=at.nth))
        with lake_child(replace(job, endpoint=proxy.url), "run", "--once") as zombie:
            await_request(proxy, Hold(HELD), zombie)
            zombie.signal(signal.SIGSTOP)
            problem = recover(run, after, take_over=True)
            before = job.picture()
            problem = problem or wake(proxy, zombie)
    problem = problem or ("" if job.picture() == before else "the old owner changed files")
    return outcome(settle(run, after), problem)


def wake(proxy: FaultProxy, zombie: LakeChild) -> str:
    """Let the request and its sender go on; it must end as an owner that was replaced."""
    proxy.release(HELD)
    zombie.signal(signal.SIGCONT)
    code = zombie.end()
    return "" if code == FENCED else f"the old owner ended with {code}: {zombie.said()[-300:]}"


def woken_after_retirement(run: Run) -> Outcome:
    """Z4: as Z3, but retention has removed all files before the old one wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        publish = run.parts.bucket_place.words.publish
        proxy.rules.add(Rule(Hold(HELD), publish, DATA, nth=2))
        with lake_child(replace(job, endpoint=proxy.url), "run", "--once") as zombie:
            await_request(proxy, Hold(HELD), zombie)
            zombie.signal(signal.SIGSTOP)
            problem = recover(run, after, take_over=True)
            tally = settle(run, after)
            retire_all(job)
            before = job.picture()
            problem = problem or wake(proxy, zombie)
    problem = problem or recover(run, after)
    problem = problem or ("" if job.picture() == before else "something came back")
    return outcome(tally, problem)


def retire_all(job: BucketJob) -> None:
    """Retention takes every data file."""
    journal = journal_in(job.store())
    fold = journal.open(deep=True)
    assert fold.inventory is not None
    found: dict[str, list[str]] = {}
    for final, live in fold.inventory.files.items():
        if final.startswith("events/"):
            found.setdefault(live.dataset, []).append(final)
    for dataset, files in found.items():
        retire(journal, AROUND, dataset, tuple(sorted(files)), "certify", "to see what comes back")


def passing(rules: Callable[[], list[Rule]], run: Run) -> Outcome:
    """A whole run with faults that pass: it ends well by itself."""
    data, job = a_job(run)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"], rules()) as proxy:
        child = LakeChild(replace(job, endpoint=proxy.url), "run", "--once")
        code = child.end()
        hits = sum(bool(record.act) for record in proxy.requests())
        problem = "" if code == 0 else f"ended with {code}: {child.said()[-300:]}"
        problem = problem or copied(proxy) or ("" if hits else "no fault was met")
    found = resumed(run, job, data, problem, cold=False)
    return replace(found, note=f"{hits} faults met")


def late_entry(run: Run) -> Outcome:
    """S9: every try of a decision is late; a newer owner delivers; then all of them arrive."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    rule = Rule(Late(HELD), run.parts.bucket_place.words.put, ENTRY, nth=4, times=None)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"], [rule]) as proxy:
        with lake_child(replace(job, endpoint=proxy.url), "run", "--once") as child:
            wait_for(lambda: any(is_hit(r.act, Late(HELD)) for r in proxy.requests()), "it", WAIT_S)
            child.signal(signal.SIGKILL)
            child.end()
        problem = recover(run, after, take_over=True)
        before = job.objects()
        told = proxy.release(HELD)
    if set(told) != {412}:
        problem = problem or f"the late requests were answered with {told}"
    problem = problem or ("" if job.objects() == before else "a late request changed something")
    return outcome(settle(run, after), problem)


def cut_off(is_expired: bool, run: Run) -> Outcome:
    """S12, S13: from the second publish on all is refused; the run ends; later all is delivered.

    How many windows it decides until then depends on the data: where the first file was all of its
    dataset, that is done, and the others are parked one by one.
    """
    data, job = a_job(run)
    words = run.parts.bucket_place.words
    answer = words.expired if is_expired else words.refused
    kinds = f"{words.publish}|{words.discard}|{words.is_staged}"
    rule = Rule(answer, kinds, DATA, nth=2, times=None)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"], [rule]) as proxy:
        child = LakeChild(replace(job, endpoint=proxy.url), "run", "--once")
        code = child.end()
    problem = "it ended as if all was well" if code == 0 else ""
    visible = len(job.picture())
    problem = problem or ("" if visible <= 1 else f"{visible} files were published all the same")
    return resumed(run, job, data, problem, cold=True)


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


def foreign_object(run: Run) -> Outcome:
    """S17: somebody's object at a final name is not overwritten; once it is gone, ours is there."""
    data, job = a_job(run)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        proxy.rules.add(Rule(Hold(HELD), run.parts.bucket_place.words.publish, DATA))
        with lake_child(replace(job, endpoint=proxy.url), "run", "--once") as child:
            await_request(proxy, Hold(HELD), child)
            whole = next(r.key for r in proxy.requests() if is_hit(r.act, Hold(HELD)))
            key = whole.removeprefix(job.place.address.partition("/")[2] + "/")
            assert job.store().create(key, b"of somebody else")
            proxy.release(HELD)
            code = child.end()
    problem = "" if code != 0 else "it ended as if all was well"
    if job.store().read(key) != b"of somebody else":
        problem = problem or "it was overwritten"
    job.store().delete(key)
    return resumed(run, job, data, problem, cold=True)


def aborted_uploads(run: Run) -> Outcome:
    """S3, S19: a rule of the bucket aborts what was decided; it is derived again from Kafka."""
    data, job = a_job(run)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"]) as proxy:
        at = At(run.parts.bucket_place.words.publish, DATA, 2)
        kill_at(replace(job, endpoint=proxy.url), proxy, at, "run", "--once")
    aborted = job.abort_uploads()
    problem = "" if aborted else "no upload was open"
    return resumed(run, job, data, problem, cold=True)


def one_dataset_fails(run: Run) -> Outcome:
    """A5: no file of one dataset can be published; it is parked and told, and all others are there.

    Two windows pass by it, so that they wait in line behind the parked one.
    """
    data, job = a_job(run)
    publish = run.parts.bucket_place.words.publish
    rule = Rule(run.parts.bucket_place.words.refused, publish, "*/events/kind-0/*", times=None)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"], [rule]) as proxy:
        child = LakeChild(replace(job, endpoint=proxy.url), "run", "--once")
        code = child.end()
    seen = {key.split("/")[1] for key in job.picture() if key.startswith("events/")}
    problem = "it ended as if all was well" if code == 0 else ""
    problem = problem or ("" if "kind-0" in child.said() else f"not told: {child.said()[-300:]}")
    wanted = {f"kind-{number}" for number in range(1, data.kinds)}
    problem = problem or ("" if seen == wanted else f"there are files of {sorted(seen)} only")
    return resumed(run, job, data, problem, cold=True)


def nothing_can_be_staged(run: Run) -> Outcome:
    """E4: every write of rows fails; the run ends with an error, and what was there is whole."""
    data, job = a_job(run)
    words = run.parts.bucket_place.words
    problem = recover(run, job)
    before = job.picture()
    for partition in range(data.partitions):
        run.parts.client.produce(job.topic, partition, [an_event(n) for n in range(14, 54)])
    rule = Rule(words.refused, words.stage, words.staged, times=None)
    with FaultProxy(run.parts.bucket_place.settings["endpoint"], [rule]) as proxy:
        child = LakeChild(replace(job, endpoint=proxy.url), "run", "--once")
        code = child.end()
        problem = problem or ("" if proxy.rules.unmet() == [] else "nothing was to be written")
    problem = problem or ("it ended as if all was well" if code == 0 else "")
    problem = problem or ("" if job.picture() == before else "what was there is another")
    return resumed(run, job, data, problem, cold=True)


def own_bucket_cases() -> Iterator[Case]:
    """For a bucket of a user, where no proxy can stand in between: requests are signed."""
    for nth in range(12):
        yield Case(f"C-random/{nth + 1}", ("C-random",), partial(killed_at_random, nth), 40.0)
    yield Case("Z2", ("Z2",), two_after_each_other, 60.0)
    yield Case("S16", ("S16",), deleted_from_outside, 40.0)


def killed_at_random(nth: int, run: Run) -> Outcome:
    """Kill from outside at any moment of the first 25 s, restart, count."""
    data, job = a_job(run)
    with lake_child(job, "run", "--once") as child:
        time.sleep(4.0 + run.chance.random() * 21.0)
        child.kill()
    return resumed(run, job, data, "", cold=nth % 4 == 0)


def two_after_each_other(run: Run) -> Outcome:
    """One owner is stopped in the middle, another takes over, the first wakes and is refused."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with lake_child(job, "run") as zombie:
        wait_for(lambda: bool(job.picture()), "the first file", WAIT_S)
        zombie.signal(signal.SIGSTOP)
        problem = recover(run, after, take_over=True)
        before = job.picture()
        zombie.signal(signal.SIGCONT)
        code = zombie.end()
    problem = problem or ("" if code in (0, FENCED) else f"the first ended with {code}")
    problem = problem or ("" if job.picture() == before else "the first one changed files")
    return outcome(settle(run, after), problem)
