"""Ends a benchmark on a signal with one line, after its broker and its Spark have ended."""

import signal
from collections.abc import Callable

from penstock.spark.errors import Interrupted

STOPPING = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def in_one_line(main: Callable[[], int | None]) -> None:
    """Run `main` and exit with its code. A signal is told in one line, and only the first counts.

    py4j catches `KeyboardInterrupt` and prints a trace, so another exception is raised. Whatever
    fails after it, fails because of it: a broker that got the signal too does not answer any more.
    """
    stopped_by: list[str] = []

    def stop(number: int, _frame: object) -> None:
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)  # ending Spark and the broker is bounded
        stopped_by.append(STOPPING[signal.Signals(number)])
        raise Interrupted

    for each in STOPPING:
        signal.signal(each, stop)
    code = None
    try:
        code = main()
    except BaseException:
        if not stopped_by:
            raise
    if stopped_by:
        raise SystemExit(f"stopped by {stopped_by[0]}")
    raise SystemExit(code or 0)
