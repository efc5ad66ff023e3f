"""Manners of the Python processes that Spark forks for its tasks."""

import signal
import sys


def end_quietly() -> None:
    """Let a worker of Spark end without a word when Spark has closed its socket. Executor.

    Spark does so with workers that had nothing to do for a minute, and with all of them when it
    stops. Each would try to write once more and print the trace of a broken pipe on the user's
    terminal. What it might still have said nobody would read. Elsewhere this does nothing.
    """
    if is_worker():
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def is_worker() -> bool:
    """True in a process that Spark's daemon has forked."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return getattr(spec, "name", "") == "pyspark.daemon"
