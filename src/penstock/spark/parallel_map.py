"""Work on many items as one Spark job, and jobs that tell how far they are. Driver only.

The job runs on a thread of its own. The thread that asked for it looks at Spark's own counters
meanwhile, so that it can report progress and can be interrupted.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, TypeVar

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import InheritableThread, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.runtime.carried_error import CarriedError, carried
from penstock.runtime.worker import settle_in
from penstock.spark.errors import JobFailed
from penstock.spark.job_errors import cause_of_job

T = TypeVar("T")
R = TypeVar("R")

TASKS_PER_CORE = 4  # so that a slow task does not leave the other cores idle for long
POLL_S = 0.2
CANCEL_S = 5.0
TASK_BYTES = 8 * 1024 * 1024
ITEM_BYTES = 256 * 1024  # what opening a file costs, in bytes that could be read meanwhile

Progress = Callable[[str, int, int], None]  # what is done, how much of it, of how much


class SparkParallelMap:
    """Spreads picklable work over Spark's tasks; equal in weight as far as possible."""

    def __init__(self, session: Callable[[], SparkSession], progress: Progress) -> None:
        self._session = session
        self._progress = progress

    def __call__(
        self, what: str, work: Callable[[T], R], items: Sequence[T], weight: Callable[[T], int]
    ) -> list[R]:
        """The answers for all items, in no order. A task that is lost is tried again.

        An error of ours that the work raises is raised here, as it was.
        """
        if not items:
            return []
        context = self._session().sparkContext
        parts = balanced(items, weight, task_count(items, weight, context.defaultParallelism))
        try:
            job = context.parallelize(parts, len(parts)).flatMap(working(work))
            answers = self.watch(what, job.collect)
        except (Py4JError, PySparkException, ConnectionError) as error:
            raise JobFailed(what, cause_of_job(error)) from error
        return list(_opened(answers))

    def watch(self, what: str, call: Callable[[], R]) -> R:
        """Run something that starts jobs, and tell how many of their tasks are done."""
        context = self._session().sparkContext
        group = f"penstock {what} {id(call)}"
        answers: list[R] = []
        errors: list[BaseException] = []

        def run() -> None:
            context.setJobGroup(group, what, interruptOnCancel=True)
            try:
                answers.append(call())
            except BaseException as error:  # noqa: BLE001  raised again on the thread that waits
                errors.append(error)

        thread = InheritableThread(target=run, name="penstock-job", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_S)
                self._progress(f"reading {what}, part", *tasks_done(context, group))
        except BaseException:
            cancel_aside(context, group)
            raise
        if errors:
            raise errors[0]
        return answers[0]


def cancel_aside(context: SparkContext, group: str) -> None:
    """End the jobs of a group from a thread of its own.

    What ends this one may have come in the middle of an answer of the JVM; the next call from here
    would take the rest of that answer for its own.
    """

    def cancel() -> None:
        with suppress(Py4JError, ConnectionError):  # nothing runs in a JVM that has ended
            context.cancelJobGroup(group)

    thread = Thread(target=cancel, name="penstock-cancel", daemon=True)
    thread.start()
    thread.join(CANCEL_S)


def working(work: Callable[[T], R]) -> Callable[[list[T]], Iterator[R | CarriedError]]:
    """A function for Spark's tasks: the work for each item of a part, up to the first that fails.

    An error of ours is an answer: Spark would only repeat it, and log its traces.
    """

    def run(part: list[T]) -> Iterator[R | CarriedError]:
        settle_in()
        for item in part:
            try:
                yield work(item)
            except PenstockError as error:
                yield carried(error)
                return

    return run


def _opened(answers: Iterable[R | CarriedError]) -> Iterator[R]:
    """The answers; raises the first error that came in the place of one."""
    for each in answers:
        if isinstance(each, CarriedError):
            raise each.error()
        yield each


def task_count(items: Sequence[T], weight: Callable[[T], int], cores: int) -> int:
    """As many tasks as are worth starting: one per core for little work, and some more for much."""
    total = sum(map(weight, items)) + ITEM_BYTES * len(items)
    return max(cores, min(TASKS_PER_CORE * cores, total // TASK_BYTES))


def balanced(items: Sequence[T], weight: Callable[[T], int], most: int) -> list[list[T]]:
    """Split items into at most so many parts of about the same weight, heavy ones first.

    Every item costs something, however light: opening a file takes its time.
    """
    parts: list[list[T]] = [[] for _ in range(min(most, len(items)))]
    loads = [(0, number) for number in range(len(parts))]
    for item in sorted(items, key=weight, reverse=True):
        load, number = heapq.heappop(loads)
        parts[number].append(item)
        heapq.heappush(loads, (load + weight(item) + ITEM_BYTES, number))
    return parts


def tasks_done(context: SparkContext, group: str) -> tuple[int, int]:
    """How many tasks of a group's jobs are done, and how many there are; no more than a hint."""
    tracker: Any = context.statusTracker()
    done = total = 0
    for job_id in tracker.getJobIdsForGroup(group):
        job = tracker.getJobInfo(job_id)
        for stage_id in job.stageIds if job is not None else ():
            stage = tracker.getStageInfo(stage_id)
            if stage is not None:
                done, total = done + stage.numCompletedTasks, total + stage.numTasks
    return done, total
