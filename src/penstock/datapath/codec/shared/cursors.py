"""Reading many records of a binary format at once: every record has a cursor of its own.

A step reads the same kind of value at every cursor, for all records in a few array operations, and
moves each cursor by as much as its own record had. So the end of a record is never guessed: a
cursor that would leave its record, or meets what cannot be, refuses that record and no other. What
is refused is judged by the slow way, which says why.

    data    ..[record 0........][record 1....][record 2..........]..
    at            ^                  ^              ^
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets, Words, overlapping

_PAD = np.zeros(16, np.uint8)  # every step may look this far beyond a record
_HIGH_BITS = np.uint64(0x8080808080808080)
# Where the seven bits of each byte have to go, in three halvings: mask of what stays, of what
# moves, and by how many bits.
_SQUEEZE = tuple(
    (np.uint64(stays), np.uint64(moves), np.uint64(by))
    for stays, moves, by in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)
_LONGEST_VARINT = 10


@dataclass(slots=True)
class Cursors:
    """A cursor per record. `bad` marks records that are refused; their cursors stand still.

    Lanes are in the order of the records in `data`. Used by one thread. As long as nothing is
    refused, which is nearly always, steps need not look at `bad`.
    """

    data: Octets
    at: Numbers
    end: Numbers
    bad: Mask
    is_whole: bool = True

    def __len__(self) -> int:
        """How many records are read."""
        return len(self.at)

    def some(self, chosen: Numbers) -> "Cursors":
        """The cursors of some records, to be handed back by `put`."""
        return Cursors(
            self.data, self.at[chosen], self.end[chosen], self.bad[chosen], self.is_whole
        )

    def put(self, chosen: Numbers, some: "Cursors") -> None:
        """Take back the cursors of some records."""
        self.at[chosen] = some.at
        if not some.is_whole:
            self.bad[chosen] = some.bad
            self.is_whole = False

    def refuse(self, wrong: Mask) -> None:
        """Leave these records to the slow way."""
        if wrong.any():
            self.bad |= wrong
            self.is_whole = False
            self.at = np.where(wrong, self.end, self.at)

    def skip(self, width: int) -> Numbers:
        """Step over a fixed number of bytes; where they began. At most 16 for a look at them."""
        start, then = self.at, self.at + width
        self.refuse(then > self.end)
        if self.is_whole:
            self.at = then
            return start
        self.at = np.where(self.bad, self.end, then)
        return np.where(self.bad, 0, start)

    def words(self, kind: str, width: int) -> Words:
        """A number of a fixed width, up to 8 bytes, of a numpy kind such as `<f8`."""
        start = self.skip(width)
        found: Words = overlapping(self.data, kind)[start]
        return found

    def floats(self) -> npt.NDArray[np.float64]:
        """A number of four bytes as one of eight; no kind of NaN is worth numpy's warning."""
        with np.errstate(invalid="ignore"):
            return self.words("<f4", 4).astype(np.float64)

    def varints(self) -> npt.NDArray[np.uint64]:
        """A number of seven bits per byte, lowest first; 0 in refused records."""
        first = self.data[self.at]
        if bool((first < 128).all()):
            return self._stepped(first.astype(np.uint64), self.at + 1)
        word: npt.NDArray[np.uint64] = overlapping(self.data, "<u8")[self.at]
        last = ~word & _HIGH_BITS  # the highest bit of a byte is clear in the last one
        upto = last ^ (last - np.uint64(1))
        width = np.bitwise_count(upto).astype(np.int64) >> 3
        value: npt.NDArray[np.uint64] = word & upto
        for stays, moves, by in _SQUEEZE:
            value = (value & stays) | ((value & moves) >> by)
        long = last == 0
        if bool(long.any()):
            self._long_varints(np.flatnonzero(long), value, width)
        return self._stepped(value, self.at + width)

    def _stepped(self, value: npt.NDArray[np.uint64], then: Numbers) -> npt.NDArray[np.uint64]:
        """Move the cursors behind the values, which are 0 in records that end before."""
        self.refuse(then > self.end)
        if self.is_whole:
            self.at = then
        else:
            self.at = np.where(self.bad, self.end, then)
            value[self.bad] = 0
        return value

    def longs(self) -> Numbers:
        """A signed number, written as a varint with the sign in its lowest bit."""
        value = self.varints()
        signed = (value >> np.uint64(1)).view(np.int64)
        return signed ^ -(value & np.uint64(1)).view(np.int64)

    def byte_ranges(self, length: Numbers) -> tuple[Numbers, Numbers]:
        """Step over as many bytes as each record says; where they begin and end."""
        # Without signs, so that a length below zero is larger than any rest.
        self.refuse(length.view(np.uint64) > (self.end - self.at).view(np.uint64))
        start = self.at
        self.at = start + length if self.is_whole else np.where(self.bad, start, start + length)
        return start, self.at

    def _long_varints(
        self, cursors: Numbers, value: npt.NDArray[np.uint64], width: Numbers
    ) -> None:
        """Those of nine and ten bytes, byte by byte; what is longer or wider is refused."""
        at = self.at[cursors]
        found = np.zeros(len(cursors), np.uint64)
        size = np.zeros(len(cursors), np.int64)
        for place in range(_LONGEST_VARINT):
            byte = self.data[np.minimum(at + place, len(self.data) - 1)].astype(np.uint64)
            going = size == 0
            bits = (byte & np.uint64(127)) << np.uint64(7 * place)
            found = np.where(going, found | bits, found)
            size = np.where(going & (byte < 128), place + 1, size)
        wide = (size == _LONGEST_VARINT) & (self.data[at + _LONGEST_VARINT - 1] > 1)
        wrong = np.zeros(len(self.at), bool)
        wrong[cursors[(size == 0) | wide]] = True
        value[cursors], width[cursors] = found, size
        self.refuse(wrong)


def cursors_of(values: pa.Array, skipped: int = 0) -> Cursors:
    """Cursors at the beginning of every payload, or behind its first bytes."""
    data, offsets = buffers_of(values)
    at, end = offsets[:-1] + skipped, offsets[1:]
    short = at > end
    is_whole = not short.any()
    begin = at if is_whole else np.where(short, end, at)
    return Cursors(np.concatenate((data, _PAD)), begin, end.copy(), short, is_whole)
