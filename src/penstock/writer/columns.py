"""Our own columns beside those of the event: where a row comes from."""

from typing import Any

import pyarrow as pa

from penstock.model.spec import FeedSpec
from penstock.model.window import StageOrder

TIMESTAMP = pa.timestamp("ms", tz="UTC")


def meta_columns(feed: FeedSpec, order: StageOrder, batch: Any, rows: Any, columns: Any) -> Any:
    """The event's columns followed by `_topic`, `_partition`, `_offset`, `_timestamp` and more."""
    chosen = pa.array(rows)
    count = len(rows)
    names = [*columns.schema.names, "_topic", "_partition", "_offset", "_timestamp"]
    topic = batch["topic"][0].as_py()
    arrays = [
        *columns.columns,
        constant(topic, count),
        pa.repeat(batch["partition"][0], count),
        pa.array(batch["offset"].to_numpy()[rows]),
        pa.array(batch["timestamp"].to_numpy()[rows]).view(TIMESTAMP),
    ]
    if "key" in feed.include:
        names.append("_key")
        arrays.append(batch["key"].take(chosen))
    if "headers" in feed.include:
        names.append("_headers")
        arrays.append(batch["headers"].take(chosen))
    if "window" in feed.include:
        names.append("_window")
        arrays.append(constant(order.window, count))
    return pa.RecordBatch.from_arrays(arrays, names=names)


def constant(text: str, count: int) -> Any:
    """One text for all rows, stored once."""
    zeros = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(bytes(4 * count))])
    return pa.DictionaryArray.from_arrays(zeros, pa.array([text], pa.string()))
