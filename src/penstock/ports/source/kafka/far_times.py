"""Records whose timestamps Spark cannot hold, read by Kafka's own consumer. Driver only.

Spark counts microseconds in 64 bits. Its Kafka source fails at a record whose timestamp lies after
the year 294,247, whatever columns are asked for. A producer that sends nanoseconds is enough, and a
topic can hold such a record for ever. So records near it are read here, a few at a time, and come
to tasks in the same columns, with the same hashes.
"""

import re
from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.api.source import ReadTooMuch
from penstock.model.ranges import OffsetRange
from penstock.ports.source.kafka.few_records import few_records

MOST_BYTES = 256_000_000  # of the records that are read here at once
_FAR = re.compile(r"java\.lang\.ArithmeticException: long overflow")
_HASH = "xxhash64(offset, key, value) as hash"


def far_time_in(causes: Sequence[str], window: str) -> ReadTooMuch | None:
    """The error of a job that failed with these causes because of a timestamp; None: others."""
    if not any(_FAR.search(cause) for cause in causes):
        return None
    return ReadTooMuch(
        window, "a record has a timestamp after the year 294,247, which Spark cannot hold"
    )


def read_by_consumer(
    spark: SparkSession,
    options: Mapping[str, str],
    ranges: tuple[OffsetRange, ...],
    tasks: Sequence[tuple[OffsetRange, ...]] = (),
    *,
    with_types: bool = False,
) -> DataFrame:
    """What `read_ranges` gives, for a few records, and their topics. A partition for each task.

    Raises `KafkaUnavailable`.
    """
    records = few_records(spark._jvm, options, ranges, most_bytes=MOST_BYTES)
    plain = [name for name in records.schema.names if name not in {"hash", "timestamp_type"}]
    wanted = [*plain, _HASH, *(["timestamp_type"] if with_types else [])]
    found = pa.Table.from_batches([records])
    frames = [
        spark.createDataFrame(_of_ranges(found, task)).coalesce(1).selectExpr(*wanted)
        for task in tasks or [(each,) for each in ranges]
    ]
    return reduce(DataFrame.union, frames)


def _of_ranges(found: pa.Table, ranges: tuple[OffsetRange, ...]) -> pa.Table:
    """The records of some ranges, one range after the other, in the order of offsets."""
    places = zip(found["topic"].to_pylist(), found["partition"].to_pylist(), strict=True)
    numbers: dict[tuple[str, int], list[int]] = {(r.topic, r.partition): [] for r in ranges}
    for number, place in enumerate(places):
        if place in numbers:
            numbers[place].append(number)
    return found.take(pa.array([each for some in numbers.values() for each in some], pa.int64()))
