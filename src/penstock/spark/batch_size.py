"""How many records go from Spark to Python at once: few enough for the processor's cache.

Spark can bound batches by bytes, but then it weighs the whole batch again after every record, and
that is a quarter of the time that its tasks spend. Where no record is large, their number is as
good a bound and costs nothing. So batches are only counted while the journal says that records are
small, and that no record is large is checked while reading, by a comparison that costs next to
nothing. Where one is, the window is read once more, in batches that are weighed.
"""

from functools import lru_cache

from pyspark.sql import SparkSession

ROWS_KEY = "spark.sql.execution.arrow.maxRecordsPerBatch"
BYTES_KEY = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = 8_192
UNBOUNDED = str(2**31 - 1)
_WEIGHED_BYTES = str(64 * 1024 * 1024)
MOST_BYTES = 16 * 1024  # of a record in batches that are counted: 128 MiB if all are so large


def batches_for(spark: SparkSession, largest_bytes: int) -> tuple[SparkSession, int | None]:
    """The session to read a window in, and how large its records may be if not any.

    `largest_bytes` is the size of the largest record of late, 0 if nobody knows.
    """
    return (spark, MOST_BYTES) if largest_bytes <= MOST_BYTES else (weighing(spark), None)


@lru_cache(maxsize=1)
def weighing(spark: SparkSession) -> SparkSession:
    """A session in which batches are weighed, since settings are a session's.

    Spark compiles a query once per session, and Java runs it the faster the fewer kinds it has
    seen: so the usual windows are all read in the first session, and only others in this one.
    """
    session = spark.newSession()
    session.conf.set(BYTES_KEY, _WEIGHED_BYTES)
    return session
