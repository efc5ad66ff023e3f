"""Evidence computed on columns: the same results as `model.evidence`, for whole batches."""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.model.evidence import Evidence, place_seed
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetSet

Offsets = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

PIECE = 1_000_000  # offsets that are hashed in one step
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)


def mix64_columns(value: Hashes) -> Hashes:
    """The same as `mix64`, for many values."""
    with np.errstate(over="ignore"):
        return _mix64(value)


def _mix64(value: Hashes) -> Hashes:
    value = (value ^ (value >> np.uint64(30))) * _M1
    value = (value ^ (value >> np.uint64(27))) * _M2
    mixed: Hashes = value ^ (value >> np.uint64(31))
    return mixed


def position_hashes(
    topic: str, partition: int, offsets: Offsets, rows: Offsets | None = None
) -> Hashes:
    """The hash of each position; equal to `position_hash`. Without `rows`, one row per record."""
    return _hashes(np.uint64(place_seed(topic, partition)), offsets, rows)


def hashes_of_places(
    topic: str, partitions: Offsets, offsets: Offsets, rows: Offsets | None = None
) -> Hashes:
    """The same for positions of several partitions of a topic."""
    found, numbers = np.unique(partitions, return_inverse=True)
    seeds = np.array([place_seed(topic, int(each)) for each in found], np.uint64)
    return _hashes(seeds[numbers.reshape(-1)], offsets, rows)


def _hashes(seeds: Hashes | np.uint64, offsets: Offsets, rows: Offsets | None) -> Hashes:
    with np.errstate(over="ignore"):
        value = _mix64(offsets.astype(np.uint64) + _GOLDEN)
        value = _mix64(value ^ seeds)
        if rows is None:
            return _mix64(value + _GOLDEN)
        return _mix64(value + (rows.astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def evidence_of(hashes: Hashes) -> Evidence:
    """The evidence of rows with these hashes."""
    return Evidence(len(hashes), int(hashes.sum(dtype=np.uint64)))


def positions(
    topic: str, partition: int, offsets: Offsets, rows: Offsets | None = None
) -> Evidence:
    """The evidence of one row per offset; equal to `Evidence.of_positions`."""
    if len(offsets) == 0:
        return Evidence()
    return evidence_of(position_hashes(topic, partition, offsets, rows))


def runs_of(offsets: Offsets) -> OffsetSet:
    """Ascending offsets as runs."""
    if len(offsets) == 0:
        return OffsetSet()
    breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
    starts = offsets[np.concatenate(([0], breaks))]
    ends = offsets[np.concatenate((breaks - 1, [len(offsets) - 1]))] + 1
    return OffsetSet.from_runs(zip(starts.tolist(), ends.tolist(), strict=True))


def offsets_in(runs: OffsetSet) -> Offsets:
    """The offsets of a set, ascending: the inverse of `runs_of`."""
    if not runs.runs:
        return np.empty(0, np.int64)
    bounds = np.array(runs.runs, np.int64)
    lengths = bounds[:, 1] - bounds[:, 0]
    before = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    numbers: Offsets = np.arange(lengths.sum(), dtype=np.int64)
    return numbers + np.repeat(bounds[:, 0] - before, lengths)


def set_evidence(topic: str, partition: int, offsets: OffsetSet, row: int = 0) -> Evidence:
    """The evidence of one row per offset of a set, in pieces with bounded memory."""
    pieces = (offsets_in(piece) for piece in _pieces(offsets))
    return Evidence.total(
        positions(topic, partition, piece, np.full(len(piece), row)) for piece in pieces
    )


def records_evidence(records: Iterable[RecordSet]) -> Evidence:
    """The evidence of records that are named by offset."""
    return Evidence.total(
        set_evidence(part.topic, part.partition, part.offsets, part.row) for part in records
    )


def _pieces(offsets: OffsetSet) -> Iterator[OffsetSet]:
    """A set split into sets with a bounded number of offsets."""
    taken: list[tuple[int, int]] = []
    room = PIECE
    for run_start, end in offsets.runs:
        start = run_start
        while start < end:
            cut = min(end, start + room)
            taken.append((start, cut))
            room -= cut - start
            start = cut
            if room == 0:
                yield OffsetSet(tuple(taken))
                taken, room = [], PIECE
    if taken:
        yield OffsetSet(tuple(taken))


def sum_mod64(hashes: Offsets) -> int:
    """A sum of signed 64-bit hashes modulo 2^64."""
    return int(hashes.astype(np.uint64).sum(dtype=np.uint64))


def split_by_place(
    topics: pa.Array, partitions: pa.Array
) -> Iterator[tuple[str, int, Offsets | slice]]:
    """The rows of each topic and partition in an Arrow batch: a slice, or row indices.

    Usually there is only one partition, and then nothing is copied.
    """
    encoded = topics if pa.types.is_dictionary(topics.type) else topics.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy().astype(np.int64)
    numbers = partitions.to_numpy().astype(np.int64)
    if len(codes) == 0:
        return
    if codes.min() == codes.max() and numbers.min() == numbers.max():
        yield names[codes[0]], int(numbers[0]), slice(None)
        return
    pairs, rows = np.unique(np.stack((codes, numbers)), axis=1, return_inverse=True)
    for number, (code, partition) in enumerate(pairs.T.tolist()):
        yield names[code], partition, np.flatnonzero(rows.reshape(-1) == number)
