"""What there is in ranges that are read once more: tasks add up what they find of each range."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.api.source import REPORT
from penstock.evidence.position_columns import positions, runs_of, split_by_place, sum_mod64
from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition
from penstock.ports.source.found import RangeFound
from penstock.runtime.worker import settle_in

_ARROW = pa.schema([(REPORT, pa.binary())])
_found_list = msgspec.msgpack.Decoder(list[RangeFound])


def added_up(reports: Iterable[bytes]) -> dict[OffsetRange, RangeFound]:
    """What all tasks found, by range; ranges without records are absent."""
    found: dict[OffsetRange, RangeFound] = {}
    for report in reports:
        for each in _found_list.decode(report):
            known = found.get(each.range)
            found[each.range] = each if known is None else known + each
    return found


def spans(ranges: Iterable[OffsetRange]) -> Iterator[OffsetRange]:
    """Per partition, from the first offset that is wanted to the last."""
    by_place: dict[TopicPartition, list[OffsetRange]] = {}
    for part in ranges:
        by_place.setdefault(part.place, []).append(part)
    for parts in by_place.values():
        yield parts[0].with_bounds(min(p.start for p in parts), max(p.end for p in parts))


def tallying(
    ranges: tuple[OffsetRange, ...], *, with_offsets: bool
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """A task of a source: records in, what there is of each range out.

    Runs on executors, any number of times. Records between the ranges are passed over.
    """

    def run(batches: Iterable[Any]) -> Iterator[Any]:
        settle_in()
        found = tally(ranges, batches, with_offsets=with_offsets)
        encoded = pa.array([msgspec.msgpack.encode(found)], pa.binary())
        yield pa.RecordBatch.from_arrays([encoded], schema=_ARROW)

    return run


def tally(
    ranges: tuple[OffsetRange, ...], batches: Iterable[Any], *, with_offsets: bool
) -> list[RangeFound]:
    """What there is of each range in these batches; ranges without records are absent."""
    by_place: dict[tuple[str, int], list[OffsetRange]] = {}
    for part in sorted(ranges):
        by_place.setdefault((part.topic, part.partition), []).append(part)
    starts = {place: np.array([p.start for p in parts]) for place, parts in by_place.items()}
    found: dict[OffsetRange, RangeFound] = {}
    for batch in batches:
        for topic, partition, chosen in split_by_place(batch["topic"], batch["partition"]):
            place = (topic, partition)
            offsets = batch["offset"].to_numpy()[chosen]
            hashes = batch["hash"].to_numpy()[chosen]
            parts = by_place.get(place, [])
            for number, first, last in _cuts(starts[place], offsets) if parts else ():
                mine = parts[number]
                end = int(np.searchsorted(offsets[first:last], mine.end)) + first
                seen = _found(mine, offsets[first:end], hashes[first:end], with_offsets)
                known = found.get(mine)
                found[mine] = seen if known is None else known + seen
    return list(found.values())


def _cuts(starts: Any, offsets: Any) -> Iterator[tuple[int, int, int]]:
    """Ascending offsets cut at the starts of ranges: which range, from where, to where."""
    numbers = np.searchsorted(starts, offsets, side="right") - 1
    bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(offsets)]
    for first, last in pairwise(bounds):
        if last > first and numbers[first] >= 0:
            yield int(numbers[first]), first, last


def _found(part: OffsetRange, offsets: Any, hashes: Any, with_offsets: bool) -> RangeFound:
    runs = runs_of(offsets) if with_offsets else OffsetSet()
    read = positions(part.topic, part.partition, offsets)
    return RangeFound(part, read, sum_mod64(hashes), runs)
