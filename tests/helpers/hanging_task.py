"""A task that does not come to its end by itself, for tests of timeouts on a real Spark."""

import time
from collections.abc import Iterable, Iterator

import pyarrow as pa

from penstock.api.source import REPORT


def hang(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Ten minutes for each batch."""
    for _ in batches:
        time.sleep(600.0)
    yield pa.RecordBatch.from_pydict({REPORT: pa.array([b""], pa.binary())})
