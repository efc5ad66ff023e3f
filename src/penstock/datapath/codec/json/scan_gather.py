"""From what was scanned to the buffers of Arrow: bits, offsets and texts, all columns at once.

Compiled. A column is a range of numbers in one long array: it begins at `bases[n]` and has
`counts[n]` values.
"""

import numpy as np
import numpy.typing as npt

from penstock.datapath.codec.json.scan_text import copy_bytes, unescape
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import pointer_to, uint64, word_at

Offsets = npt.NDArray[np.int32]
_TO_BITS = np.uint64(0x0102040810204080)
_SIZE = 0x7FFFFFFF


@compiled
def spread_log(log: Numbers, used: int, bases: Numbers, values: Numbers, valid: Octets) -> None:
    """Put what the log holds into columns; `bases` are by node here."""
    for entry in range(used):
        key = log[2 * entry]
        place = bases[key >> 32] + (key & 0xFFFFFFFF)
        values[place] = log[2 * entry + 1]
        valid[place] = 1


@compiled
def pack_bits(
    flags: Octets, bases: Numbers, counts: Numbers, out: Octets, starts: Numbers, clear: Numbers
) -> None:
    """Eight flags to a byte, the first one lowest; `clear` becomes the number of those not set.

    Behind the flags of a column there may be anything, as long as it is memory.
    """
    for column in range(len(bases)):
        base, count, to, are_set = bases[column], counts[column], starts[column], 0
        for at in range(0, count, 8):
            word = word_at(flags, base + at)
            if count - at < 8:
                word &= (uint64(1) << uint64(8 * (count - at))) - uint64(1)
            bits = (word * _TO_BITS) >> uint64(56)
            out[to + (at >> 3)] = bits
            while bits:
                bits &= bits - uint64(1)
                are_set += 1
        clear[column] = count - are_set


@compiled
def text_sizes(
    values: Numbers, valid: Octets, bases: Numbers, counts: Numbers, sizes: Numbers
) -> None:
    """How many bytes the texts of each column take at most."""
    for column in range(len(bases)):
        total = 0
        for at in range(bases[column], bases[column] + counts[column]):
            if valid[at]:
                total += values[at] >> 1 & _SIZE
        sizes[column] = total


@compiled
def gather_texts(
    data: Octets,
    values: Numbers,
    valid: Octets,
    bases: Numbers,
    counts: Numbers,
    offsets: Offsets,
    out: Octets,
    starts: Numbers,
) -> None:
    """Copy texts one behind the other, without their escapes.

    The offsets of all columns lie one behind the other, too, with one more than there are values.
    """
    texts, place = pointer_to(data), 0
    copies = pointer_to(out)
    for column in range(len(bases)):
        start = to = starts[column]
        for at in range(bases[column], bases[column] + counts[column]):
            offsets[place] = to - start
            place += 1
            if valid[at]:
                text = values[at]
                begin, size = text >> 32, text >> 1 & _SIZE
                if text & 1:
                    to = unescape(texts, begin, begin + size, copies, to)
                else:
                    to = copy_bytes(texts, begin, begin + size, copies, to)
        offsets[place] = to - start
        place += 1


@compiled
def sum_counts(
    values: Numbers, valid: Octets, bases: Numbers, counts: Numbers, offsets: Offsets
) -> None:
    """The offsets of lists, of which each value is a number of items."""
    place = 0
    for column in range(len(bases)):
        total = 0
        for at in range(bases[column], bases[column] + counts[column]):
            offsets[place] = total
            place += 1
            if valid[at]:
                total += values[at]
        offsets[place] = total
        place += 1
