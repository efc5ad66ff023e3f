"""Jobs of one feed inside a shared Spark session: a group to cancel them by, a pool to share cores.

Both are local properties of the thread that starts the jobs. Nothing is set on the session, so
other threads, and other users of it, do not notice. Driver only.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext

POOL = "spark.scheduler.pool"
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")
_numbers = count(1)  # two jobs of one name are two groups


class JobGroups:
    """The jobs that one feed has running, by name. `cancel` may be called by any thread."""

    def __init__(self, pool: str) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._running: dict[str, tuple[SparkContext, str]] = {}

    @contextmanager
    def job(self, context: SparkContext, name: str) -> Iterator[str]:
        """Around what starts jobs on this thread: they are of a group of their own, whose id it is.

        The fair scheduler gives the pool its share of the cores, whatever other pools have to do.
        A pool lasts as long as Spark, so there is one for each feed and none for each window.
        """
        group = f"penstock {self._pool} {name} {next(_numbers)}"
        before = {key: context.getLocalProperty(key) for key in (*_GROUP, POOL)}
        context.setJobGroup(group, f"{self._pool} {name}", interruptOnCancel=True)
        _set(context, POOL, self._pool)
        with self._lock:
            self._running[name] = context, group
        try:
            yield group
        finally:
            with self._lock:
                self._running.pop(name, None)
            for key, value in before.items():
                _set(context, key, value)

    def cancel(self, name: str) -> None:
        """End the jobs of this name that run now, and no others. Does not wait for them.

        Nothing runs any more in a JVM that has ended or is ending, which a signal to the whole
        process group makes it do: there is nothing to cancel, and the job fails by itself.
        """
        with self._lock:
            running = self._running.get(name)
        if running is None:
            return
        context, group = running
        try:
            context.cancelJobGroup(group)
        except (Py4JError, ConnectionError):
            return


def _set(context: SparkContext, key: str, value: str | None) -> None:
    """Set a local property of this thread; a JVM that is gone has none."""
    try:
        context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away
    except (Py4JError, ConnectionError):
        return
