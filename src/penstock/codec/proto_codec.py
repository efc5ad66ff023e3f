"""Protobuf records to columns: the fast way for a batch, the reference for what it refuses."""

from functools import partial

import numpy as np
import pyarrow as pa

from penstock.codec.proto_columns import read_columns
from penstock.codec.proto_layout import Layout, layout_of
from penstock.codec.proto_reference import read_one
from penstock.codec.proto_types import parse_proto
from penstock.codec.scalars import Misfit
from penstock.codec.written import Read, Writer, merged_read
from penstock.model.registered import RegisteredSchema
from penstock.model.rows import BadRecord


def proto_writer(schema: RegisteredSchema, message: tuple[int, ...]) -> Writer:
    """Make one message of a schema ready for reading; raises SchemaUnsupported.

    The schema's text is what `engine.proto_compile` makes of it on the driver. `message` is the
    place of the message in it: (0,) is the first, (1, 0) the first one inside the second.
    """
    layout = proto_layout(schema, message)
    return Writer(layout.name, layout.fields, partial(read_proto, layout))


def proto_layout(schema: RegisteredSchema, message: tuple[int, ...]) -> Layout:
    """What both ways of reading need of a message; raises SchemaUnsupported."""
    types = parse_proto(schema.text)
    return layout_of(types, types.message_at(message))


def read_proto(layout: Layout, values: pa.Array, skipped: int, exact_only: bool = False) -> Read:
    """Read records of one message; `exact_only` leaves all of them to the reference."""
    fast = _none(layout) if exact_only else _read_fast(layout, values, skipped)
    if len(fast.good) == len(values):
        return fast
    refused = np.setdiff1d(np.arange(len(values)), fast.good, assume_unique=True)
    rows, singles, bad = [], [], []
    for row in refused.tolist():
        try:
            singles.append(read_one(values[row].as_py(), layout.body, skipped))
            rows.append(row)
        except Misfit as misfit:
            bad.append(BadRecord(row, misfit.reason, str(misfit)))
    slow = pa.RecordBatch.from_pylist(singles, schema=layout.schema)
    return merged_read(fast.batch, fast.good, slow, np.array(rows, np.int64), bad)


def _none(layout: Layout) -> Read:
    empty = pa.RecordBatch.from_pylist([], schema=layout.schema)
    return Read(empty, np.empty(0, np.int64), [])


def _read_fast(layout: Layout, values: pa.Array, skipped: int) -> Read:
    """What is in one of the orders that writers have; none of the others is among the bad."""
    batch, refused = read_columns(values, layout, layout.body, skipped)
    read = Read(batch, np.flatnonzero(~refused), [])
    left = np.flatnonzero(refused)
    for body in layout.others:
        if len(left) == 0:
            break
        more, refused = read_columns(values.take(pa.array(left)), layout, body, skipped)
        read = merged_read(read.batch, read.good, more, left[~refused], [])
        left = left[refused]
    return read
