"""Our own columns beside those of the event: where a row comes from."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from penstock.api.file_format import KEY, VALUE
from penstock.datapath.shape.event_time.zones import Micros
from penstock.datapath.stage.row_arrays import BatchRows
from penstock.datapath.stage.shred_plan import ShredPlan
from penstock.evidence.position_columns import Offsets
from penstock.model.spec import FeedSpec

TIMESTAMP = pa.timestamp("ms", tz="UTC")
KEPT = ("key", "headers")


def extra_columns(feed: FeedSpec, some: BatchRows) -> dict[str, pa.Array]:
    """The columns of a record that a feed wants to keep beside those of the event."""
    rows = pa.array(some.rows)  # copied, also if that is all: a column holds its whole batch
    return {f"_{name}": some.batch[name].take(rows) for name in KEPT if name in feed.include}


def record_columns(some: BatchRows) -> pa.RecordBatch:
    """The columns of rows in files that hold records as they came."""
    rows = pa.array(some.rows)  # copied, as above
    columns = {VALUE: some.batch["value"], KEY: some.batch["key"]}
    return pa.RecordBatch.from_pydict({name: each.take(rows) for name, each in columns.items()})


def row_column(numbers: Offsets) -> pa.Array:
    """The column that tells the rows of one record apart."""
    return pa.array(numbers).cast(pa.int32())


def with_meta_columns(
    plan: ShredPlan,
    place: tuple[str, Offsets],
    columns: pa.RecordBatch,
    offsets: Offsets,
    kafka_ms: Micros,
    extras: Mapping[str, pa.Array],
) -> pa.RecordBatch:
    """The event's columns followed by `_topic`, `_partition`, `_offset`, `_timestamp` and more.

    `place` has the topic of all rows, and the partition of each.
    """
    count = len(offsets)
    topic, partitions = place
    ours = {
        "_topic": constant(topic, count),
        "_partition": pa.array(partitions.astype(np.int32)),
        "_offset": pa.array(offsets),
        "_timestamp": pa.array(kafka_ms).view(TIMESTAMP),
        **extras,
    }
    if "window" in plan.feed.include:
        ours["_window"] = constant(plan.order.window, count)
    names = [*columns.schema.names, *ours]
    return pa.RecordBatch.from_arrays([*columns.columns, *ours.values()], names=names)


def constant(text: str, count: int) -> pa.Array:
    """One text for all rows, stored once."""
    zeros = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])
    return pa.DictionaryArray.from_arrays(zeros, pa.array([text], pa.string()))
