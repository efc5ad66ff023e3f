"""What two ways of reading have made of one batch, joined in the order of the records."""

import numpy as np
import pyarrow as pa

from penstock.api.codec import DecodedBatch
from penstock.datapath.codec.shared.byte_gather import Numbers
from penstock.model.bad_records import BadRecord


def in_record_order(
    fast: pa.RecordBatch,
    fast_rows: Numbers,
    slow: pa.RecordBatch,
    slow_rows: Numbers,
    bad: list[BadRecord],
) -> DecodedBatch:
    """The records of both ways as one batch, the slow ones marked; neither read the `bad`."""
    if len(slow_rows) == 0:
        return DecodedBatch(fast, fast_rows, bad)
    rows = np.concatenate((fast_rows, slow_rows))
    order = np.argsort(rows, kind="stable")
    batch = pa.concat_batches([fast, slow]).take(pa.array(order))
    is_slow = np.arange(len(rows))[order] >= len(fast_rows)
    return DecodedBatch(batch, rows[order], bad, by_reference=is_slow)
