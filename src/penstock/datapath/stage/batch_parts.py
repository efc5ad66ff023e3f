"""The parts of a batch that are of one topic and partition each."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa


def in_parts(batch: pa.RecordBatch, only_topic: str) -> Iterator[tuple[str, int, pa.RecordBatch]]:
    """The parts of a batch that are of one topic and partition each, in the order they came in.

    A batch without the column `topic` is of the only topic that is read.
    """
    if not batch.num_rows:
        return
    partitions = batch["partition"].to_numpy()
    is_new = partitions[1:] != partitions[:-1]
    topics = batch["topic"].dictionary_encode() if "topic" in batch.schema.names else None
    if topics is not None:
        codes = topics.indices.to_numpy()
        is_new |= codes[1:] != codes[:-1]
    starts = [0, *(np.flatnonzero(is_new) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        topic = only_topic if topics is None else topics[start].as_py()
        yield topic, int(partitions[start]), batch.slice(start, end - start)
