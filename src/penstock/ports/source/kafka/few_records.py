"""A few records of Kafka, through its own consumer in a JVM of ours, without Spark. Driver only.

For a look at what there is, and for what Spark cannot read. They come in the columns in which tasks
get records, but for the hash, which only Spark makes: it is 0.
"""

import base64
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
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
NO_TYPE = "NoTimestampType"  # Kafka's name for it
COLUMNS = pa.schema([TOPIC_COLUMN, *RECORD_COLUMNS, ("timestamp_type", pa.string())])

_Row = dict[str, object]


def few_records(
    jvm: Any,
    options: Mapping[str, str],
    ranges: tuple[OffsetRange, ...],
    most_bytes: int | None = None,
) -> pa.RecordBatch:
    """The records of some ranges, committed ones only. Joins no group and commits nothing.

    Every field of a record is a call to the JVM, so this is for hundreds of records. Raises
    `KafkaUnavailable`, also when not all of them came in time, or they have over `most_bytes`.
    """
    try:
        rows = _read(jvm, options, ranges, most_bytes)
    except (Py4JError, OSError) as error:
        raise failure_of(error, options) from error
    rows.sort(key=lambda row: (row["topic"], row["partition"], row["offset"]))
    return pa.RecordBatch.from_pylist(rows, schema=COLUMNS)


def _read(
    jvm: Any,
    options: Mapping[str, str],
    ranges: tuple[OffsetRange, ...],
    most_bytes: int | None,
) -> list[_Row]:
    consumer = _consumer(jvm, options)
    try:
        wanted = {_place(jvm, each): each for each in ranges if not each.is_empty}
        consumer.assign(_list_of(jvm, wanted))
        for place, covered in wanted.items():
            consumer.seek(place, covered.start)
        reading = _Reading(consumer, options.get("bootstrap.servers", ""), most_bytes)
        return _polled(jvm, reading, wanted)
    finally:
        with suppress(Py4JError, OSError):
            consumer.close(jvm.java.time.Duration.ofMillis(POLL_MS))


@dataclass(slots=True)
class _Reading:
    """A consumer, and how many more bytes of keys and values may come; None: as many as there are.

    Not more than a batch of them was fetched before it is known that they are too many.
    """

    consumer: Any
    servers: str
    bytes_left: int | None

    def take(self, record: Any) -> None:
        """Count a record before it comes into this process."""
        if self.bytes_left is None:
            return
        sizes = (record.serializedKeySize(), record.serializedValueSize())
        self.bytes_left -= sum(max(size, 0) for size in sizes)
        if self.bytes_left < 0:
            raise KafkaUnavailable(self.servers, "records that Spark cannot read are too large")


def _polled(jvm: Any, reading: _Reading, wanted: dict[Any, OffsetRange]) -> list[_Row]:
    consumer = reading.consumer
    rows: list[_Row] = []
    left = dict(wanted)
    pause = jvm.java.time.Duration.ofMillis(POLL_MS)
    deadline = time.monotonic() + LIMIT_S
    while left:
        if time.monotonic() > deadline:
            names = ", ".join(f"{each.topic}/{each.partition}" for each in left.values())
            raise KafkaUnavailable(reading.servers, f"the records of {names} did not come in time")
        found = consumer.poll(pause)
        for place, covered in list(left.items()):
            rows += _rows_of(found.records(place), covered, reading)
            if consumer.position(place) >= covered.end:  # also past offsets without a record
                consumer.pause(_list_of(jvm, [place]))
                del left[place]
    return rows


def _rows_of(records: Any, covered: OffsetRange, reading: _Reading) -> list[_Row]:
    rows: list[_Row] = []
    for record in records:
        offset = record.offset()
        if offset >= covered.end:
            break
        reading.take(record)
        kind = str(record.timestampType())
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
                "timestamp_type": None if kind == NO_TYPE else kind,
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
