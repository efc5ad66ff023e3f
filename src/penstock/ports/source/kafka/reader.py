"""Reading exactly the planned ranges through Spark's Kafka connector. Driver only, lazy."""

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.functions import expr

from penstock.model.ranges import TOO_LARGE, OffsetRange
from penstock.ports.source.kafka.consumer_groups import ReadingGroups

CONTENTS = ("key", "value", "headers")
HEADERS = "case when size(headers) > 0 then to_json(headers) end as headers"
# In Kafka's own words; a record of before Kafka 0.10 has none.
TIMESTAMP_TYPE = (
    "case timestampType when 0 then 'CreateTime' when 1 then 'LogAppendTime' end as timestamp_type"
)
# A window is read from end to end, so fewer and larger fetches serve it better than Kafka's
# defaults, which are made for single records soon. What is planned is there, so there is nothing to
# wait for; only a fetch that an earlier window left open would make us wait for its end, half a
# second per partition. The user's own settings win.
FETCHING = {
    "fetch.max.wait.ms": "20",
    "max.poll.records": "5000",
    "max.partition.fetch.bytes": str(8 * 1024 * 1024),
    "receive.buffer.bytes": str(1024 * 1024),
}
_groups = ReadingGroups()  # one, like the JVM whose memory it bounds


def read_ranges(
    spark: SparkSession,
    options: Mapping[str, str],
    ranges: tuple[OffsetRange, ...],
    most_bytes: int | None = None,
    tasks: Sequence[tuple[OffsetRange, ...]] = (),
    *,
    with_types: bool = False,
) -> DataFrame:
    """The records of the ranges with a hash of offset, key and value, made while reading.

    `tasks` are the ranges that each task shall read, one after the other; without them each range
    has its own. Spark promises nothing about which partitions a `coalesce` puts together, but for
    one: `coalesce(1)` is all of them. So every task of several ranges is read by itself, and what
    comes of it are the partitions of one union, which must not be joined in turn (`KEEP_APART`).
    `with_types` adds the types of timestamps.
    """
    group = _groups.next(options, ranges)
    several = [task for task in tasks if len(task) > 1]
    single = tuple(task[0] for task in tasks if len(task) == 1) if tasks else ranges
    more = (
        ["topic"] if len({each.topic for each in ranges}) > 1 else [],
        [TIMESTAMP_TYPE] if with_types else [],
    )
    frames = [
        _records(ranges_reader(spark, options, task, group), *more).coalesce(1) for task in several
    ]
    if single:
        frames.append(_records(ranges_reader(spark, options, single, group), *more))
    return _marked(reduce(DataFrame.union, frames), most_bytes)


def _records(reader: DataFrameReader, before: list[str], after: list[str]) -> DataFrame:
    """The records of a reader, in the columns that tasks are given.

    A partition's range stays in one task. The read fails when a record of the range is gone. Every
    record pays for every column on its way to Python: the topic's name comes along only where
    there are several, and the type of its timestamp where the feed keeps it.
    Headers become text, because null arrays are slow on their way to Python. They are always read,
    since any record may turn out to be broken, and goes to the quarantine with all it had.
    """
    return (
        reader.option("failOnDataLoss", "true")
        .option("includeHeaders", "true")
        .load()
        .selectExpr(
            *before,
            "partition",
            "offset",
            "unix_millis(timestamp) as timestamp",
            "key",
            "value",
            HEADERS,
            "xxhash64(offset, key, value) as hash",
            *after,
        )
    )


def _marked(records: DataFrame, most_bytes: int | None) -> DataFrame:
    """With `most_bytes`, a record that has more comes without its contents.

    It has the partition `TOO_LARGE`: a failure would be repeated by Spark, and told as a fault in
    many lines.
    """
    if most_bytes is None:
        return records
    size = " + ".join(f"ifnull(octet_length({name}), 0)" for name in CONTENTS)
    contents = {name: expr(f"if({size} > {most_bytes}, null, {name})") for name in CONTENTS}
    marked = expr(f"if({size} > {most_bytes}, {TOO_LARGE}, partition)")
    return records.withColumns({"partition": marked, **contents})


def ranges_reader(
    spark: SparkSession,
    options: Mapping[str, str],
    ranges: tuple[OffsetRange, ...],
    group: str = "",
) -> DataFrameReader:
    """A reader of exactly these ranges, read-committed; one range per partition.

    `group` is the name that it reads as; one of its own if it is empty.
    """
    name = group or _groups.next(options, ranges)
    reader = spark.read.format("kafka").option("kafka.group.id", name)
    for name, value in {**FETCHING, **options}.items():
        reader = reader.option(f"kafka.{name}", value)
    return (
        reader.option("kafka.isolation.level", "read_committed")
        .option("assign", json.dumps(_by_topic(ranges, lambda _r: None)))
        .option("startingOffsets", json.dumps(_by_topic(ranges, lambda r: r.start)))
        .option("endingOffsets", json.dumps(_by_topic(ranges, lambda r: r.end)))
    )


def _by_topic(ranges: tuple[OffsetRange, ...], value: Any) -> dict[str, Any]:
    """Kafka's way to write partitions: a list of numbers, or numbers with offsets."""
    topics: dict[str, Any] = {}
    for covered in ranges:
        offset = value(covered)
        if offset is None:
            topics.setdefault(covered.topic, []).append(covered.partition)
        else:
            topics.setdefault(covered.topic, {})[str(covered.partition)] = offset
    return topics
