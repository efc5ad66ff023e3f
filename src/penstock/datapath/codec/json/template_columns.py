"""JSON records that are written like one template, read all at once.

Every record has a cursor. Between two values all records have the same literal, so each step is a
few array operations over all records: compare a literal, find the next quote, read eight digits.

Nothing is assumed. Every byte of a record that is accepted was compared with a literal, or is part
of a text without quotes, escapes and control characters, or of a number that was checked digit by
digit; and the last literal ends where the record ends. That is what a parser would have made sure
of, so the values are those that a parser gives. What is refused is left to the parser.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.datapath.codec.json.decode_plan import EXACT, JsonObject, JsonType
from penstock.datapath.codec.json.template import LONGEST_LITERAL, Template, Tree
from penstock.datapath.codec.json.value_text import NUMBER
from penstock.datapath.codec.shared.buffers import buffers_of
from penstock.datapath.codec.shared.byte_gather import Mask, Numbers, Octets, overlapping, texts
from penstock.datapath.codec.shared.shapes import bounds_of

Words = npt.NDArray[np.uint64]

_PAD = np.zeros(LONGEST_LITERAL + 64, np.uint8)  # behind the last record, so looks need no bounds
_BLOCK = 1 << 18
_LONGEST_SCAN = 512  # words; texts that are longer are left to the parser
_MOST_DIGITS = 18  # whatever they are, the number has 64 bits
_BACKSLASH, _SPACE, _MINUS, _ZERO = 0x5C, 0x20, 0x2D, 0x30

_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_ZEROS = np.uint64(_ZERO) * _ONES
_TO_HIGH_BIT = np.uint64(0x76) * _ONES  # lifts whatever is above 9 to the highest bit
# Eight digits to a number, by halves: what is kept, what it is multiplied by, and the shift.
_FOLD = tuple(
    (np.uint64(mask), np.uint64(factor), np.uint64(shift))
    for mask, factor, shift in (
        (0x0F0F0F0F0F0F0F0F, 2_561, 8),
        (0x00FF00FF00FF00FF, 6_553_601, 16),
        (0x0000FFFF0000FFFF, 42_949_672_960_001, 32),
    )
)
_POWERS = np.array([10**power for power in range(9)], np.uint64)
_TRUE, _FALSE = (np.uint64(int.from_bytes(text, "little")) for text in (b"true", b"false"))


@dataclass(frozen=True, slots=True, eq=False)
class ScreenedPayloads:
    """Payloads end to end, and where each begins and ends.

    `plain` marks those that have neither escapes nor control characters.
    """

    data: Octets
    starts: Numbers
    ends: Numbers
    plain: Mask


def screened(values: pa.Array) -> ScreenedPayloads:
    """Look at every byte once, in blocks that stay in the processor's cache."""
    joined, bounds = buffers_of(values)
    data = np.concatenate((joined, _PAD))
    plain = np.ones(len(values), bool)
    for start in range(0, len(joined), _BLOCK):
        block = joined[start : start + _BLOCK]
        if block.min() < _SPACE or bool((block == _BACKSLASH).any()):
            odd = np.flatnonzero((block < _SPACE) | (block == _BACKSLASH)) + start
            plain[np.searchsorted(bounds, odd, side="right") - 1] = False
    return ScreenedPayloads(data, bounds[:-1], bounds[1:], plain)


def read_by_template(
    seen: ScreenedPayloads, template: Template, record: JsonObject
) -> tuple[list[pa.Array], Mask]:
    """The columns of the payloads that are like a template, and a mask of which those are.

    There is an array per member of the record.
    """
    cursors = _Cursors(seen)
    arrays = []
    cursors.expect(_compiled(template.literals[0]))
    for shape, literal in zip(template.slots, template.literals[1:], strict=True):
        compiled = _compiled(literal)
        arrays.append(cursors.value(shape, compiled))
        cursors.expect(compiled)
    cursors.expect_end()
    columns = _columns(record, template.tree, arrays, len(seen.plain))
    if not cursors.all_good:
        kept = pa.array(cursors.good)
        columns = [column.filter(kept) for column in columns]
    return columns, cursors.good


@dataclass(frozen=True, slots=True)
class _Literal:
    """A literal as words to compare with: where, what, and which bits of it.

    `begins` is its first byte, eight times.
    """

    length: int
    begins: np.uint64
    words: tuple[tuple[int, np.uint64, np.uint64 | None], ...]


@lru_cache(maxsize=4_096)
def _compiled(literal: bytes) -> _Literal:
    """Compile a literal; the last word of a long one overlaps the one before."""
    length = len(literal)
    words: list[tuple[int, np.uint64, np.uint64 | None]] = [
        (at, _word(literal[at : at + 8]), None) for at in range(0, length - 7, 8)
    ]
    if length % 8 and length > 8:
        words.append((length - 8, _word(literal[-8:]), None))
    elif length % 8:
        words.append((0, _word(literal), np.uint64(2 ** (8 * length) - 1)))
    return _Literal(length, np.uint64(literal[0]) * _ONES, tuple(words))


def _word(octets: bytes) -> np.uint64:
    return np.uint64(int.from_bytes(octets, "little"))


