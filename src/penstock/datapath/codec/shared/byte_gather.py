"""Bytes at many places of one buffer, in a few array operations."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import is_utf8

Octets = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words: TypeAlias = npt.NDArray[Any]  # Any: numbers of a kind that is chosen at run time


def overlapping(data: Octets, kind: str) -> Words:
    """A number of a numpy kind such as `<u8` at every single byte, so that any place has one."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))


def slices(data: Octets, start: Numbers, end: Numbers) -> pa.Array:
    """Pieces of the data, in ascending order, as an array of bytes.

    Arrow copies them: as every other value of an array in which the gaps are values, too.
    """
    if len(start) == 0:
        return pa.array([], pa.binary())
    bounds = np.empty(2 * len(start), np.int32)
    bounds[0::2] = start
    bounds[1::2] = end
    count = len(bounds) - 1
    both = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(bounds), pa.py_buffer(data)]
    )
    return both.take(pa.array(np.arange(0, count, 2)))


def texts(data: Octets, start: Numbers, end: Numbers) -> tuple[pa.Array, Mask | None]:
    """Pieces of the data as texts, and a mask of those that are none, which are empty then."""
    found = slices(data, start, end)
    if _is_ascii(found):
        return found.view(pa.string()), None
    try:
        return found.cast(pa.string()), None
    except pa.ArrowInvalid:
        wrong = np.array([not is_utf8(each) for each in found.to_pylist()])
        return slices(data, start, np.where(wrong, start, end)).cast(pa.string()), wrong


def _is_ascii(pieces: pa.Array) -> bool:
    """True if no byte has its highest bit, as in most texts: then all are UTF-8, at one look."""
    octets = pieces.buffers()[2]
    return octets is None or not (np.frombuffer(octets, np.int8) < 0).any()
