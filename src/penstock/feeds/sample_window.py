"""Decodes a few records as the next window would, and tells what would become of them.

The records go through the stager and the tasks' own code, in this process. The store is a scratch
store, so that nothing is written in the lake: schemas that are learned are forgotten too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

from penstock.api.store import Store
from penstock.datapath.driver.stager import Stager
from penstock.datapath.formats.quarantine_format import QUARANTINE_FORMAT
from penstock.datapath.schemas.learning import Learning
from penstock.datapath.stage.shred_plan import ShredPlan, TaskReport
from penstock.datapath.stage.task import gathered, new_attempt, shred_batches
from penstock.feeds.next_window import NextWindow
from penstock.model.entries import Counts
from penstock.model.layout import Layout
from penstock.model.manifest import QUARANTINE, ManifestFile
from penstock.model.names import window_id
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.record_position import Position
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, StageOrder
from penstock.protocol.loop.prove import Findings, counts_of, findings_of, prove
from penstock.runtime.surroundings import Surroundings

SAMPLE_WINDOW = window_id(0, "sample")
_BATCH_ROWS = 10_000
_SHOWN = ("reason", "detail", "fingerprint", "dataset", "_topic", "_partition", "_offset")


@dataclass(frozen=True, slots=True)
class SampleRanges:
    """The offsets to sample: those that a run would read next, or the newest if it has all."""

    ranges: tuple[OffsetRange, ...]
    where: Literal["next", "newest"]
    is_whole: bool  # they are all of the next window


@dataclass(frozen=True, slots=True)
class SampledType:
    """A dataset of the sample: rows by directory, and whether it is new to the lake."""

    dataset: str
    rows: int
    is_new: bool
    directories: dict[str, int]


@dataclass(slots=True)
class SampledBroken:
    """Records that would be quarantined for the same cause; the first of them as an example."""

    reason: str
    detail: str
    first: Position
    datasets: set[str] = field(default_factory=set)
    count: int = 0


@dataclass(frozen=True, slots=True)
class Sampled:
    """What would become of the sampled records."""

    counts: Counts
    types: tuple[SampledType, ...]
    broken: tuple[SampledBroken, ...]
    findings: Findings


def sample_ranges(found: NextWindow, available: Available, most: int) -> SampleRanges:
    """So many offsets per topic, spread over its partitions; the oldest of what comes next."""
    if found.ranges:
        ranges = _first_of(found.ranges, most)
        return SampleRanges(ranges, "next", ranges == found.ranges)
    return SampleRanges(_newest(available, most), "newest", False)


@dataclass(frozen=True, slots=True)
class SampleTools:
    """What a sample needs: a scratch store, what is known of schemas, and the time."""

    store: Store
    learning: Learning
    around: Surroundings
    known: frozenset[str] = field(default_factory=frozenset)


def decode_sample(
    feed: FeedSpec,
    ranges: tuple[OffsetRange, ...],
    batches: Sequence[pa.RecordBatch],
    tools: SampleTools,
) -> Sampled:
    """Decode the records of these ranges; raises what staging would raise."""

    def run_tasks(plan: ShredPlan) -> list[TaskReport]:
        wider = gathered(batches, len(plan.schemas))
        return list(shred_batches(plan, tools.store, new_attempt(), wider))

    layout = Layout(feed.name)
    order = StageOrder(
        feed.name, SAMPLE_WINDOW, layout.staging, ranges, planned_s=tools.around.now()
    )
    stager = Stager(feed, tools.store, tools.learning, run_tasks, tools.around.tick)
    staged = stager.stage(order)
    content = prove(order, staged)
    data = [file for file in staged.files if file.dataset != QUARANTINE]
    refused = [file for file in staged.files if file.dataset == QUARANTINE]
    return Sampled(
        counts_of(content),
        tuple(_types(layout, data, tools.known)),
        tuple(_broken(tools.store, refused)),
        findings_of(content, staged),
    )


def _first_of(ranges: Iterable[OffsetRange], most: int) -> tuple[OffsetRange, ...]:
    """The beginning of each range, so that every topic has about so many offsets."""
    some = list(ranges)
    partitions = Counter(each.topic for each in some)
    return tuple(
        each.with_bounds(each.start, min(each.end, each.start + _share(most, partitions, each)))
        for each in some
    )


def _newest(available: Available, most: int) -> tuple[OffsetRange, ...]:
    found = []
    for topic in available.topics:
        for partition, offsets in sorted(topic.partitions.items()):
            first = max(offsets.earliest, offsets.latest - max(most // len(topic.partitions), 1))
            if first < offsets.latest:
                place = TopicPartition(topic.topic_id, partition)
                found.append(
                    OffsetRange(topic.topic, place.topic_id, place.partition, first, offsets.latest)
                )
    return tuple(found)


def _share(most: int, partitions: Counter[str], covered: OffsetRange) -> int:
    return max(most // partitions[covered.topic], 1)


def _types(
    layout: Layout, files: Iterable[ManifestFile], known: frozenset[str]
) -> Iterable[SampledType]:
    by_dataset: dict[str, Counter[str]] = {}
    for file in files:
        below = file.handle.final.removeprefix(f"{layout.data}/{file.dataset}/")
        rows = by_dataset.setdefault(file.dataset, Counter())
        rows[below.rpartition("/")[0]] += file.evidence.count
    for dataset, rows in sorted(by_dataset.items()):
        yield SampledType(dataset, rows.total(), dataset not in known, dict(sorted(rows.items())))


def _broken(store: Store, files: Iterable[ManifestFile]) -> Iterable[SampledBroken]:
    """The broken records by cause, as the quarantine would show them."""
    found: dict[str, SampledBroken] = {}
    for file in files:
        store.publish(file.handle)
        opened = store.open_read(file.handle.final)
        if opened is None:
            raise ValueError(f"{file.handle.final} was staged and is gone")
        with opened:
            for batch in QUARANTINE_FORMAT.open(opened).pieces(_SHOWN, _BATCH_ROWS):
                for row in batch.to_pylist():
                    _count(found, row)
    return sorted(found.values(), key=lambda group: (-group.count, group.first))


def _count(found: dict[str, SampledBroken], row: Mapping[str, Any]) -> None:  # Any: of pyarrow
    """Count a row of a file. Files are those of datasets, so the first record may come later."""
    at = Position(row["_topic"], row["_partition"], row["_offset"])
    detail = row["detail"] or ""
    group = found.setdefault(row["fingerprint"], SampledBroken(row["reason"], detail, at))
    if at < group.first:
        group.first, group.detail = at, detail
    group.datasets.add(row["dataset"] or "")
    group.count += 1
