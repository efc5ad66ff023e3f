"""Several owners of one feed: stopped at the worst moment, started together, woken too late."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from penstock.care.clean import clean
from penstock.care.replay import drop, live_records
from penstock.care.retire import retire
from penstock.errors import EntryRefused
from penstock.ports.store.local.local_store import LocalStore
from tests.certify.case import Case, Run
from tests.certify.counting import outcome, recover, settle
from tests.certify.crash_cases import a_job, measured
from tests.certify.oracle import Tally, is_broken, picture, tally_lake
from tests.certify.table import Outcome
from tests.integration import test_owners, test_replay
from tests.integration.lakes import AROUND, deep_fold, journal_of, run_feeds
from tests.integration.processes import Child, Job, a_feed, child, killed_at
from tests.integration.replays import is_hopeless

ROUNDS_OF_TWO = 50
FENCED = 75


def cases() -> Iterator[Case]:
    """Z1 to Z12."""
    for point in ("Z1", "Z3"):
        yield Case(point, (point,), partial(paused, point), 30.0)
    yield Case("Z2", ("Z2",), two_processes, 60.0)
    for nth in range(ROUNDS_OF_TWO):
        yield Case(f"Z2/{nth + 1}", ("Z2",), two_at_once, 6.0, nth // 10)
    yield Case("Z4", ("Z4",), woken_after_retirement, 35.0)
    yield Case("Z5", ("Z5",), late_cleaner, 60.0)
    yield Case("Z6", ("Z6",), another_target, 25.0)
    yield Case("Z7", ("Z7",), no_permission, 20.0)
    yield Case("Z8", ("Z8",), woken_after_checkpoints, 45.0)
    yield Case("Z9", ("Z9",), paused_before_its_link, 50.0)
    yield Case("Z10", ("Z10",), latest_is_held, 30.0)
    yield Case("Z11", ("Z11",), cleaner_beside_an_owner, 25.0)
    yield Case("Z12/drop", ("Z12",), two_drops, 15.0)
    yield Case("Z12/replay", ("Z12",), two_replays, 15.0)


def take_over(run: Run, job: Job) -> None:
    """Another owner in the session that runs already, who does not wait for the lease."""
    feed = a_feed(job.topic, job.max_records)
    code, told = run_feeds(
        run.parts.spark, run.parts.kafka, LocalStore(job.lake), feed, take_over=True
    )
    assert code == 0, told


def wake(zombie: Child, wanted: tuple[int, ...] = (FENCED,)) -> None:
    """Let a stopped process go on; it must end as an owner that was replaced."""
    zombie.signal(signal.SIGCONT)
    code = zombie.end()
    assert code in wanted, f"it ended with {code} and not {wanted}: {zombie.said()}"


def unchanged(job: Job, before: object, problem: str) -> str:
    """Whether the visible files are the same as before."""
    return "" if picture(job.lake) == before else problem


def paused(point: str, run: Run) -> Outcome:
    """Stopped before its decision, or inside publish; another one delivers all; it wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with child(job, point) as zombie:
        zombie.wait_until_stopped()
        take_over(run, after)
        before = picture(job.lake)
        wake(zombie)
    return outcome(settle(run, after), unchanged(job, before, "the old owner changed files"))


def two_processes(run: Run) -> Outcome:
    """Two start together, one follows the other, twice; the test of everyday, counted."""
    parts = run.parts
    test_owners.test_s19_s20_two_start_together_one_waits_and_follows_and_the_paused_one_is_refused(
        parts.kafka, parts.client, run.directory
    )
    return outcome(tally_lake(parts, run.directory / "lake", broken=None))


def two_at_once(run: Run) -> Outcome:
    """Two owners that both take over at the same moment: both read, one decides."""
    data, job = a_job(run)
    codes: list[int] = []

    def one(max_records: int) -> None:
        feed = a_feed(job.topic, max_records)
        store = LocalStore(job.lake)
        codes.append(run_feeds(run.parts.spark, run.parts.kafka, store, feed, take_over=True)[0])

    both = [
        threading.Thread(target=one, args=(each,))
        for each in (data.first_records, data.second_records)
    ]
    job.lake.mkdir()
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    ended = set(codes) <= {0, FENCED} and 0 in codes
    return outcome(settle(run, job), "" if ended else f"they ended with {codes}")


