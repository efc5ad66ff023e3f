"""Setup of the Python processes that Spark forks for its tasks."""

import signal
import sys
import time
import zipimport

DAEMON = "penstock.spark.daemon"  # the module on local masters


def settle_in() -> None:
    """Called first by every task in its worker. Executor; elsewhere it does nothing.

    It makes a worker end silently when Spark has closed its socket. Spark closes workers that were
    idle for a minute, and all of them when it stops. Otherwise each worker would try to write once
    more and print the trace of a broken pipe on the user's terminal.
    """
    if is_worker():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        forget_archives()


def worker_tick() -> float:
    """Seconds that only go on, to measure how long a task takes. Executor; decides nothing."""
    return time.monotonic()


def forget_archives() -> None:
    """Save the next task from reading every archive on the search path again. Executor.

    Before each task Spark invalidates Python's import caches. Python then reads the directories of
    all known archives again, once per package inside: a tenth of a second for Spark's own. Archives
    that were removed from the cache are only opened again when something is imported.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[path]


def is_worker() -> bool:
    """True in a process that Spark's daemon forked."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "") in {"pyspark.daemon", DAEMON}
