"""Avro records to columns, all records of one schema at a time.

A schema is made into a program once (`program`), and a compiled loop runs it over the bytes of each
record (`program_reader`). A record that the loop refuses is judged by the reference, which says
what is wrong with it, if anything is.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.avro.program import RecordProgram, record_program
from penstock.datapath.codec.avro.program_reader import read_records
from penstock.datapath.codec.avro.schema import as_record, columns_of_avro
from penstock.datapath.codec.avro.types import AvroType
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers
from penstock.datapath.codec.shared.column_pools import ItemRates, Pools, filled
from penstock.datapath.codec.shared.column_tree import ColumnMaker
from penstock.datapath.codec.shared.compiled_bytes import padded
from penstock.datapath.codec.shared.shapes import Shape, shape_of
from penstock.model.schema import Field, struct_of


@dataclass(frozen=True, slots=True, eq=False)
class AvroPlan:
    """All that reading records of one schema needs."""

    root: AvroType
    fields: tuple[Field, ...]
    shape: Shape
    schema: pa.Schema
    program: RecordProgram
    rates: ItemRates


@lru_cache(maxsize=512)
def avro_plan(root: AvroType) -> AvroPlan:
    """Compile a schema; raises SchemaUnsupported."""
    fields = columns_of_avro(root)
    if not fields:
        is_record = root.kind == "record"
        why = "an event without fields has no columns" if is_record else "there is nothing but null"
        raise SchemaUnsupported("$", why)
    root = as_record(root)
    shape = shape_of(struct_of(fields), "")
    columns = zip(fields, shape.arrow, strict=True)
    schema = pa.schema([pa.field(c.name, c.type, field.nullable) for field, c in columns])
    program = record_program(root, shape)
    rates = ItemRates(np.zeros(program.layout.level_count))
    return AvroPlan(root, fields, shape, schema, program, rates)


def read_columns(values: pa.Array, plan: AvroPlan, skipped: int) -> tuple[pa.RecordBatch, Mask]:
    """The records that could be read, in their order, and a mask of those that are refused.

    The first bytes of every payload, as many as `skipped`, are not Avro's.
    """
    program = plan.program
    payloads, bad = padded(values, skipped, program.symbols), np.zeros(len(values), bool)

    def read(pools: Pools, walk: Numbers, first: int) -> int:
        return read_records(program.program, payloads, pools, walk, bad, first)

    pools, counts = filled(program.layout, plan.rates, len(values), read)
    maker = ColumnMaker(payloads, pools, counts, bad)
    arrays = [maker.make(node) for node in program.nodes]
    batch = pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
    if bad.any():
        batch = batch.filter(pa.array(~bad))
    return batch, bad
