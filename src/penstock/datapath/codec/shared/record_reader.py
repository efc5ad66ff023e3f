"""Records that were written with a schema of their own, as columns of that schema.

Every binary format gives a `Writer` per schema. Records of one writer are read together; what the
columns of a dataset are made of them is the business of `codec.projection`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.datapath.codec.shared.value_count import RowRange
from penstock.model.bad_records import BadRecord
from penstock.model.schema import Field


@dataclass(frozen=True, slots=True)
class DecodedBatch:
    """Records as columns: `batch` holds the good ones in their order, `good` says which they were.

    A column is named as its field's column, and is of the type that the field's type has. `rest` is
    the JSON of what has no column, if there is any.
    """

    batch: pa.RecordBatch
    good: Numbers
    bad: list[BadRecord]
    rest: pa.Array | None = None

    def taken(self, members: Numbers) -> "DecodedBatch":
        """Some of the good records, by their places among them."""
        if len(members) == len(self.good):
            return self
        some = pa.array(members)
        rest = None if self.rest is None else self.rest.take(some)
        return DecodedBatch(self.batch.take(some), self.good[members], [], rest)


def _whole(values: pa.Array) -> Iterable[RowRange]:
    return [RowRange(0, len(values))]


@dataclass(frozen=True, slots=True, eq=False)
class RecordReader:
    """A schema made ready for reading. `name` is what its author calls the record.

    `read` is given payloads and how many of their first bytes are not the format's own. It never
    raises for what payloads hold. Payloads are cut by `spans` before, so that what they become is
    bounded.
    """

    name: str
    fields: tuple[Field, ...]
    read: Callable[[pa.Array, int], DecodedBatch]
    row_ranges: Callable[[pa.Array], Iterable[RowRange]] = _whole


def in_record_order(
    fast: pa.RecordBatch,
    fast_rows: Numbers,
    slow: pa.RecordBatch,
    slow_rows: Numbers,
    bad: list[BadRecord],
) -> DecodedBatch:
    """What two ways have read of one batch, in the order of the records."""
    if len(slow_rows) == 0:
        return DecodedBatch(fast, fast_rows, bad)
    rows = np.concatenate((fast_rows, slow_rows))
    order = np.argsort(rows, kind="stable")
    batch = pa.concat_batches([fast, slow]).take(pa.array(order))
    return DecodedBatch(batch, rows[order], bad)
