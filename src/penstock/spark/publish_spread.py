"""Publishing very many files as one Spark job: one process can ask a store only so fast."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.api.store import Store
from penstock.model.staged import StagedHandle
from penstock.runtime.worker import settle_in

WORTH_A_JOB = 4_000
FILES_PER_TASK = 500


class PublishSpread:
    """Publishes many files: few of them from here, and many by tasks. Driver only.

    A task may be lost, be repeated, or come late: publishing may be repeated by anyone. Files whose
    task gave no answer are published from here.
    """

    def __init__(self, session: Callable[[], SparkSession], worth_a_job: int = WORTH_A_JOB) -> None:
        self._session = session
        self._worth_a_job = worth_a_job

    def __call__(self, store: Store, handles: Sequence[StagedHandle]) -> set[str]:
        """The final names for which it is not certain, as `Store.publish_all` gives them."""
        if len(handles) < self._worth_a_job:
            return store.publish_all(handles)
        context = self._session().sparkContext
        # In their order, so that files of one directory stay together.
        starts = range(0, len(handles), FILES_PER_TASK)
        parts = [handles[start : start + FILES_PER_TASK] for start in starts]
        try:
            job = context.parallelize(parts, len(parts)).map(_Publish(store))
            return set().union(*job.collect())
        except (Py4JError, PySparkException, ConnectionError):
            return store.publish_all(handles)


@dataclass(frozen=True)
class _Publish:
    """What one task does."""

    store: Store

    def __call__(self, handles: Sequence[StagedHandle]) -> set[str]:
        settle_in()
        return self.store.publish_all(handles)
