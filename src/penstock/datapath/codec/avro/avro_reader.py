"""Avro records to columns: the fast way for all of a batch, the reference for what it refuses."""

from functools import partial

import numpy as np
import pyarrow as pa

from penstock.api.codec import DecodedBatch, Message, RecordReader
from penstock.datapath.codec.avro.columns import AvroPlan, avro_plan, read_columns
from penstock.datapath.codec.avro.reference import read_one
from penstock.datapath.codec.avro.types import parse_avro
from penstock.datapath.codec.shared.reasons import BadValue
from penstock.datapath.codec.shared.record_order import in_record_order
from penstock.model.bad_records import BadRecord
from penstock.model.registered_schema import RegisteredSchema


def avro_reader(schema: RegisteredSchema, _message: Message = ()) -> RecordReader:
    """Make a schema ready for reading; raises SchemaUnsupported."""
    root = parse_avro(schema.text, tuple(text for _, text in schema.references))
    plan = avro_plan(root)
    return RecordReader(root.name, plan.fields, partial(read_avro, plan))


def read_avro(
    plan: AvroPlan, values: pa.Array, skipped: int, exact_only: bool = False
) -> DecodedBatch:
    """Read records of one schema; `exact_only` leaves all of them to the reference."""
    batch, refused = read_columns(values.slice(0, 0) if exact_only else values, plan, skipped)
    if exact_only:
        refused = np.ones(len(values), bool)
    if not refused.any():
        return DecodedBatch(batch, np.arange(len(values)), [])
    rows, singles, bad = [], [], []
    for row in np.flatnonzero(refused).tolist():
        try:
            singles.append(read_one(values[row].as_py(), plan.root, plan.shape, skipped))
            rows.append(row)
        except BadValue as bad_value:
            bad.append(BadRecord(row, bad_value.reason, str(bad_value)))
    slow = pa.RecordBatch.from_pylist(singles, schema=plan.schema)
    return in_record_order(batch, np.flatnonzero(~refused), slow, np.array(rows, np.int64), bad)
