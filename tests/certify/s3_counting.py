"""What cases in buckets share after a fault: restart, count, restart again, look for leftovers."""

from dataclasses import replace

from penstock.care.clean import clean
from tests.certify.case import Run
from tests.certify.counting import outcome
from tests.certify.data import Data
from tests.certify.lake_on_s3 import BucketJob, LakeChild
from tests.certify.oracle import Tally, decided, is_broken, tally_lake
from tests.certify.table import Outcome
from tests.integration.lakes import audit_journal, journal_in, run_feeds
from tests.integration.processes import a_feed


def a_job(run: Run) -> tuple[Data, BucketJob]:
    """A topic with data of this run's seed, and a job that reads it into a new lake."""
    data = Data.drawn(run.chance, run.word)
    data.produce(run.parts.client, run.chance)
    place = run.parts.bucket_place.below(run.word)
    bootstrap = run.parts.kafka.bootstrap
    return data, place.job(run.directory, bootstrap, data.topic, data.first_records)


def recover(run: Run, job: BucketJob, *, take_over: bool = False) -> str:
    """Restart in the session that runs already, without a proxy; says what went wrong."""
    feed = a_feed(job.topic, job.max_records)
    code, told = run_feeds(run.parts.spark, run.parts.kafka, job.store(), feed, take_over=take_over)
    return "" if code == 0 else f"the restart ended with {code}: {told[-1] if told else ''}"


def resumed(run: Run, job: BucketJob, data: Data, problem: str, *, cold: bool) -> Outcome:
    """Restart with another window policy, in a process of its own or here, and count."""
    after = replace(job, max_records=data.second_records, endpoint="")
    if cold:
        restarted = LakeChild(after, "run", "--once")
        code = restarted.end()
        problem = problem or ("" if code == 0 else f"ended with {code}: {restarted.said()[-300:]}")
    else:
        problem = problem or recover(run, after)
    return outcome(settle(run, after), problem)


def settle(run: Run, job: BucketJob) -> Tally:
    """The oracle on a copy of the lake; then recovery once more, which must change nothing."""
    copy = job.mirror()
    tally = tally_lake(run.parts, copy, broken=is_broken)
    audit = audit_journal(run.parts.spark, run.parts.kafka, journal_in(job.store()))
    problems = [f"audit of the store: {each}" for each in audit.differences]
    before = job.picture(), decided(copy)
    problems.append(recover(run, job))
    if (job.picture(), decided(job.mirror())) != before:
        problems.append("a second recovery changed something")
    clean(journal_in(job.store()))
    # A killed probe leaves its own, for the bucket's rule to abort; they are nobody's data.
    left = [each for each in job.uploads() if "_penstock/probe/" not in each[0]]
    problems += (
        [f"{len(left)} staged files were never cleaned, such as {left[0][0]}"] if left else []
    )
    return tally + Tally(problems=tuple(each for each in problems if each))
