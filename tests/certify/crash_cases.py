"""kill -9 at every point, twice in a row, and at random moments."""

import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from tests.certify.case import Case, Run
from tests.certify.counting import outcome, recover, settle
from tests.certify.data import Data
from tests.certify.table import Outcome
from tests.integration.lakes import deep_fold
from tests.integration.points import POINTS
from tests.integration.processes import Child, Job, killed_at

RUNS = 5
RANDOM_MOMENTS = 60
NUMBERS = [*range(1, 18), 19, 20]

# What must have happened before a point can be reached: recovery needs something to recover, the
# cleaner something to clean (staged in an epoch that is over).
BEFORE = {"C3": ("C11",), "C4": ("C11",), "C16": ("C9", "C5")}
# Where several calls fit, any of the first few may be hit.
MANY = {"C4": 2, "C4b": 2, "C12": 4, "C13": 4, "C16": 2, "C16b": 2}
# Windows that are decided, and of these not done, when the process is dead. Others may vary.
STATE = {
    "C1": (0, 0), "C2": (0, 0), "C2b": (0, 0), "C3": (1, 1), "C4": (1, 1), "C4c": (1, 1),
    "C5": (0, 0), "C5b": (0, 0), "C6": (0, 0), "C6b": (0, 0), "C7": (0, 0), "C8": (0, 0),
    "C9": (0, 0), "C10": (1, 1), "C10b": (0, 0), "C11": (1, 1), "C12": (1, 1), "C13": (1, 1),
    "C14": (1, 1), "C15": (1, 0), "C16": (0, 0), "C17": (1, 0), "C17b": (1, 0), "C20": (0, 0),
    "C20b": (1, 1),
}  # fmt: skip
DURING_RECOVERY = ["C2", "C3", "C4", "C4b", "C5", "C6b", "C7", "C8"]


def cases() -> Iterator[Case]:
    """Every point five times, every point with a second crash, and random moments."""
    for number in NUMBERS:
        for nth in range(RUNS):
            name = f"C{number}"
            yield Case(f"{name}/{nth + 1}", (name,), partial(crash, name, nth), 18.0, nth)
    for number in NUMBERS:
        name = f"C{number}"
        yield Case(f"{name}-twice", (f"{name}-twice",), partial(crash_twice, name), 35.0, 1)
    for nth in range(RANDOM_MOMENTS):
        yield Case(
            f"C-random/{nth + 1}", ("C-random",), partial(crash_at_random, nth), 20.0, nth // 15
        )


def a_job(run: Run) -> tuple[Data, Job]:
    """A topic with data of this run's seed, and a job that reads it."""
    data = Data.drawn(run.chance, run.word)
    data.produce(run.parts.client, run.chance)
    return data, Job(run.directory, run.parts.kafka.bootstrap, data.topic, data.first_records)


def variant(point: str, nth: int) -> str:
    """The variants of a point take turns."""
    found = [name for name in POINTS if name.rstrip("bcd") == point]
    return found[nth % len(found)]


def reach(run: Run, job: Job, point: str, nth: int = 0) -> str:
    """Bring the process to its end at a point; returns the variant that was taken."""
    chosen = variant(point, nth)
    for earlier in BEFORE.get(point, ()):
        killed_at(job, earlier)
    first = POINTS[chosen].nth
    killed_at(job, chosen, run.chance.randint(first, max(first, MANY.get(chosen, 0))))
    return chosen


def state_problem(job: Job, point: str) -> str:
    """Whether the dead process left what the name of its point says."""
    if point not in STATE:
        return ""
    state = deep_fold(job.lake).state
    found = (state.windows, len(state.undone))
    wanted = STATE[point]
    return (
        "" if found == wanted else f"killed at {point} with {found} decided, undone; not {wanted}"
    )


def crash(point: str, nth: int, run: Run) -> Outcome:
    """Kill, restart, count. The first run of a point restarts in a process of its own."""
    data, job = a_job(run)
    chosen = reach(run, job, point, nth)
    problem = state_problem(job, chosen)
    after = replace(job, max_records=data.second_records)
    return resumed(run, after, problem, cold=nth == 0)


def resumed(run: Run, job: Job, problem: str, *, cold: bool) -> Outcome:
    """Restart with another window policy, cold or in the session that runs already, and count."""
    if not cold:
        problem = problem or recover(run, job)
        return outcome(settle(run, job), problem)
    restarted = Child(job, "none")
    code = restarted.end()
    if code != 0:
        problem = problem or f"the restart ended with {code}: {restarted.said()[-300:]}"
    resume_s, follow_s = measured(restarted)
    return outcome(settle(run, job), problem, resume_s=resume_s, follow_s=follow_s)


def measured(restarted: Child) -> tuple[float | None, float | None]:
    """Until the first read, or until it knew that there is nothing to read; and for the lease."""
    notes = restarted.notes()
    resume_s = notes.get("stage", notes.get("plan done"))
    asked, taken = notes.get("try_take"), notes.get("try_take done")
    return resume_s, taken - asked if asked is not None and taken is not None else None


def crash_twice(point: str, run: Run) -> Outcome:
    """Kill, restart, kill the restarted one during its recovery, restart, count."""
    data, job = a_job(run)
    reach(run, job, point, run.chance.randrange(3))
    has_undone = bool(deep_fold(job.lake).state.undone)
    possible = [p for p in DURING_RECOVERY if has_undone or not p.startswith("C4")]
    second = run.chance.choice(possible)
    killed_at(job, second)
    return resumed(run, replace(job, max_records=data.second_records), "", cold=True)


def crash_at_random(nth: int, run: Run) -> Outcome:
    """Kill from outside at any moment, from before Spark is up to after the end."""
    data, job = a_job(run)
    moment = run.chance.random() * usual_length_s(run)
    running = Child(job, "none")
    time.sleep(moment)
    over = running.process.poll() is not None
    running.kill()
    code = running.process.returncode
    problem = "" if over or code == -signal.SIGKILL else f"the killed process ended with {code}"
    after = replace(job, max_records=data.second_records)
    return resumed(run, after, problem, cold=nth % 10 == 0)


_lengths: list[float] = []


def usual_length_s(run: Run) -> float:
    """How long a whole run of such data takes here and now; measured once."""
    if not _lengths:
        chance = type(run.chance)(1)
        data = Data.drawn(chance, f"{run.word}-length")
        data.produce(run.parts.client, chance)
        job = Job(
            run.parts.directory("length"), run.parts.kafka.bootstrap, data.topic, data.first_records
        )
        began = time.monotonic()
        assert Child(job, "none").end() == 0
        _lengths.append(time.monotonic() - began)
    return _lengths[0]
