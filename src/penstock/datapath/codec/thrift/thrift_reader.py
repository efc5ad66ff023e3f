"""Thrift records to columns: the fast way for a batch, the reference for what it refuses."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from penstock.api.codec import DecodedBatch, Message, RecordReader, RowRange
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.reasons import BadValue
from penstock.datapath.codec.shared.record_order import in_record_order
from penstock.datapath.codec.shared.single_records import SingleRecords
from penstock.datapath.codec.shared.value_count import MOST_AT_ONCE
from penstock.datapath.codec.thrift.columns import read_columns
from penstock.datapath.codec.thrift.reference import read_one
from penstock.datapath.codec.thrift.struct_layout import StructLayout, struct_layout
from penstock.datapath.codec.thrift.types import parse_thrift
from penstock.model.bad_records import BadRecord
from penstock.model.registered_schema import RegisteredSchema

MOST_VALUES = Limits().max_values


def thrift_reader(schema: RegisteredSchema, _message: Message = ()) -> RecordReader:
    """Compile the struct of a schema for reading; raises SchemaUnsupported.

    The schema's text is what `idl.fixed_struct` makes of a file on the driver.
    """
    layout = struct_layout(parse_thrift(schema.text))
    return RecordReader(
        layout.name, layout.fields, partial(read_thrift, layout), partial(_row_ranges, layout)
    )


def _row_ranges(layout: StructLayout, values: pa.Array) -> Iterator[RowRange]:
    return layout.counter.row_ranges(values, MOST_AT_ONCE)


def read_thrift(
    layout: StructLayout,
    values: pa.Array,
    skipped: int,
    exact_only: bool = False,
    most: int = MOST_VALUES,
) -> DecodedBatch:
    """Read records of one struct; `exact_only` leaves all of them to the reference.

    `most` is how many values the lists of one record may become, where their items are structs.
    """
    light = np.empty(0, np.int64) if exact_only else layout.counter.light(values, most)
    some = values if len(light) == len(values) else values.take(pa.array(light))
    batch, refused = read_columns(some, layout, skipped)
    good = light[~refused] if refused.any() else light
    if len(good) == len(values):
        return DecodedBatch(batch, good, [])
    slow = SingleRecords(layout.schema, layout.counter.width)
    for row in np.setdiff1d(np.arange(len(values)), good, assume_unique=True).tolist():
        try:
            slow.add(row, *read_one(values[row].as_py(), layout, skipped, most))
        except BadValue as bad_value:
            slow.bad.append(BadRecord(row, bad_value.reason, str(bad_value)))
    rows = np.array(slow.rows, np.int64)
    return in_record_order(batch, good, slow.batch(), rows, slow.bad)
