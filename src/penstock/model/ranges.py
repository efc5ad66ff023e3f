"""Offset ranges and sets of offsets: half open, sorted, never overlapping."""

from collections.abc import Iterable, Iterator

import msgspec

from penstock.model.value import Value

TOO_LARGE = -1  # instead of a partition number, for a record without its contents


class TopicPartition(Value, frozen=True, order=True):
    """One partition of a topic id; a topic that is created again has another id."""

    topic_id: str
    partition: int


class OffsetRange(Value, frozen=True, order=True):
    """Offsets [start, end) of one partition; `end` is the next offset to read."""

    topic: str
    topic_id: str
    partition: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.partition < 0 or not 0 <= self.start <= self.end:
            raise ValueError(
                f"not an offset range: partition {self.partition} [{self.start}, {self.end})"
            )

    @property
    def place(self) -> TopicPartition:
        """The partition of this range."""
        return TopicPartition(self.topic_id, self.partition)

    @property
    def is_empty(self) -> bool:
        """True when the range covers no offset at all."""
        return self.start == self.end

    def __len__(self) -> int:
        return self.end - self.start

    def __contains__(self, offset: int) -> bool:
        return self.start <= offset < self.end

    def follows(self, earlier: "OffsetRange") -> bool:
        """True when nothing is skipped and nothing repeated after `earlier`."""
        return self.place == earlier.place and self.start == earlier.end

    def overlaps(self, other: "OffsetRange") -> bool:
        """True when some offset is in both."""
        if self.place != other.place:
            return False
        return max(self.start, other.start) < min(self.end, other.end)

    def lies_in(self, whole: "OffsetRange") -> bool:
        """True when this range is inside `whole`."""
        return self.place == whole.place and whole.start <= self.start and self.end <= whole.end

    def split(self, at: int) -> tuple["OffsetRange", "OffsetRange"]:
        """Split at offset `at`; joining the parts gives this range again."""
        if not self.start <= at <= self.end:
            raise ValueError(f"{at} lies outside [{self.start}, {self.end})")
        return self.with_bounds(self.start, at), self.with_bounds(at, self.end)

    def join(self, later: "OffsetRange") -> "OffsetRange":
        """The range that covers both; `later` must follow this one."""
        if not later.follows(self):
            raise ValueError(
                f"[{later.start}, {later.end}) does not follow [{self.start}, {self.end})"
            )
        return self.with_bounds(self.start, later.end)

    def with_bounds(self, start: int, end: int) -> "OffsetRange":
        """The same partition with other bounds."""
        return msgspec.structs.replace(self, start=start, end=end)

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition} [{self.start}, {self.end})"


class OffsetSet(Value, frozen=True):
    """A set of offsets of one partition as sorted, separate, non-empty runs [start, end)."""

    runs: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        last_end = -1
        for start, end in self.runs:
            if start <= last_end or end <= start:
                raise ValueError(f"runs must be sorted, separate and non-empty: [{start}, {end})")
            last_end = end

    @classmethod
    def of(cls, offsets: Iterable[int]) -> "OffsetSet":
        """The set of the given offsets, in any order; repeats count once."""
        return cls.from_runs((offset, offset + 1) for offset in offsets)

    @classmethod
    def from_runs(cls, runs: Iterable[tuple[int, int]]) -> "OffsetSet":
        """The union of runs in any order; touching and overlapping runs are joined."""
        joined: list[tuple[int, int]] = []
        for start, end in sorted(runs):
            if end <= start:
                continue
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return cls(tuple(joined))

    def __len__(self) -> int:
        return sum(end - start for start, end in self.runs)

    def __iter__(self) -> Iterator[int]:
        for start, end in self.runs:
            yield from range(start, end)

    def __or__(self, other: "OffsetSet") -> "OffsetSet":
        return OffsetSet.from_runs((*self.runs, *other.runs))

    def __sub__(self, other: "OffsetSet") -> "OffsetSet":
        holes = other.runs
        kept: list[tuple[int, int]] = []
        at = 0  # the first hole that does not end before the run; there may be many
        for run_start, end in self.runs:
            start = run_start
            while at < len(holes) and holes[at][0] < end:
                hole_start, hole_end = holes[at]
                if start < hole_start:
                    kept.append((start, hole_start))
                start = max(start, hole_end)
                if hole_end > end:
                    break  # it may reach into the next run
                at += 1
            if start < end:
                kept.append((start, end))
        return OffsetSet(tuple(kept))

    def __and__(self, other: "OffsetSet") -> "OffsetSet":
        return self - (self - other)

    def issubset(self, other: "OffsetSet") -> bool:
        """True when every offset of this set is in the other."""
        return not (self - other).runs

    def within(self, covered: OffsetRange) -> bool:
        """True when every offset is inside the range."""
        return not self.runs or (
            covered.start <= self.runs[0][0] and self.runs[-1][1] <= covered.end
        )

    def __str__(self) -> str:
        shown = ", ".join(f"[{start}, {end})" for start, end in self.runs[:5])
        return shown + (f" and {len(self.runs) - 5} more runs" if len(self.runs) > 5 else "")
