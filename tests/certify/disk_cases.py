"""A full disk, and a disk that fails to sync."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from penstock.errors import DurabilityLost
from tests.certify.case import Case, Run
from tests.certify.counting import outcome, settle
from tests.certify.crash_cases import a_job, resumed
from tests.certify.owner_cases import CannotMount, mounted
from tests.certify.table import Outcome
from tests.integration.processes import Child

SIZES = (48, 120, 200, 280, 360)  # kB; a whole run needs about twice the largest
SYNCS = 30


def cases() -> Iterator[Case]:
    """S1 and S2."""
    for nth, size in enumerate(SIZES):
        yield Case(f"S1/{nth + 1}", ("S1",), partial(full_disk, size), 30.0, nth)
    for nth in range(5):
        point = "S2b" if nth == 4 else "S2"
        yield Case(f"S2/{nth + 1}", ("S2",), partial(failed_sync, point), 30.0, nth)


def full_disk(size_kb: int, run: Run) -> Outcome:
    """The disk of the lake is full in the middle; it says so, and goes on when there is space."""
    data, job = a_job(run)
    try:
        with mounted(job.lake, f"{size_kb}k") as remount:
            ran = Child(job, "none")
            code = ran.end()
            problem = "" if code in (1, 3, 5) else f"ended with {code}: {ran.said()[-300:]}"
            if "No space left" not in ran.log.read_text():
                problem = problem or f"it does not say why: {ran.said()[-300:]}"
            remount("size=64m")
            after = replace(job, max_records=data.second_records)
            return resumed(run, after, problem, cold=True)
    except CannotMount as error:
        return Outcome(not_shown=f"needs root to mount a small file system: {error}")


def failed_sync(point: str, run: Run) -> Outcome:
    """fsync fails once: the process ends at once and syncs nothing again; the next one delivers."""
    data, job = a_job(run)
    nth = run.chance.randint(1, SYNCS)
    ran = Child(job, point, "--nth", str(nth))
    code = ran.end()
    # In a task only the task's process ends, and its task is tried again.
    wanted = 0 if point == "S2b" else DurabilityLost.exit_code
    problem = "" if code == wanted else f"ended with {code} at sync {nth}: {ran.said()[-300:]}"
    if point == "S2b" and not job.directory.joinpath("lake.flaw").exists():
        problem = problem or "no sync failed"
    if point == "S2b":
        return outcome(settle(run, job), problem)
    return resumed(run, replace(job, max_records=data.second_records), problem, cold=True)
