"""What is done while Spark starts, and right after: the first window does not wait for it."""

import atexit
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

COMPILING = "penstock.spark.compiling"  # the program that compiles


def compile_meanwhile() -> Callable[[], bool]:
    """Compile in a process of its own, which ends with this one; whether it is still at it.

    A task that comes before its end waits for what it needs, as it would have to anyway.
    """
    process = subprocess.Popen(  # noqa: S603  this very Python
        [sys.executable, "-m", COMPILING],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(process.terminate)
    return lambda: process.poll() is None


def start_workers(session: SparkSession) -> None:
    """Let Spark start its Python workers now, on a thread of its own.

    They import all that tasks need, which takes about as long as the driver's first questions to
    Kafka. Nothing depends on it: if it fails, so will the first window, and tell why.
    """
    threading.Thread(target=_start, args=(session,), name="penstock-warm-up", daemon=True).start()


def _start(session: SparkSession) -> None:
    try:
        session.range(1, numPartitions=1).mapInArrow(unchanged, "id long").collect()
    except Exception:  # noqa: BLE001  the first window meets the same, and tells it
        return


def unchanged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that does nothing. Executor."""
    yield from batches
