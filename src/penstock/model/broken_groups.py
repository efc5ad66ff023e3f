"""Broken records of a window that is not decided, grouped by what is wrong with them.

Tasks count them and bring a few samples along, because the staged files of a window that is
refused are removed, and not every store can read a staged file. Everything is bounded.
"""

from collections.abc import Iterable

import msgspec

from penstock.model.record_position import Position
from penstock.model.value import Value

MOST_GROUPS = 100  # of one range, and of a whole window; further records are counted by reason
MOST_SAMPLES = 5  # of one group
SAMPLE_BYTES = 16_384  # of the key, the value and the headers of one record, each
WINDOW_BYTES = 1_000_000  # of all samples of a window
RANGE_BYTES = 4_096  # at least so much for the samples of one range


class BrokenRecord(Value, frozen=True):
    """A sample with its raw bytes, each cut to `SAMPLE_BYTES`; `value_bytes` is the whole size."""

    position: Position
    timestamp_ms: int | None
    dataset: str
    detail: str
    key: bytes | None
    value: bytes | None
    headers: str | None
    value_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """How many bytes the sample takes."""
        headers = len(self.headers.encode("utf-8", "replace")) if self.headers else 0
        return len(self.key or b"") + len(self.value or b"") + headers + len(self.detail)


class BrokenGroup(Value, frozen=True):
    """Records with the same fingerprint: how many, the first and the last, and some of them."""

    fingerprint: str
    reason: str
    datasets: tuple[str, ...]
    count: int
    first: Position
    last: Position
    samples: tuple[BrokenRecord, ...] = ()

    def with_group(self, other: "BrokenGroup") -> "BrokenGroup":
        """Both groups as one; the samples with the lowest positions are kept."""
        samples = sorted((*self.samples, *other.samples), key=lambda each: each.position)
        return msgspec.structs.replace(
            self,
            datasets=tuple(sorted({*self.datasets, *other.datasets})),
            count=self.count + other.count,
            first=min(self.first, other.first),
            last=max(self.last, other.last),
            samples=tuple(samples[:MOST_SAMPLES]),
        )


def merged(groups: Iterable[BrokenGroup]) -> tuple[BrokenGroup, ...]:
    """Groups of several ranges as those of a window: the largest first, within the bounds."""
    found: dict[str, BrokenGroup] = {}
    for group in groups:
        known = found.get(group.fingerprint)
        found[group.fingerprint] = group if known is None else known.with_group(group)
    largest = sorted(found.values(), key=lambda group: (-group.count, group.first))[:MOST_GROUPS]
    return _within_bytes(largest)


def _within_bytes(groups: list[BrokenGroup]) -> tuple[BrokenGroup, ...]:
    """The groups without the samples that do not fit; each group gets its first before a second."""
    left = WINDOW_BYTES
    kept: list[list[BrokenRecord]] = [[] for _ in groups]
    for place in range(MOST_SAMPLES):
        for group, samples in zip(groups, kept, strict=True):
            if place < len(group.samples) and group.samples[place].size_bytes <= left:
                samples.append(group.samples[place])
                left -= group.samples[place].size_bytes
    return tuple(
        msgspec.structs.replace(group, samples=tuple(samples))
        for group, samples in zip(groups, kept, strict=True)
    )


def range_bytes(ranges: int) -> int:
    """How many bytes of samples one of so many ranges may bring."""
    return max(WINDOW_BYTES // max(ranges, 1), RANGE_BYTES)
