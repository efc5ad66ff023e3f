"""The fields of records as what they are used for: event times, and names of datasets.

A field is a column of Arrow where records have a schema, and mostly a list of plain values where
they are JSON.
"""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.shape.event_time.event_time import Times, event_times
from penstock.datapath.shape.event_time.zones import Micros
from penstock.datapath.stage.row_arrays import Column
from penstock.model.schema import Field
from penstock.model.spec import TimeSpec

_DAY_US = 86_400_000_000


def column_at(batch: pa.RecordBatch, fields: tuple[Field, ...], path: str) -> pa.Array:
    """The values of a field by its dotted path; null where there is no such field."""
    arrays, count = batch.columns, batch.num_rows
    names = path.split(".")
    for depth, name in enumerate(names):
        places = [place for place, field in enumerate(fields) if field.name == name]
        if not places:
            break
        array, field = arrays[places[0]], fields[places[0]]
        if depth == len(names) - 1:
            return array
        if field.type.kind != "struct":
            break
        arrays, fields = array.flatten(), field.type.fields
    return pa.nulls(count, pa.string())


def values_of(column: Column) -> Sequence[object]:
    """A column as values that can name a dataset or a directory; times as counts, others as are.

    Decimals without decimal places are the whole numbers that they are, such as uint64 of Protobuf.
    Others are nothing, as bytes are: 1.5 and 1.50 would be two names for one value.
    """
    if not isinstance(column, pa.Array):
        return column
    kind = column.type
    if pa.types.is_decimal(kind) and kind.scale == 0:
        whole = _whole(column)
        return whole if isinstance(whole, list) else whole.to_pylist()
    if pa.types.is_timestamp(kind):
        return column.view(pa.int64()).to_pylist()
    if pa.types.is_date(kind):
        return column.view(pa.int32()).to_pylist()
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return [None] * len(column)
    return column.to_pylist()


def waiting_values(column: Column) -> Column:
    """The same, for values that wait until rows are split: whole numbers stay a column."""
    is_small = isinstance(column, pa.Array) and pa.types.is_int64(column.type)
    return column if is_small else values_of(column)


def times_of(column: Column | None, kafka_ms: Micros, spec: TimeSpec, now_s: float) -> Times:
    """Event times; a column that is a time already needs no unit. Without one, those of Kafka."""
    if not isinstance(column, pa.Array):
        return event_times(column, kafka_ms, spec, now_s)
    if pa.types.is_timestamp(column.type):
        return event_times(column.view(pa.int64()), kafka_ms, _in_micros(spec), now_s)
    if pa.types.is_date(column.type):
        micros = pc.multiply(column.view(pa.int32()).cast(pa.int64()), _DAY_US)
        return event_times(micros, kafka_ms, _in_micros(spec), now_s)
    if pa.types.is_int64(column.type):
        return event_times(column, kafka_ms, spec, now_s)
    if pa.types.is_decimal(column.type) and column.type.scale == 0:
        return event_times(_whole(column), kafka_ms, spec, now_s)
    marker = _marker_of(column.type)
    if marker is not None:
        raw = [marker if is_there else None for is_there in column.is_valid().to_pylist()]
        return event_times(raw, kafka_ms, spec, now_s)
    return event_times(values_of(column), kafka_ms, spec, now_s)


def _marker_of(kind: pa.DataType) -> object | None:
    """An example of a kind that holds no times: such values are there, and cannot be read."""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return {}
    if pa.types.is_nested(kind):
        return []
    if pa.types.is_binary(kind):
        return b""
    return Decimal(0) if pa.types.is_decimal(kind) else None


def _whole(column: pa.Array) -> pa.Array | list[int | None]:
    """Decimals without a scale as whole numbers; a list where one of them has over 64 bits."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return [None if value is None else int(value) for value in column.to_pylist()]


@lru_cache(maxsize=64)
def _in_micros(spec: TimeSpec) -> TimeSpec:
    return msgspec.structs.replace(spec, unit="us")
