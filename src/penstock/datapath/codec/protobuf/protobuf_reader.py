"""Protobuf records to columns: the fast way for a batch, the reference for what it refuses."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.api.codec import (
    DecodedBatch,
    Message,
    RecordReader,
    RowRange,
)
from penstock.datapath.codec.protobuf.columns import read_columns
from penstock.datapath.codec.protobuf.message_layout import MessageLayout, message_layout
from penstock.datapath.codec.protobuf.reference import read_one
from penstock.datapath.codec.protobuf.types import parse_proto
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import BadValue
from penstock.datapath.codec.shared.record_order import in_record_order
from penstock.datapath.codec.shared.single_records import SingleRecords
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE
from penstock.model.bad_records import BadRecord
from penstock.model.registered_schema import RegisteredSchema

MOST_VALUES = Limits().max_values


def protobuf_reader(schema: RegisteredSchema, message: Message) -> RecordReader:
    """Compile one message of a schema for reading; raises SchemaUnsupported.

    The schema's text is what `schema_compiler` makes of it on the driver. `message` is the place of
    the message in it: (0,) is the first, (1, 0) the first one inside the second.
    """
    layout = proto_layout(schema, message)
    return RecordReader(
        layout.name, layout.fields, partial(read_proto, layout), partial(_row_ranges, layout)
    )


def _row_ranges(layout: MessageLayout, values: pa.Array) -> Iterator[RowRange]:
    return layout.counter.row_ranges(values, MOST_AT_ONCE)


def proto_layout(schema: RegisteredSchema, message: tuple[int, ...]) -> MessageLayout:
    """What both ways of reading need of a message; raises SchemaUnsupported."""
    types = parse_proto(schema.text)
    return message_layout(types, types.message_at(message))


def read_proto(
    layout: MessageLayout,
    values: pa.Array,
    skipped: int,
    exact_only: bool = False,
    most: int = MOST_VALUES,
) -> DecodedBatch:
    """Read records of one message; `exact_only` leaves all of them to the reference.

    `most` is how many values the lists of one record may become, where their items are messages.
    """
    fast = _none(layout) if exact_only else _read_fast(layout, values, skipped, most)
    if len(fast.good) == len(values):
        return fast
    refused = np.setdiff1d(np.arange(len(values)), fast.good, assume_unique=True)
    slow = SingleRecords(layout.schema, layout.counter.width)
    for row in refused.tolist():
        try:
            slow.add(row, *read_one(values[row].as_py(), layout.body, skipped, most))
        except BadValue as bad_value:
            slow.bad.append(BadRecord(row, bad_value.reason, str(bad_value)))
    rows = np.array(slow.rows, np.int64)
    return in_record_order(fast.batch, fast.good, slow.batch(), rows, slow.bad)


def _none(layout: MessageLayout) -> DecodedBatch:
    empty = pa.RecordBatch.from_pylist([], schema=layout.schema)
    return DecodedBatch(empty, np.empty(0, np.int64), [])


def _read_fast(layout: MessageLayout, values: pa.Array, skipped: int, most: int) -> DecodedBatch:
    """What the fast way can read; none of the others is among the bad.

    A record that may become too many values is left alone.
    """
    light = layout.counter.light(values, most)
    some = values if len(light) == len(values) else values.take(pa.array(light))
    batch, refused = read_columns(some, layout, skipped)
    return DecodedBatch(batch, light[~refused] if refused.any() else light, [])
