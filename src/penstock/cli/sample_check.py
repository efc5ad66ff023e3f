"""`penstock check --sample N`: what would become of the next records, without writing any."""

import io
import os
from collections.abc import Iterable, Iterator
from typing import Protocol, runtime_checkable

import pyarrow as pa

from penstock.api.source import REPORT, ReadRequest, Task
from penstock.cli.client_settings import registry_of
from penstock.cli.common import lake_store, surroundings
from penstock.cli.source_connection import AskedKafka, AskedSource
from penstock.config.convert_section import reveal_keys
from penstock.datapath.schemas.learning import Learning
from penstock.feeds.configured_rules import ConfiguredRules, paces_of
from penstock.feeds.sample_window import Sampled, SampleRanges, SampleTools, decode_sample
from penstock.model.entries import Counts
from penstock.model.layout import Layout
from penstock.model.plural import number_of
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.ports.source.kafka.few_records import few_records
from penstock.ports.store.scratch_store import ScratchStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.testing.memory_store import MemoryStore

Row = dict[str, object]
FEW_DAYS = 3
MOST_NAMED = 5
_ARROW = pa.schema([(REPORT, pa.binary())])


@runtime_checkable
class ReadsRanges(Protocol):
    """A source that was opened whole, as all but Kafka are."""

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """Run a task over the records of some ranges."""
        ...


def sampled(spec: LakeSpec, feed: FeedSpec, source: AskedSource, chosen: SampleRanges) -> Sampled:
    """Read and decode the chosen records in this process, over a store that forgets."""
    around = surroundings()
    store = ScratchStore(lake_store(spec), MemoryStore())
    keys = reveal_keys([feed], os.environ)
    learning = Learning(store, Layout(feed.name), feed, registry_of(spec), keys)
    tools = SampleTools(store, learning, around, frozenset(learning.schemas.known))
    return decode_sample(feed, chosen.ranges, batches_of(source, chosen.ranges), tools)


def batches_of(source: AskedSource, ranges: tuple[OffsetRange, ...]) -> list[pa.RecordBatch]:
    """The records of some ranges, from any source."""
    if isinstance(source, AskedKafka):
        return [few_records(source.jvm, source.options, ranges)]
    if not isinstance(source, ReadsRanges):
        raise TypeError(f"{type(source).__name__} cannot be read")
    found = source.read(ReadRequest("sample", ranges, tasks=(ranges,)), packed)
    tables = [pa.ipc.open_stream(report).read_all() for report in found]
    return [batch for table in tables for batch in table.to_batches()]


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A task that brings all its records back."""
    some = list(batches)
    if not some:
        return
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, some[0].schema) as stream:
        for batch in some:
            stream.write_batch(batch)
    yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue()], pa.binary())], schema=_ARROW)


def judge_sample(
    source: AskedSource,
    feed: FeedSpec,
    journal: FeedJournal,
    state: FeedState,
    chosen: SampleRanges,
    found: Sampled,
) -> str:
    """A warning about broken records; raises what stops a run if the sample is a whole window."""
    if chosen.is_whole:
        paces = paces_of(feed, surroundings().tick)
        ConfiguredRules(feed, journal, paces, source).judge(found.findings, state)
    counts, limit = found.counts, feed.quarantine.max_ratio
    if not counts.quarantined or counts.quarantined <= limit * counts.rows:
        return ""
    return (
        f"{counts.quarantined:,} of {number_of(counts.rows, 'sampled record')} would be "
        "quarantined, more than "
        f"quarantine.max_ratio {limit:g} allows in a window"
    )


def sentence_of(chosen: SampleRanges, counts: Counts) -> str:
    """What was sampled, and what would become of it."""
    where = {
        "next": "from the feed's next offsets",
        "newest": "the newest, because the feed has read all there is",
    }[chosen.where]
    return (
        f"sample of {number_of(counts.read, 'record')}, {where}: "
        f"{number_of(counts.written, 'row')} written, "
        f"{counts.quarantined:,} quarantined, {counts.filtered:,} filtered"
    )


def type_rows(found: Sampled) -> list[Row]:
    """The datasets, with their rows and directories."""
    return [
        {
            "dataset": each.dataset,
            "rows": each.rows,
            "new": each.is_new,
            "directories": each.directories,
        }
        for each in found.types
    ]


def broken_rows(found: Sampled) -> list[Row]:
    """What would be quarantined, by cause."""
    return [
        {
            "reason": each.reason,
            "records": each.count,
            "dataset": _named(each.datasets),
            "first": str(each.first),
            "detail": each.detail,
        }
        for each in found.broken
    ]


def _named(datasets: set[str]) -> str | None:
    """The datasets that records of one cause were meant for, as one text."""
    names = sorted(filter(None, datasets))
    more = f" and {len(names) - MOST_NAMED} more" if names[MOST_NAMED:] else ""
    return ", ".join(names[:MOST_NAMED]) + more or None


def as_text(rows: Iterable[Row]) -> list[Row]:
    """Rows of types as a person reads them: the first directories, and how many there are."""
    return [
        {
            "dataset": row["dataset"],
            "rows": row["rows"],
            "new": "new" if row["new"] else None,
            "directories": _few(row["directories"]),
        }
        for row in rows
    ]


def _few(directories: object) -> str:
    names = list(directories) if isinstance(directories, dict) else []
    more = len(names) - FEW_DAYS
    return " ".join(names[:FEW_DAYS]) + (f" and {more} more" if more > 0 else "")
