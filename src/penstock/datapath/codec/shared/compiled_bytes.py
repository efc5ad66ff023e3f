"""Numbers and pieces of bytes at one place of a buffer, for compiled loops over records.

Whoever reads keeps `at <= end`, the end of the record, before every step. A step may look a few
bytes further, which are there because buffers are padded (`padded`), and says `BEYOND` when what it
met cannot be. So one comparison behind each step finds both: a record that was cut short, and one
that cannot be read.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets, Words, overlapping
from penstock.datapath.codec.shared.compiled import compiled, inlined
from penstock.datapath.codec.shared.value_types import Integer

BEYOND = 2**62  # behind the end of every record
_PAD = bytes(16)  # more than a step looks further, and than a copy of whole words writes further
_WORD = 8
_ALL_BUT_SIGN = 2**63 - 1


class Payloads(NamedTuple):
    """Bytes of records: from where to where each is. `words` has eight bytes at every place.

    `symbols` is where those of enums begin, behind all records.
    """

    data: Octets
    words: Words
    begins: Numbers
    ends: Numbers
    symbols: int


def padded(values: pa.Array, skipped: int, symbols: bytes = b"") -> Payloads:
    """The bytes of all payloads; the first ones of each, as many as `skipped`, do not count."""
    data, offsets = buffers_of(values)
    joined = np.concatenate((data, np.frombuffer(symbols + _PAD, np.uint8)))
    begins, ends = offsets[:-1] + skipped, offsets[1:].copy()
    return Payloads(joined, overlapping(joined, "<i8"), begins, ends, len(data))


@inlined
def varint(data: Octets, at: int) -> tuple[Integer, Integer]:
    """A number of seven bits per byte, lowest first, as 64 bits; and where the next value begins.

    Reads at most ten bytes.
    """
    byte = np.int64(data[at])
    if byte < 128:
        return byte, at + 1
    found = byte & 127
    for place in range(1, 10):
        byte = np.int64(data[at + place])
        found |= (byte & 127) << (7 * place)
        if byte < 128:
            if place == 9 and byte > 1:
                break
            return found, at + place + 1
    return np.int64(0), BEYOND


@inlined
def zigzag(data: Octets, at: int) -> tuple[Integer, Integer]:
    """A varint with its sign in the lowest bit; and where the next value begins."""
    found, then = varint(data, at)
    return ((found >> 1) & _ALL_BUT_SIGN) ^ -(found & 1), then


@compiled
def copy_pieces(words: Words, starts: Numbers, sizes: Words, offsets: Words, target: Words) -> None:
    """Copy pieces one behind the other, and write down where each begins.

    In steps of eight bytes: what is copied too much is overwritten by the next piece, and behind
    the last one there is room.
    """
    to = np.int64(0)
    for piece in range(len(starts)):
        offsets[piece] = to
        start, size = starts[piece], np.int64(sizes[piece])
        for step in range(0, size, 8):
            target[to + step] = words[start + step]
        to += size
    offsets[len(starts)] = to


def gathered(words: Words, starts: Numbers, sizes: Words) -> tuple[Words, Octets]:
    """Pieces of the data end to end, and the offsets between them as Arrow keeps them."""
    total = int(sizes.sum(dtype=np.int64))
    if total >= 2**31:
        raise OverflowError(f"{total} bytes in one column of a batch")
    joined = np.empty(total + 2 * _WORD, np.uint8)
    offsets = np.empty(len(starts) + 1, np.int32)
    copy_pieces(words, starts, sizes, offsets, overlapping(joined, "<i8"))
    return offsets, joined[:total]
