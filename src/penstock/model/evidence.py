"""Evidence: a count and a sum of hashes that proves which rows were seen.

A sum of plain offsets does not show that 3 and 6 were lost while 4 and 5 were doubled. So every
position is hashed to 64 bits first, and the hashes are added modulo 2^64: sums do not depend on
order, parts add up to the whole, and different multisets give different sums. The hash belongs to
the journal's format and must never change within it.
"""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15


def mix64(value: int) -> int:
    """Mix 64 bits so that similar inputs give unrelated outputs (the splitmix64 finaliser)."""
    value &= _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


@lru_cache(maxsize=65_536)
def place_seed(topic: str, partition: int) -> int:
    """The seed that separates the positions of one partition from those of all others.

    It uses the topic's name, because rows have it; so evidence can be computed again from the rows
    of a file alone.
    """
    digest = hashlib.sha256(f"{topic}/{partition}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")


def position_hash(topic: str, partition: int, offset: int, row: int = 0) -> int:
    """The stable 64-bit hash of one row's position; `row` is the row's number in its record."""
    value = mix64(offset + _GOLDEN) ^ place_seed(topic, partition)
    return mix64(mix64(value) + (row + 1) * _GOLDEN)


MOST_ROW_NUMBERS = 64


def lowest_rows(numbers: Iterable[int]) -> tuple[int, ...]:
    """The lowest row numbers, each once, up to a limit; they help to explain differences."""
    return tuple(sorted(set(numbers))[:MOST_ROW_NUMBERS])


class Evidence(Value, frozen=True):
    """The number of rows, and the sum modulo 2^64 of their hashes. It adds up in any order."""

    count: int = 0
    hash_sum: int = 0

    def __post_init__(self) -> None:
        if self.count < 0 or not 0 <= self.hash_sum <= _MASK:
            raise ValueError(f"not evidence: count {self.count}, hash sum {self.hash_sum}")

    @classmethod
    def of_hashes(cls, hashes: Iterable[int]) -> "Evidence":
        """Evidence of rows with these 64-bit hashes."""
        count = total = 0
        for value in hashes:
            count += 1
            total += value
        return cls(count, total & _MASK)

    @classmethod
    def of_positions(
        cls, topic: str, partition: int, offsets: Iterable[int], row: int = 0
    ) -> "Evidence":
        """Evidence of one row per offset of one partition."""
        return cls.of_hashes(position_hash(topic, partition, offset, row) for offset in offsets)

    @classmethod
    def total(cls, parts: Iterable["Evidence"]) -> "Evidence":
        """The sum of all parts."""
        count = hash_sum = 0
        for part in parts:
            count += part.count
            hash_sum += part.hash_sum
        return cls(count, hash_sum & _MASK)

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(self.count + other.count, (self.hash_sum + other.hash_sum) & _MASK)


class RangeEvidence(Value, frozen=True):
    """What was read from one range, recorded while reading, not while writing.

    `read` are the positions of all records, `content_sum` is the sum of the source's own hash of
    (offset, key, value). A record that becomes several rows counts in `read` as its row 0; all its
    other rows are `extra`, and `rows` are the lowest of their numbers. `filtered` and `quarantined`
    are parts of `read` and `extra`; the rest must be in the data files of the range.
    """

    range: OffsetRange
    offsets: OffsetSet
    read: Evidence
    content_sum: int
    filtered: Evidence = Evidence()
    quarantined: Evidence = Evidence()
    extra: Evidence = Evidence()
    rows: tuple[int, ...] = ()

    @property
    def all_rows(self) -> Evidence:
        """All rows that must be accounted for."""
        return self.read + self.extra

    @property
    def written(self) -> int:
        """How many rows must be in data files."""
        return self.all_rows.count - self.filtered.count - self.quarantined.count

    def join(self, later: "RangeEvidence") -> "RangeEvidence":
        """The evidence of two adjacent ranges, in order."""
        return RangeEvidence(
            range=self.range.join(later.range),
            offsets=self.offsets | later.offsets,
            read=self.read + later.read,
            content_sum=(self.content_sum + later.content_sum) & _MASK,
            filtered=self.filtered + later.filtered,
            quarantined=self.quarantined + later.quarantined,
            extra=self.extra + later.extra,
            rows=lowest_rows((*self.rows, *later.rows)),
        )

    @classmethod
    def empty(cls, covered: OffsetRange) -> "RangeEvidence":
        """Evidence that a range had no record: markers, compaction, aborted transactions."""
        return cls(covered, OffsetSet(), Evidence(), 0)
