"""Clocks that are wrong, stand still or jump, and time zones that change between attempts."""

import json
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

from tests.certify.case import Case, Run
from tests.certify.counting import outcome, recover, settle
from tests.certify.crash_cases import a_job, measured
from tests.certify.table import Outcome
from tests.integration.lakes import rows_in
from tests.integration.processes import Child, Job, child, wait_for

DAY_S = 86_400
HELD = 75
CLOCKS = [("-86400", "86400"), ("86400", "-86400"), ("frozen", "0"), ("0", "frozen")]
ZONES = [("Pacific/Kiritimati", "America/Los_Angeles"), ("America/Los_Angeles", "Asia/Kolkata")]


def cases() -> Iterator[Case]:
    """T1 and T2."""
    for nth, (before, after) in enumerate(CLOCKS):
        yield Case(f"T1/{nth + 1}", ("T1",), partial(wrong_clocks, before, after), 30.0)
    yield Case("T1/5", ("T1",), no_early_takeover, 40.0)
    for nth, (before, after) in enumerate(ZONES):
        for point in ("C9", "C11"):
            act = partial(midnight_between, point, before, after)
            yield Case(f"T2/{nth}{point}", ("T2",), act, 30.0, nth)


def wrong_clocks(before: str, after: str, run: Run) -> Outcome:
    """Killed under one clock, restarted under another."""
    data, job = a_job(run)
    point = run.chance.choice(["C9", "C11", "C12", "C14"])
    dead = Child(job, point, f"--clock={before}")
    assert dead.end() == -signal.SIGKILL, dead.said()
    later = replace(job, max_records=data.second_records)
    restarted = Child(later, "none", f"--clock={after}")
    code = restarted.end()
    problem = "" if code == 0 else f"the restart ended with {code}: {restarted.said()[-300:]}"
    resume_s, follow_s = measured(restarted)
    return outcome(settle(run, later), problem, resume_s=resume_s, follow_s=follow_s)


def no_early_takeover(run: Run) -> Outcome:
    """A living owner whose clock is a day behind keeps its lease before one a day ahead."""
    _, job = a_job(run)
    with child(job, "none", "--clock=-86400", words=("run",)) as owner:
        wait_for(lambda: "try_take done" in owner.notes(), "the lease")
        hasty = Child(job, "none", "--clock=86400", words=("run", "--once", "--no-wait"))
        code = hasty.end()
        problem = "" if code == HELD else f"the second owner ended with {code}"
    restarted = Child(job, "none", "--clock=86400")  # the first one was killed meanwhile
    code = restarted.end()
    problem = problem or ("" if code == 0 else f"the third ended with {code}: {restarted.said()}")
    resume_s, follow_s = measured(restarted)
    return outcome(settle(run, job), problem, resume_s=resume_s, follow_s=follow_s)


def midnight_between(point: str, zone: str, other: str, run: Run) -> Outcome:
    """One attempt before midnight in one zone, the next after it in another: the same days.

    After a decision the staged files are taken away, so that the days are derived again.
    """
    midnight_s = int(time.time()) // DAY_S * DAY_S
    topic = run.word
    run.parts.client.create_topic(topic, partitions=2)
    for partition in (0, 1):
        times = [midnight_s * 1000 + (n - 100) * 97_000 for n in range(200)]
        said = [{"type": f"kind-{n % 3}", "event_time": at, "n": n} for n, at in enumerate(times)]
        run.parts.client.produce(topic, partition, [json.dumps(each).encode() for each in said])
    job = Job(run.directory, run.parts.kafka.bootstrap, topic, 100)
    dead = Child(job, point, f"--clock=at:{midnight_s - 10}", environment={"TZ": zone})
    assert dead.end() == -signal.SIGKILL, dead.said()
    if point == "C11":
        for staged in job.lake.rglob("*.staged"):
            staged.unlink()
    restarted = Child(job, "none", f"--clock=at:{midnight_s + 10}", environment={"TZ": other})
    code = restarted.end()
    problem = "" if code == 0 else f"the restart ended with {code}: {restarted.said()[-300:]}"
    wrong = [
        place
        for place, row in rows_in(job.lake, "events")
        if row.below
        != f"day={datetime.fromtimestamp(row.columns['event_time'] / 1000, UTC):%Y-%m-%d}"
    ]
    problem = problem or (f"{wrong[0]} is in the wrong day" if wrong else "")
    resume_s, follow_s = measured(restarted)
    problem = problem or recover(run, job)
    return outcome(settle(run, job), problem, resume_s=resume_s, follow_s=follow_s)
