"""Payloads as Arrow holds them: their bytes end to end, and where each begins."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def as_payloads(values: pa.Array) -> pa.Array:
    """The array as binary or large_binary without nulls; anything else is a caller's mistake."""
    if values.null_count:
        raise ValueError("a codec is given values only; records without one are handled before")
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return values
    return values.cast(pa.large_binary())


def buffers_of(values: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of all payloads end to end, and where each begins; the last entry is the end."""
    if len(values) == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = values.buffers()
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    ends = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1]
    start, stop = int(ends[0]), int(ends[-1])
    joined = np.frombuffer(data, np.uint8)[start:stop] if stop > start else np.empty(0, np.uint8)
    return joined, ends.astype(np.int64) - start


def is_utf8(payload: bytes) -> bool:
    """True when the bytes are a text."""
    try:
        payload.decode()
    except UnicodeDecodeError:
        return False
    return True
