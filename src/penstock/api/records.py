"""Records as columns: what routes, partition values and forks are given."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.model.headers import read_headers

Rows = npt.NDArray[np.int64]
Scalar = str | int | float | bool | None
NO_FIELDS: Mapping[str, Sequence[Scalar]] = {}
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class RecordContext:
    """What is known of records besides their bytes."""

    schema_name: str = ""
    zone: str = "UTC"
    event_times: Rows | None = None  # microseconds since 1970


_NO_CONTEXT = RecordContext()


class Records:
    """Some records of one partition, in the order of their offsets. Executors; nothing changes it.

    A column is made when it is asked for. `fields` holds the values at the paths that the plug-in
    asks for, one list per path: texts, numbers, truth values, and None for what is absent, null, an
    array, an object or bytes. Times of formats with schemas are whole numbers since 1970, in the
    unit of their column (microseconds, days).
    """

    def __init__(
        self,
        topic: str,
        partition: int,
        batch: pa.RecordBatch,
        rows: Rows,
        fields: Mapping[str, Sequence[Scalar]] = NO_FIELDS,
        context: RecordContext = _NO_CONTEXT,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.fields = fields
        self._batch = batch
        self._rows = rows
        self._context = context

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def offsets(self) -> pa.Array:
        """The offset of each record, as int64."""
        return self._column("offset")

    @cached_property
    def timestamps(self) -> pa.Array:
        """The timestamp that the source has for each record, in UTC."""
        return self._column("timestamp").cast(pa.timestamp("ms", "UTC"))

    @cached_property
    def keys(self) -> pa.Array:
        """The key of each record, as bytes; null where there is none."""
        return self._column("key")

    @cached_property
    def values(self) -> pa.Array:
        """The value of each record, as bytes; null where there is none.

        Where the elements of JSON arrays are records, the element.
        """
        return self._column("value")

    @cached_property
    def headers_json(self) -> pa.Array:
        """The headers of each record as sources give them: JSON text, or null."""
        return self._column("headers")

    @cached_property
    def headers(self) -> pa.Array:
        """The headers of each record, as a list of `key` and `value` in their order."""
        found = [read_headers(text) if text else [] for text in self.headers_json.to_pylist()]
        plain = [[{"key": each.key, "value": _raw(each.value)} for each in some] for some in found]
        return pa.array(plain, _HEADERS)

    @property
    def schema_name(self) -> str:
        """What the schema calls these records, where all of them name one schema; else empty."""
        return self._context.schema_name

    @cached_property
    def event_times(self) -> pa.Array:
        """The event time of each record, in UTC; for partition values only."""
        if self._context.event_times is None:
            raise ValueError("event times are known to partition values only")
        micros = self._context.event_times.astype(np.int64)
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))

    @property
    def zone(self) -> str:
        """The time zone in which the feed cuts days, such as `Europe/Berlin`."""
        return self._context.zone

    def part(self, start: int, stop: int) -> "Records":
        """Some neighbouring records."""
        fields = {path: values[start:stop] for path, values in self.fields.items()}
        context, times = self._context, self._context.event_times
        if times is not None:
            context = replace(context, event_times=times[start:stop])
        rows = self._rows[start:stop]
        return Records(self.topic, self.partition, self._batch, rows, fields, context)

    def _column(self, name: str) -> pa.Array:
        column = self._batch[name]
        if len(self._rows) == len(column):
            return column
        return column.take(pa.array(self._rows))


def _raw(value: str | None) -> bytes | None:
    try:
        return None if value is None else base64.b64decode(value, validate=True)
    except ValueError:
        return None
