"""What `set` can take from a record besides its fields: event time, position, key and headers.

    time        the event time, by which the record has its directory
    timestamp   Kafka's timestamp; null if the record has none
    topic       the name of the topic
    partition   the number of the partition
    offset      the offset
    key         the key; null if the record has none
    header      the first header of a name; null if there is none, or if it has no value

A date is the day in the feed's time zone, so that of `time` is the day of the directory.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import assert_never
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from penstock.datapath.shape.convert.cast import CAST_FAILED, cast_type, cast_values
from penstock.datapath.shape.convert.flow import Mask, Origin, Rows
from penstock.datapath.shape.event_time.zones import DAY, utc_to_wall
from penstock.model.arrow_types import FIRST_US, LAST_US, arrow_type
from penstock.model.convert_spec import RecordValue
from penstock.model.headers import first_header
from penstock.model.schema import BINARY, FieldType

_MILLIS = 1_000
_NO_KAFKA_TIME = -1


@dataclass(frozen=True, slots=True)
class TakenColumn:
    """A column that was taken from records: its values, and which rows could not give one."""

    type: FieldType
    column: pa.Array
    good: Mask
    refusal: tuple[str, str]


def taken(name: str, value: RecordValue, origin: Origin, rows: Rows) -> TakenColumn:
    """The column `name` for some rows; `column` has only the values of the good ones."""
    kind = BINARY if value.kind == "bytes" else cast_type(value.kind)
    refusal = (CAST_FAILED, f"$.{name}: the {value.source} is not a {value.kind}")
    if value.source in {"time", "timestamp"} and value.kind == "date":
        column = _days(_times(value, origin, rows), origin.zone)
        return TakenColumn(kind, column, np.ones(len(rows), dtype=bool), refusal)
    found = _found(value, origin, rows)
    if value.kind == "bytes":
        return TakenColumn(kind, found, np.ones(len(rows), dtype=bool), refusal)
    good = np.ones(len(rows), dtype=bool)
    if pa.types.is_binary(found.type):  # bytes that are not UTF-8 are not a number either
        found, good = cast_values(found, pa.string())
    column, fits = cast_values(found, arrow_type(kind))
    good[good] = fits
    return TakenColumn(kind, column, good, refusal)


def _found(value: RecordValue, origin: Origin, rows: Rows) -> pa.Array:
    """The values as they are, before they get the type that is wanted."""
    match value.source:
        case "time" | "timestamp":
            return _times(value, origin, rows)
        case "topic":
            return pa.repeat(pa.scalar(origin.topic, pa.string()), len(rows))
        case "partition":
            return pa.repeat(pa.scalar(origin.partition, pa.int64()), len(rows))
        case "offset":
            return pa.array(origin.offsets[rows])
        case "key":
            return origin.keys.take(pa.array(rows, pa.int64()))
        case "header":
            return _header(origin.headers.take(pa.array(rows, pa.int64())), value.name)
        case _ as never:
            assert_never(never)


def _times(value: RecordValue, origin: Origin, rows: Rows) -> pa.Array:
    """Points in time; a timestamp of Kafka that no calendar has is null, as one that is absent."""
    utc = pa.timestamp("us", tz="UTC")
    if value.source == "time":
        return pa.array(origin.event_us[rows]).view(utc)
    stamps = origin.kafka_ms[rows]
    inside = (stamps >= -(-FIRST_US // _MILLIS)) & (stamps <= LAST_US // _MILLIS)
    inside &= stamps != _NO_KAFKA_TIME
    return pa.array(np.where(inside, stamps, 0) * _MILLIS, mask=~inside).view(utc)


def _days(times: pa.Array, zone: str) -> pa.Array:
    """The day of each time in a zone."""
    absent = times.is_null().to_numpy(zero_copy_only=False)
    utc = times.view(pa.int64()).fill_null(0).to_numpy()
    wall = utc_to_wall(utc, ZoneInfo(zone))
    return pa.array((wall // DAY).astype(np.int32), mask=absent).view(pa.date32())


def _header(headers: pa.Array, name: str) -> pa.Array:
    """The bytes of the first header of a name. Headers that are equal are read once."""
    distinct = headers.dictionary_encode()
    values = [_header_value(text, name) for text in distinct.dictionary.to_pylist()]
    return pa.array(values, pa.binary()).take(distinct.indices)


def _header_value(text: str, name: str) -> bytes | None:
    header = first_header(text, name)
    if header is None or header.value is None:
        return None
    try:
        return base64.b64decode(header.value, validate=True)
    except (binascii.Error, ValueError):
        return None