def files_of_first_window(job: Job) -> dict[str, tuple[str, ...]]:
    """The visible files by dataset, without the quarantine."""
    fold = deep_fold(job.lake)
    assert fold.inventory is not None
    found: dict[str, list[str]] = {}
    for final, live in fold.inventory.files.items():
        if final.startswith("events/"):
            found.setdefault(live.dataset, []).append(final)
    return {dataset: tuple(sorted(files)) for dataset, files in found.items()}


def retire_all(job: Job) -> None:
    """Retention takes every data file."""
    for dataset, files in files_of_first_window(job).items():
        retire(journal_of(job.lake), AROUND, dataset, files, "certify", "to see what comes back")


def woken_after_retirement(run: Run) -> Outcome:
    """Stopped inside publish; another delivers; retention removes the files; it wakes."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with child(job, "Z3") as zombie:
        zombie.wait_until_stopped()
        return woken_in_an_empty_lake(run, job, after, zombie)


def woken_in_an_empty_lake(run: Run, job: Job, after: Job, zombie: Child) -> Outcome:
    """Another delivers, retention takes all of it, then the stopped one wakes: nothing comes."""
    take_over(run, after)
    tally = tally_lake(run.parts, job.lake, broken=is_broken)
    retire_all(job)
    before = picture(job.lake)
    wake(zombie)
    problem = unchanged(job, before, "something came back")
    return outcome(tally + second_look(run, after), problem)


def second_look(run: Run, job: Job) -> Tally:
    """After retention the oracle has nothing to count: a restart must bring nothing back."""
    before = picture(job.lake)
    problem = recover(run, job) or unchanged(job, before, "a restart brought files back")
    return Tally(problems=(problem,) if problem else ())


def paused_before_its_link(run: Run) -> Outcome:
    """Z9: stopped between check and link; another links and dies; a third finishes; retention."""
    data, job = a_job(run)
    after = replace(job, max_records=data.second_records)
    with child(job, "Z9") as zombie:
        zombie.wait_until_stopped()
        second = Child(job, "C13", words=("run", "--once", "--take-over"))
        assert second.end() == -signal.SIGKILL, second.said()
        return woken_in_an_empty_lake(run, job, after, zombie)


def late_cleaner(run: Run) -> Outcome:
    """A cleaner stops before its first delete, wakes when a newer owner has decided and died."""
    data, job = a_job(run)
    killed_at(job, "C9")
    killed_at(job, "C5")
    with child(job, "Z5", words=("clean",)) as cleaner:
        cleaner.wait_until_stopped()
        killed_at(job, "C11")
        wake(cleaner, (0,))
    after = replace(job, max_records=data.second_records)
    restarted = Child(after, "none")
    code = restarted.end()
    problem = "" if code == 0 else f"the restart ended with {code}: {restarted.said()[-300:]}"
    resume_s, follow_s = measured(restarted)
    tally = settle(run, after)
    clean(journal_of(job.lake))
    left = list(job.lake.rglob("*.staged"))
    problem = problem or (f"{len(left)} staged files were never cleaned" if left else "")
    return outcome(tally, problem, resume_s=resume_s, follow_s=follow_s)


def another_target(run: Run) -> Outcome:
    """The same feed on another cluster with the same topic name is refused, and changes nothing."""
    data, job = a_job(run)
    problem = recover(run, job)
    data.produce(run.parts.other_client, run.chance)
    before = picture(job.lake)
    feed = a_feed(job.topic, job.max_records)
    code, told = run_feeds(run.parts.spark, run.parts.other, LocalStore(job.lake), feed)
    if code != 5 or "CLUSTER_CHANGED" not in told[-1]:
        problem = problem or f"ended with {code}: {told[-1:]}"
    problem = problem or unchanged(job, before, "files changed")
    return outcome(settle(run, job), problem)


@contextmanager
def mounted(path: Path, size: str) -> Iterator[Callable[[str], None]]:
    """A small file system of memory; the function changes its options."""
    path.mkdir(parents=True)
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path))
    try:
        yield lambda options: mount("-o", f"remount,{options}", str(path))
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def mount(*words: str) -> None:
    """Needs root."""
    done = subprocess.run(["mount", *words], capture_output=True, check=False)
    if done.returncode != 0:
        raise CannotMount(done.stderr.decode().strip())


class CannotMount(Exception):
    """Only root may mount."""


def no_permission(run: Run) -> Outcome:
    """The lake may not be written: no claim, no read, nothing visible; later it may."""
    data, job = a_job(run)
    try:
        with mounted(job.lake, "64m") as remount:
            killed_at(job, "C11")
            remount("ro")
            before = picture(job.lake)
            refused = Child(replace(job, max_records=data.second_records), "none")
            code = refused.end()
            problem = "" if code in (1, 2, 3, 5) else f"ended with {code}: {refused.said()[-300:]}"
            if "stage" in refused.notes():
                problem = "it read without a claim"
            problem = problem or unchanged(job, before, "files changed")
            remount("rw")
            problem = problem or recover(run, job)
            return outcome(settle(run, job), problem)
    except CannotMount as error:
        return Outcome(not_shown=f"needs root to mount a file system read-only: {error}")


def woken_after_checkpoints(run: Run) -> Outcome:
    """Stopped before its decision; another decides many windows with checkpoints; it wakes."""
    _, job = a_job(run)
    with child(job, "Z1") as zombie:
        zombie.wait_until_stopped()
        words = ("run", "--once", "--take-over")
        second = Child(job, "C17", "--nth", "1000", words=words)  # a checkpoint after each window
        assert second.end() == 0, second.said()
        before = picture(job.lake)
        wake(zombie)
    problem = unchanged(job, before, "the old owner changed files")
    note = "journal keys are never deleted; trimmed were checkpoints and tail marks"
    return outcome(settle(run, job), problem, note=note)


def latest_is_held(run: Run) -> Outcome:
    """`start: latest` is written down, the process dies, more records come, another goes on."""
    data, job = a_job(run)
    latest = replace(job, feed="    start: latest\n")
    killed_at(latest, "C6")
    now_ms = int(time.time() * 1000)
    more = [b'{"type": "kind-0", "event_time": %d}' % (now_ms - n) for n in range(40)]
    for partition in range(data.partitions):
        run.parts.client.produce(job.topic, partition, more)
    restarted = Child(latest, "none")
    code = restarted.end()
    problem = "" if code == 0 else f"the restart ended with {code}: {restarted.said()[-300:]}"
    state = deep_fold(job.lake).state
    read = state.counts.read
    wanted = 40 * data.partitions
    problem = problem or ("" if read == wanted else f"{read} were read and not {wanted}")
    resume_s, follow_s = measured(restarted)
    tally = tally_lake(run.parts, job.lake, broken=None)
    return outcome(tally, problem, resume_s=resume_s, follow_s=follow_s)


def cleaner_beside_an_owner(run: Run) -> Outcome:
    """An owner has staged and not decided; the cleaner runs; the owner decides and delivers."""
    _, job = a_job(run)
    with child(job, "Z1") as owner:
        owner.wait_until_stopped()
        staged = set(job.lake.rglob("*.staged"))
        clean(journal_of(job.lake))
        problem = "" if staged == set(job.lake.rglob("*.staged")) else "staged files were cleaned"
        wake(owner, (0,))
    return outcome(settle(run, job), problem if staged else "nothing was staged")


def two_drops(run: Run) -> Outcome:
    """Two commands that consume the same quarantined records: the second one is refused."""
    _, job = a_job(run)
    problem = recover(run, job)
    tally = settle(run, job)
    journal = journal_of(job.lake)
    records = live_records(journal.open(deep=True))
    drop(journal, AROUND, records, "certify", "the first")
    try:
        drop(journal_of(job.lake), AROUND, records[:1], "certify", "the second")
        problem = problem or "the second drop was accepted"
    except EntryRefused:
        pass
    return outcome(tally + second_look(run, job), problem)


def two_replays(run: Run) -> Outcome:
    """One replays everything just before the other decides; the test of everyday, counted."""
    parts = run.parts
    test_replay.test_two_replays_at_once_deliver_every_record_once(
        parts.spark, parts.kafka, parts.client, run.directory
    )
    return outcome(tally_lake(parts, run.directory, broken=is_hopeless))
