"""Evidence as columns: the same numbers as `model.evidence`, a batch at a time."""

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.model.evidence import Evidence, place_seed
from penstock.model.ranges import OffsetSet

Offsets = npt.NDArray[np.int64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


def _mix64(value: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    value = (value ^ (value >> np.uint64(30))) * _M1
    value = (value ^ (value >> np.uint64(27))) * _M2
    mixed: npt.NDArray[np.uint64] = value ^ (value >> np.uint64(31))
    return mixed


def positions(topic: str, partition: int, offsets: Offsets) -> Evidence:
    """The evidence of one row per offset; equal to `Evidence.of_positions`."""
    if len(offsets) == 0:
        return Evidence()
    with np.errstate(over="ignore"):
        value = _mix64(offsets.astype(np.uint64) + _GOLDEN)
        value = _mix64(value ^ np.uint64(place_seed(topic, partition)))
        hashes = _mix64(value + _GOLDEN)
    return Evidence(len(offsets), int(hashes.sum(dtype=np.uint64)))


def runs_of(offsets: Offsets) -> OffsetSet:
    """Ascending offsets as runs."""
    if len(offsets) == 0:
        return OffsetSet()
    breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
    starts = offsets[np.concatenate(([0], breaks))]
    ends = offsets[np.concatenate((breaks - 1, [len(offsets) - 1]))] + 1
    return OffsetSet.from_runs(zip(starts.tolist(), ends.tolist(), strict=True))


def sum_mod64(hashes: npt.NDArray[Any]) -> int:
    """A sum of signed 64-bit hashes modulo 2^64."""
    return int(hashes.astype(np.uint64).sum(dtype=np.uint64))


class Tally:
    """Counts rows and adds hashes while batches go by."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition
        self._parts: list[Evidence] = []

    def add(self, offsets: Offsets) -> None:
        """Take in some rows."""
        self._parts.append(positions(self._topic, self._partition, offsets))

    def total(self) -> Evidence:
        """All rows so far."""
        return Evidence.total(self._parts)
