"""Ends a benchmark on Ctrl-C with one line, after its broker and its Spark have ended."""

import signal
from collections.abc import Callable

from penstock.spark.errors import Interrupted


def in_one_line(main: Callable[[], int | None]) -> None:
    """Run `main` and exit with its code. Ctrl-C is told in one line, and only the first counts.

    py4j catches `KeyboardInterrupt` and prints a trace, so another exception is raised.
    """

    def stop(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # ending Spark and the broker is bounded
        raise Interrupted

    signal.signal(signal.SIGINT, stop)
    try:
        code = main()
    except Interrupted:
        raise SystemExit("stopped by Ctrl-C") from None
    raise SystemExit(code or 0)
