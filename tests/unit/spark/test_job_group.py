"""Jobs of a feed: their group and pool are properties of the thread, and are taken away again."""

import threading
from typing import Any, cast

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError  # type: ignore[import-untyped]
from pyspark import SparkContext

from penstock.spark.job_group import POOL, JobGroups
from penstock.spark.session import StartingSession

GROUP = "spark.jobGroup.id"


class Context:
    """A Spark context as far as local properties and groups are concerned."""

    def __init__(self) -> None:
        self._local = threading.local()
        self.cancelled: list[str] = []

    def _properties(self) -> dict[str, str | None]:
        found: dict[str, str | None] = self._local.__dict__
        return found

    def getLocalProperty(self, key: str) -> str | None:  # noqa: N802  Spark's own spelling
        return self._properties().get(key)

    def setLocalProperty(self, key: str, value: str | None) -> None:  # noqa: N802
        self._properties()[key] = value

    def setJobGroup(self, group: str, what: str, interruptOnCancel: bool) -> None:  # noqa: N802, N803
        assert interruptOnCancel
        self._properties().update({GROUP: group, "spark.job.description": what})

    def cancelJobGroup(self, group: str) -> None:  # noqa: N802
        self.cancelled.append(group)


def test_a_job_has_its_group_and_pool_only_while_it_runs_and_only_on_its_thread() -> None:
    context: Any = Context()
    jobs = JobGroups("orders")
    context.setLocalProperty(GROUP, "of somebody else")
    elsewhere: list[str | None] = []
    with jobs.job(cast(SparkContext, context), "1-7") as group:
        assert context.getLocalProperty(GROUP) == group
        assert context.getLocalProperty(POOL) == "orders"
        look = threading.Thread(target=lambda: elsewhere.append(context.getLocalProperty(POOL)))
        look.start()
        look.join()
    assert elsewhere == [None]
    assert context.getLocalProperty(GROUP) == "of somebody else"
    assert context.getLocalProperty(POOL) is None


def test_a_cancel_ends_the_jobs_of_one_name_and_never_those_of_a_later_one() -> None:
    context: Any = Context()
    mine, other = JobGroups("a"), JobGroups("b")
    mine.cancel("1-1")
    with mine.job(context, "1-1") as first, other.job(context, "1-1"):
        mine.cancel("1-2")
        assert context.cancelled == []
        mine.cancel("1-1")
    mine.cancel("1-1")
    with mine.job(context, "1-1") as second:
        mine.cancel("1-1")
    assert context.cancelled == [first, second]
    assert first != second


@pytest.mark.parametrize(
    "gone",
    [
        Py4JError("Cannot call methods on a stopped SparkContext."),
        Py4JNetworkError("Answer from Java side is empty"),
        ConnectionRefusedError("Connection refused"),
    ],
)
def test_a_cancel_in_a_jvm_that_is_gone_has_nothing_to_end(gone: Exception) -> None:
    """A SIGTERM to the whole process group ends the JVM while the run still abandons its windows."""

    class Gone(Context):
        def cancelJobGroup(self, group: str) -> None:  # noqa: N802
            super().cancelJobGroup(group)
            raise gone

    context: Any = Gone()
    jobs = JobGroups("a")
    with jobs.job(context, "1-1") as group:
        jobs.cancel("1-1")
    assert context.cancelled == [group]


def test_a_job_that_fails_leaves_nothing_behind() -> None:
    context: Any = Context()
    jobs = JobGroups("a")
    with pytest.raises(ValueError, match="the job"), jobs.job(context, "1-1"):
        raise ValueError("the job")
    jobs.cancel("1-1")
    assert context.cancelled == []
    assert context.getLocalProperty(POOL) is None


def test_a_spark_that_does_not_stop_in_time_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: the end of a run is bounded. Method: a session whose `stop` hangs until the kill."""
    is_killed = threading.Event()

    class Session:
        def stop(self) -> None:
            is_killed.wait(20.0)

    class Gateway:
        class proc:  # noqa: N801  as pyspark calls it
            kill = is_killed.set

    monkeypatch.setattr(SparkContext, "_gateway", Gateway())
    hanging = StartingSession(lambda _jvm: cast(Any, Session()))
    hanging.get()
    assert not hanging.stop(0.05) or is_killed.is_set()
    assert is_killed.is_set()


def test_a_spark_that_stops_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[bool] = []

    class Session:
        def stop(self) -> None:
            stopped.append(True)

    monkeypatch.setattr(SparkContext, "_gateway", None)
    quick = StartingSession(lambda _jvm: cast(Any, Session()))
    assert quick.stop(20.0)
    assert quick.stop()
    assert stopped == [True, True]
