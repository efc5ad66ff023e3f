"""Protobuf records to columns, all records of one message at a time.

A message is made into tables once (`program`), and a compiled loop reads the bytes of each record
by them (`program_reader`). A record that the loop refuses is judged by the reference, which reads
all that Protobuf allows, and says what is wrong with the rest.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.protobuf.message_layout import MessageLayout
from penstock.datapath.codec.protobuf.program import MessageProgram, message_program
from penstock.datapath.codec.protobuf.program_reader import read_records
from penstock.datapath.codec.protobuf.reference import MOST_ITEMS
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers
from penstock.datapath.codec.shared.column_pools import ItemRates, Pools, filled
from penstock.datapath.codec.shared.column_tree import ColumnMaker
from penstock.datapath.codec.shared.compiled_bytes import padded

_FRAME_FACTS = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Plan:
    """A program, and how many items its records had."""

    program: MessageProgram
    rates: ItemRates


@lru_cache(maxsize=512)
def _plan(layout: MessageLayout) -> _Plan:
    program = message_program(layout)
    return _Plan(program, ItemRates(np.zeros(program.layout.level_count)))


def read_columns(
    values: pa.Array, layout: MessageLayout, skipped: int
) -> tuple[pa.RecordBatch, Mask]:
    """The records that could be read, in their order, and a mask of those that are refused.

    The first bytes of every payload, as many as `skipped`, are not Protobuf's.
    """
    plan = _plan(layout)
    program = plan.program
    payloads, bad = padded(values, skipped, program.symbols), np.zeros(len(values), bool)
    # No item takes less than a byte, so that this bounds their number as the reference does.
    is_long = payloads.ends - payloads.begins > MOST_ITEMS
    if is_long.any():
        begins = np.where(is_long, payloads.ends + 1, payloads.begins)
        payloads = payloads._replace(begins=begins)
    frames = np.zeros((_FRAME_FACTS, program.depth), np.int64)

    def read(pools: Pools, walk: Numbers, first: int) -> int:
        return read_records(program.program, payloads, pools, walk, frames, bad, first)

    pools, counts = filled(program.layout, plan.rates, len(values), read)
    maker = ColumnMaker(payloads, pools, counts, bad)
    arrays = [maker.make(node) for node in program.nodes]
    batch = pa.RecordBatch.from_arrays(arrays, schema=layout.schema)
    if bad.any():
        batch = batch.filter(pa.array(~bad))
    return batch, bad
