"""How many records go from Spark to Python in one batch: few enough for the processor's cache.

Spark can limit batches by bytes, but then it computes the size of the whole batch again after every
record, which is a quarter of the time of its tasks. If no record is large, a limit on their number
is as good and costs nothing. So batches are limited by number while the journal says that records
are small. A cheap comparison during the read checks that no record is large. If one is, the window
is read again, in batches limited by bytes.
"""

import threading
from functools import lru_cache

from pyspark.sql import SparkSession

ROWS_KEY = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES_KEY = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = 8_192
# With it, Spark joins a union of frames of one partition each into a single partition.
KEEP_APART = "spark.sql.unionOutputPartitioning"
UNBOUNDED = str(2**31 - 1)
_WEIGHED_BYTES = str(64 * 1024 * 1024)
_one_by_one = threading.Lock()
MOST_BYTES = 16 * 1024  # of a record; a full batch of such records has 128 MiB


def batches_for(spark: SparkSession, largest_bytes: int) -> tuple[SparkSession, int | None]:
    """The session to read a window in, and the largest allowed record, if there is a limit.

    `largest_bytes` is the size of the largest recent record, 0 if it is not known.
    """
    return (spark, MOST_BYTES) if largest_bytes <= MOST_BYTES else (weighing(spark), None)


def weighing(spark: SparkSession) -> SparkSession:
    """A session with batches limited by bytes, because settings belong to a session. Any thread.

    Spark compiles a query once per session, and Java runs it faster the fewer variants it has seen.
    So all usual windows are read in the first session, and only others in this one.
    """
    with _one_by_one:  # two feeds that ask at once get the same
        return _weighing(spark)


@lru_cache(maxsize=1)
def _weighing(spark: SparkSession) -> SparkSession:
    session = spark.newSession()
    session.conf.set(BYTES_KEY, _WEIGHED_BYTES)
    return session
