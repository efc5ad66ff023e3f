"""Thrift records to columns, all records of one struct at a time.

A struct is made into tables once (`program`), and a compiled loop reads the bytes of each record by
them (`program_reader`). A record that the loop refuses is judged by the reference, which reads all
that Thrift allows, and says what is wrong with the rest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.byte_gather import Mask, Numbers
from penstock.datapath.codec.shared.column_pools import ItemRates, Pools, filled
from penstock.datapath.codec.shared.column_tree import ColumnMaker
from penstock.datapath.codec.shared.compiled_bytes import padded
from penstock.datapath.codec.thrift.program import StructProgram, struct_program
from penstock.datapath.codec.thrift.program_reader import STACK_FACTS, read_records
from penstock.datapath.codec.thrift.struct_layout import StructLayout
from penstock.datapath.codec.thrift.types import MOST_LEVELS


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A program, and how many items its records had."""

    program: StructProgram
    rates: ItemRates


@lru_cache(maxsize=512)
def _plan(layout: StructLayout) -> _Plan:
    program = struct_program(layout)
    return _Plan(program, ItemRates(np.zeros(program.layout.level_count)))


def read_columns(
    values: pa.Array, layout: StructLayout, skipped: int
) -> tuple[pa.RecordBatch, Mask]:
    """The records that could be read, in their order, and a mask of those that are refused.

    The first bytes of every payload, as many as `skipped`, are not Thrift's.
    """
    plan = _plan(layout)
    program = plan.program
    payloads, bad = padded(values, skipped, program.symbols), np.zeros(len(values), bool)
    stack = np.zeros((STACK_FACTS, max(program.depth, MOST_LEVELS)), np.int64)

    def read(pools: Pools, walk: Numbers, first: int) -> int:
        return read_records(program.program, payloads, pools, walk, stack, bad, first)

    pools, counts = filled(program.layout, plan.rates, len(values), read)
    maker = ColumnMaker(payloads, pools, counts, bad)
    arrays = [maker.make(node) for node in program.nodes]
    batch = pa.RecordBatch.from_arrays(arrays, schema=layout.schema)
    if bad.any():
        batch = batch.filter(pa.array(~bad))
    return batch, bad
