"""Manners of the Python processes that Spark forks for its tasks."""

import signal
import sys
import zipimport

DAEMON = "penstock.spark.daemon"  # where our own module is, for local masters


def settle_in() -> None:
    """What every task does first in its worker. Executor; elsewhere it does nothing.

    A worker ends without a word when Spark has closed its socket. Spark does so with workers that
    had nothing to do for a minute, and with all of them when it stops. Each would try to write once
    more and print the trace of a broken pipe on the user's terminal. What it might still have said
    nobody would read.
    """
    if is_worker():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        forget_archives()


def forget_archives() -> None:
    """Spare the next task the reading of every archive on the search path. Executor.

    Spark tells Python before each task that modules may have changed. Python then reads the tables
    of contents of all archives that it has looked into, once per package inside: a tenth of a
    second for Spark's own. Those it has forgotten it opens again only when something is imported.
    """
    for path, importer in list(sys.path_importer_cache.items()):
        if isinstance(importer, zipimport.zipimporter):
            del sys.path_importer_cache[path]


def is_worker() -> bool:
    """True in a process that Spark's daemon has forked."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "") in {"pyspark.daemon", DAEMON}
