"""What cases share after a fault: restart, count, and restart once more."""

from tests.certify.case import Run
from tests.certify.oracle import Tally, decided, is_broken, picture, tally_lake
from tests.certify.table import Outcome
from tests.integration.lakes import run_once
from tests.integration.processes import Job, a_feed


def outcome(tally: Tally, problem: str = "", **measured: float | str | None) -> Outcome:
    """The numbers of a run, with what else was wrong."""
    problems = [problem, *tally.problems]
    return Outcome(
        tally.lost,
        tally.doubled,
        "; ".join(each for each in problems if each),
        **measured,  # type: ignore[arg-type]
    )


def recover(run: Run, job: Job) -> str:
    """Restart in the session that runs already; says what went wrong."""
    code, told = run_once(
        run.parts.spark, run.parts.kafka, job.lake, a_feed(job.topic, job.max_records)
    )
    return "" if code == 0 else f"the restart ended with {code}: {told[-1] if told else ''}"


def settle(run: Run, job: Job, *, strict: bool = True) -> Tally:
    """The oracle; then recovery once more, which must change nothing."""
    tally = tally_lake(run.parts, job.lake, broken=is_broken if strict else None)
    before = picture(job.lake), decided(job.lake)
    problem = recover(run, job)
    if (picture(job.lake), decided(job.lake)) != before:
        problem = "a second recovery changed something"
    return tally + Tally(problems=(problem,) if problem else ())
