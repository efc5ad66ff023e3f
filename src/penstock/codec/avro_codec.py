"""Avro records to columns: the fast way for all of a batch, the reference for what it refuses."""

from functools import partial

import numpy as np
import pyarrow as pa

from penstock.codec.avro_columns import AvroPlan, avro_plan, read_columns
from penstock.codec.avro_reference import read_one
from penstock.codec.avro_types import parse_avro
from penstock.codec.scalars import Misfit
from penstock.codec.written import Read, Writer, merged_read
from penstock.model.registered import RegisteredSchema
from penstock.model.rows import BadRecord


def avro_writer(schema: RegisteredSchema) -> Writer:
    """Make a schema ready for reading; raises SchemaUnsupported."""
    root = parse_avro(schema.text, tuple(text for _, text in schema.references))
    plan = avro_plan(root)
    return Writer(root.name, plan.fields, partial(read_avro, plan))


def read_avro(plan: AvroPlan, values: pa.Array, skipped: int, exact_only: bool = False) -> Read:
    """Read records of one schema; `exact_only` leaves all of them to the reference."""
    batch, refused = read_columns(values, plan, skipped)
    if exact_only:
        batch, refused = batch.slice(0, 0), np.ones(len(values), bool)
    if not refused.any():
        return Read(batch, np.arange(len(values)), [])
    rows, singles, bad = [], [], []
    for row in np.flatnonzero(refused).tolist():
        try:
            singles.append(read_one(values[row].as_py(), plan.root, plan.shape, skipped))
            rows.append(row)
        except Misfit as misfit:
            bad.append(BadRecord(row, misfit.reason, str(misfit)))
    slow = pa.RecordBatch.from_pylist(singles, schema=plan.schema)
    return merged_read(batch, np.flatnonzero(~refused), slow, np.array(rows, np.int64), bad)
