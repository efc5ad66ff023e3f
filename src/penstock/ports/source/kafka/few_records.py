"""A few records of Kafka, through its own consumer in a JVM of ours, without Spark. Driver only.

For a look at what there is. They come in the columns in which tasks get records, but for the hash,
which only Spark makes: it is 0.
"""

import base64
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.api.source import RECORD_COLUMNS, TOPIC_COLUMN
from penstock.model.ranges import OffsetRange
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.kafka.java_failures import failure_of

BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
POLL_MS = 500
LIMIT_S = 30.0
COLUMNS = pa.schema([TOPIC_COLUMN, *RECORD_COLUMNS])

_Row = dict[str, object]


def few_records(
    jvm: Any, options: Mapping[str, str], ranges: tuple[OffsetRange, ...]
) -> pa.RecordBatch:
    """The records of some ranges, committed ones only. Joins no group and commits nothing.

    Every field of a record is a call to the JVM, so this is for hundreds of records. Raises
    `KafkaUnavailable`, also when not all of them came in time.
    """
    try:
        rows = _read(jvm, options, ranges)
    except (Py4JError, OSError) as error:
        raise failure_of(error, options) from error
    rows.sort(key=lambda row: (row["topic"], row["partition"], row["offset"]))
    return pa.RecordBatch.from_pylist(rows, schema=COLUMNS)


def _read(jvm: Any, options: Mapping[str, str], ranges: tuple[OffsetRange, ...]) -> list[_Row]:
    consumer = _consumer(jvm, options)
    try:
        wanted = {_place(jvm, each): each for each in ranges if not each.is_empty}
        consumer.assign(_list_of(jvm, wanted))
        for place, covered in wanted.items():
            consumer.seek(place, covered.start)
        return _polled(jvm, consumer, wanted, options.get("bootstrap.servers", ""))
    finally:
        with suppress(Py4JError, OSError):
            consumer.close(jvm.java.time.Duration.ofMillis(POLL_MS))


def _polled(jvm: Any, consumer: Any, wanted: dict[Any, OffsetRange], servers: str) -> list[_Row]:
    rows: list[_Row] = []
    left = dict(wanted)
    pause = jvm.java.time.Duration.ofMillis(POLL_MS)
    deadline = time.monotonic() + LIMIT_S
    while left:
        if time.monotonic() > deadline:
            names = ", ".join(f"{each.topic}/{each.partition}" for each in left.values())
            raise KafkaUnavailable(servers, f"the records of {names} did not come in time")
        found = consumer.poll(pause)
        for place, covered in list(left.items()):
            rows += _rows_of(found.records(place), covered)
            if consumer.position(place) >= covered.end:  # also past offsets without a record
                consumer.pause(_list_of(jvm, [place]))
                del left[place]
    return rows


def _rows_of(records: Any, covered: OffsetRange) -> list[_Row]:
    rows: list[_Row] = []
    for record in records:
        offset = record.offset()
        if offset >= covered.end:
            break
        rows.append(
            {
                "topic": covered.topic,
                "partition": covered.partition,
                "offset": offset,
                "timestamp": record.timestamp(),
                "key": record.key(),
                "value": record.value(),
                "headers": _headers(record.headers().toArray()),
                "hash": 0,
            }
        )
    return rows


def _headers(headers: Any) -> str | None:
    """Headers as tasks get them."""
    found = []
    for header in headers:
        value = header.value()
        plain = {"key": header.key()}
        if value is not None:
            plain["value"] = base64.b64encode(value).decode()
        found.append(plain)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")) if found else None


def _consumer(jvm: Any, options: Mapping[str, str]) -> Any:
    properties = jvm.java.util.Properties()
    ours = {
        "key.deserializer": BYTES,
        "value.deserializer": BYTES,
        "isolation.level": "read_committed",
        "enable.auto.commit": "false",
        "auto.offset.reset": "none",
    }
    for name, value in {**options, **ours}.items():
        properties.setProperty(name, value)
    return jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)


def _place(jvm: Any, covered: OffsetRange) -> Any:
    return jvm.org.apache.kafka.common.TopicPartition(covered.topic, covered.partition)


def _list_of(jvm: Any, places: Any) -> Any:
    found = jvm.java.util.ArrayList()
    for place in places:
        found.add(place)
    return found