class _Cursors:
    """A cursor per record. Those of records that are refused stand at their start."""

    def __init__(self, seen: ScreenedPayloads) -> None:
        self._data = seen.data
        self._words: Words = overlapping(seen.data, "<u8")
        self._start = seen.starts
        self._end = seen.ends
        self._at = self._start
        self.good = seen.plain.copy()
        self.all_good = bool(self.good.all())

    def expect(self, compiled: _Literal) -> None:
        """Step over a literal."""
        for offset, word, mask in compiled.words:
            here = self._words[self._at + offset]
            self._keep((here == word) if mask is None else (here & mask) == word)
        self._move(self._at + compiled.length)

    def expect_end(self) -> None:
        """Every record must be at its end."""
        self._keep(self._at == self._end)

    def value(self, shape: JsonType, follows: _Literal) -> pa.Array:
        """Step over a value, up to the literal that follows; the values of all records."""
        kind = shape.type.kind
        if kind == "string":
            return self._texts(follows)
        if kind == "boolean":
            return self._booleans(follows)
        if kind == "double":
            return self._doubles(follows)
        found = self._integers()
        if kind == "int64":
            return pa.array(found)
        low, high = bounds_of(shape.type)
        self._keep((found >= low) & (found <= high))
        if kind == "date":
            return pa.array(found.astype(np.int32)).view(shape.arrow)
        return pa.array(found * shape.type.unit_us).view(shape.arrow)

    def _keep(self, right: Mask) -> None:
        """Refuse all other records."""
        if np.count_nonzero(right) < len(right):  # the quickest way to ask for all
            self.good &= right
            self.all_good = False

    def _move(self, at: Numbers) -> None:
        """Move the cursors; no cursor leaves its record."""
        self._keep(at <= self._end)
        self._at = at if self.all_good else np.where(self.good, at, self._start)

    def _span(self, begins: np.uint64) -> tuple[Numbers, Numbers]:
        """Step over everything before the next byte of a kind."""
        start = self._at
        first = _first(self._words[start], begins)
        stop = start + first
        long = np.flatnonzero(first == 8)
        for _ in range(_LONGEST_SCAN):
            if len(long) == 0:
                break
            at = stop[long]
            first = _first(self._words[np.minimum(at, self._end[long])], begins)
            stop[long] = at + first
            long = long[(first == 8) & (stop[long] < self._end[long])]
        self._move(stop)
        return (start, stop) if self.all_good else (np.where(self.good, start, self._at), self._at)

    def _texts(self, follows: _Literal) -> pa.Array:
        found, wrong = texts(self._data, *self._span(follows.begins))
        if wrong is not None:
            self._keep(~wrong)
        return found

    def _booleans(self, follows: _Literal) -> pa.Array:
        start, stop = self._span(follows.begins)
        length, word = stop - start, self._words[start]
        is_true = (length == 4) & (word & np.uint64(2**32 - 1) == _TRUE)
        self._keep(is_true | ((length == 5) & (word & np.uint64(2**40 - 1) == _FALSE)))
        return pa.array(is_true)

    def _doubles(self, follows: _Literal) -> pa.Array:
        """Numbers as a parser reads them; those that may have lost a digit are refused."""
        found, not_text = texts(self._data, *self._span(follows.begins))
        right = pc.match_substring_regex(found, f"^{NUMBER}$").to_numpy(zero_copy_only=False)
        right &= pc.not_equal(found, "-0").to_numpy(zero_copy_only=False)
        right = right if not_text is None else right & ~not_text
        if not right.all():
            found = pc.replace_with_mask(found, pa.array(~right), pa.scalar("0"))
        numbers = found.cast(pa.float64()).to_numpy()
        self._keep(right & (np.abs(numbers) <= EXACT))
        return pa.array(numbers)

    def _integers(self) -> Numbers:
        """Whole numbers of up to 18 digits, eight digits at a time."""
        below_zero = self._data[self._at] == _MINUS
        start = self._at + below_zero if below_zero.any() else self._at
        value, count = _digits(self._words[start])
        long = np.flatnonzero(count == 8)
        for _ in range(2):
            if len(long) == 0:
                break
            part, more = _digits(self._words[start[long] + count[long]])
            value[long] = value[long] * _POWERS[more] + part
            count[long] += more
            long = long[more == 8]
        self._keep((count >= 1) & (count <= _MOST_DIGITS))
        self._keep((self._data[start] != _ZERO) | (count == 1))
        self._move(start + count)
        found = value.view(np.int64)
        return np.where(below_zero, -found, found) if below_zero.any() else found


def _first(words: Words, byte: np.uint64) -> Numbers:
    """The place of a byte in each word, 8 if it is in none; `byte` is repeated eight times."""
    other = words ^ byte
    here = (other - _ONES) & ~other & _HIGH_BITS  # the lowest bit that is set tells the place
    return np.bitwise_count((here - np.uint64(1)) & ~here).astype(np.int64) >> 3


def _digits(words: Words) -> tuple[Words, Numbers]:
    """The number that each word begins with, and of how many digits it is."""
    digits = words ^ _ZEROS
    other = (digits | (digits + _TO_HIGH_BIT)) & _HIGH_BITS
    bits = np.bitwise_count((other - np.uint64(1)) & ~other)  # 64 if there are only digits
    count = bits.astype(np.int64) >> 3
    value = digits << np.minimum(64 - (count << 3), 63).astype(np.uint64)
    for mask, factor, by in _FOLD:
        value = ((value & mask) * factor) >> by
    return np.where(count == 0, np.uint64(0), value), count


def _columns(record: JsonObject, tree: Tree, arrays: list[pa.Array], count: int) -> list[pa.Array]:
    """The arrays of the slots, each where it belongs; null where there is none."""
    found = []
    for member in record.members:
        place = tree.get(member.name)
        if place is None:
            found.append(pa.nulls(count, member.shape.arrow))
        elif isinstance(place, int):
            found.append(arrays[place])
        elif member.shape.record is not None:
            inside = member.shape.record
            names = [each.column for each in inside.members]
            below = _columns(inside, place, arrays, count)
            found.append(pa.StructArray.from_arrays(below, names))
    return found
