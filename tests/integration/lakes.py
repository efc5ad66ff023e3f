"""What the integration tests share: events, runs, and reading a lake without our code."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import SystemRandom
from typing import Any, NamedTuple, TypeVar

import msgspec
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.api.source import SourceTools
from penstock.api.store import Store
from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.receipt import Receipt
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.encryption_keys import Keys
from penstock.model.entries import AnyBody, Window
from penstock.model.layout import Layout
from penstock.model.manifest import QUARANTINE
from penstock.model.spec import FeedSpec, PublishSpec, QuarantineSpec, RouteSpec, TimeSpec
from penstock.ports.registry.registry import Registry
from penstock.ports.source.kafka.kafka_source import KafkaSource
from penstock.ports.source.kafka.recheck import KafkaRecheck
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.runtime.surroundings import Surroundings, side_by_side
from penstock.spark.parallel_map import SparkParallelMap
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient, ReadRecord
from tests.helpers.files_by_others import READABLE, rows_of_file
from tests.helpers.turning import run_turn_by_turn

AROUND = Surroundings(time.time, time.sleep, SystemRandom(), do_all=side_by_side)
HASTY = Surroundings(time.time, lambda _s: time.sleep(0.01), SystemRandom(), do_all=side_by_side)
DAY_MS = 86_400_000
QUICK_TRIES = PublishSpec(retry_after_s=0.05)  # parked after five tries, without the pauses
NOON_MS = int(time.time() * 1000) // DAY_MS * DAY_MS - DAY_MS // 2  # of yesterday

IMPATIENT = {
    "default.api.timeout.ms": "3000",
    "request.timeout.ms": "2000",
}
T = TypeVar("T")
Place = tuple[str, int, int]  # topic, partition, offset


def an_event(number: int) -> bytes:
    """Three types over three days; every fiftieth is broken."""
    if number % 50 == 13:
        return b'{"type": "click", "event_time'
    kind = ("click", "view", "order")[number % 3]
    at = int(time.time() * 1000) - (number % 7 % 3) * DAY_MS
    return json.dumps({"type": kind, "event_time": at, "n": number, "text": "x" * 20}).encode()


def event(kind: str, number: int, days_ago: int = 0, **others: object) -> bytes:
    """An event of a type; no two of them are alike. Midnight is far from all of them."""
    at = NOON_MS - days_ago * DAY_MS - number
    said = {"type": kind, "event_time": at, "n": number, "half": number / 2, "who": f"u{number}"}
    return json.dumps(said | others).encode()


def mixed_feed(*topics: str, **changes: Any) -> FeedSpec:
    """Mixed events of some topics by their type and day; bad ones never stop it."""
    settings: dict[str, Any] = {
        "name": "events",
        "topics": topics,
        "route": RouteSpec("field", "type"),
        "time": TimeSpec(field="event_time", unit="ms"),
        "quarantine": QuarantineSpec(min_records=1_000_000),
    }
    return FeedSpec(**(settings | changes))


def feed_tools(
    spark: SparkSession,
    options: Mapping[str, str],
    store: Store,
    around: Surroundings,
    registry: Registry | None = None,
    keys: Keys | None = None,
) -> FeedTools:
    """What a running feed is given when its records come from Kafka."""
    tools = SourceTools(lambda: spark, options)
    return FeedTools(lambda feed: KafkaSource(feed, tools), store, around, registry, keys or Keys())


def run_once(
    spark: SparkSession, kafka: EmbeddedKafka, lake: Path, feed: FeedSpec
) -> tuple[int, list[str]]:
    """`penstock run --once`, in this process."""
    return run_feeds(spark, kafka, LocalStore(lake), feed)


def run_feeds(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    store: Store,
    *feeds: FeedSpec,
    options: Mapping[str, str] | None = None,
    take_over: bool = False,
    registry: Registry | None = None,
    keys: Keys | None = None,
) -> tuple[int, list[str]]:
    """The same with several feeds, a store of one's own and more options; waits for nothing."""
    told: list[str] = []
    servers = {"bootstrap.servers": kafka.bootstrap}
    told_servers = servers | dict(options or {})
    tools = feed_tools(spark, told_servers, store, HASTY, registry, keys)
    once = RunSpec(once=True, take_over=take_over)
    runner = Runner(feeds, tools, lambda event: told.append(event.sentence), lambda: False, once)
    return runner.run(), told


def run_through(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    store: LocalStore,
    feeds: tuple[FeedSpec, ...],
    acts: Iterable[Callable[[], object]],
    registry: Registry | None = None,
    tick: Callable[[], float] = time.monotonic,
) -> tuple[int, list[str]]:
    """`penstock run`: whenever there is nothing left to read, the next act happens; then the end.

    An act is whatever the world does to a running application: produce, delete, add partitions.
    """
    told: list[str] = []
    waiting: Iterator[Callable[[], object]] = iter(acts)
    over: list[bool] = []

    def rest(_seconds: float) -> None:
        act = next(waiting, None)
        if act is None:
            over.append(True)
        else:
            act()

    tools = feed_tools(
        spark,
        {"bootstrap.servers": kafka.bootstrap},
        store,
        Surroundings(time.time, rest, SystemRandom(), tick),
        registry,
    )
    eager = tuple(
        msgspec.structs.replace(feed, window=msgspec.structs.replace(feed.window, every_s=0.0))
        for feed in feeds
    )
    runner = Runner(
        eager,
        tools,
        lambda event: told.append(f"{event.feed}: {event.sentence}"),
        lambda: bool(over),
    )
    return run_turn_by_turn(runner), told


def journal_of(lake: Path, feed: str = "events") -> FeedJournal:
    """A client of a feed's journal."""
    return journal_in(LocalStore(lake), feed)


def journal_in(store: Store, feed: str = "events") -> FeedJournal:
    """The same in any store."""
    return FeedJournal(store, Layout(feed), lake_identity(store, AROUND), AROUND)


def deep_fold(lake: Path, feed: str = "events") -> FeedFold:
    """The journal with its files."""
    return journal_of(lake, feed).open(deep=True)


def bodies(lake: Path, feed: str = "events") -> list[AnyBody]:
    """What the entries of a journal say, in order."""
    journal = journal_of(lake, feed)
    return [journal.require(n).body for n in range(journal.open().state.number + 1)]


def watermarks(lake: Path, feed: str = "events") -> dict[tuple[str, int], int]:
    """The next offset to read, by topic and partition."""
    state = deep_fold(lake, feed).state
    names = {topic_id: topic for topic, topic_id in state.topics.items()}
    return {(names[p.topic_id], p.partition): mark for p, mark in state.watermarks().items()}


def audit_deep(
    spark: SparkSession,
    kafka: EmbeddedKafka,
    lake: Path,
    feed: str = "events",
    what: DeepSpec | None = None,
) -> Receipt:
    """`penstock audit --deep`, in this process: every row, and Kafka."""
    return audit_journal(spark, kafka, journal_of(lake, feed), what)


def audit_journal(
    spark: SparkSession, kafka: EmbeddedKafka, journal: FeedJournal, what: DeepSpec | None = None
) -> Receipt:
    """The same for a lake in any store."""
    parallel = SparkParallelMap(lambda: spark, lambda _what, _done, _of: None)
    servers = {"bootstrap.servers": kafka.bootstrap}
    again = KafkaRecheck(lambda: spark, servers, parallel.watch)
    try:
        tools = DeepTools(parallel, again, time.monotonic)
        return deep_audit(journal, what or DeepSpec(), tools)
    finally:
        again.close()


def positions_in(
    lake: Path, fold: FeedFold
) -> tuple[Counter[tuple[int, int]], Counter[tuple[int, int]]]:
    """Positions of all rows in data files and in the quarantine, read without our code."""
    assert fold.inventory is not None
    data: Counter[tuple[int, int]] = Counter()
    refused: Counter[tuple[int, int]] = Counter()
    for final, live in fold.inventory.files.items():
        rows = [(row["_partition"], row["_offset"]) for row in rows_of_file(lake / final)]
        (refused if live.dataset == QUARANTINE else data).update(rows)
    return data, refused


def check_exact(lake: Path, client: KafkaClient, topic: str) -> None:
    """Every offset of the independent consumer once, in the data or in the quarantine."""
    fold = deep_fold(lake)
    data, refused = positions_in(lake, fold)
    wanted = {(r.partition, r.offset): r.value for r in client.read_all(topic)}
    broken = {place for place, value in wanted.items() if value and not value.endswith(b"}")}
    assert data == Counter(set(wanted) - broken)
    assert refused == Counter(broken)
    visible = {path.relative_to(lake).as_posix() for path in lake.rglob("*") if is_data(path)}
    assert fold.inventory is not None
    assert visible == set(fold.inventory.files)


class Row(NamedTuple):
    """A row of a data file: the dataset's directory, the directories below, and the columns."""

    dataset: str
    below: str
    columns: dict[str, Any]


class Landed(NamedTuple):
    """Where every record of the source is now. The three parts have nothing in common."""

    data: dict[Place, Row]
    refused: dict[Place, dict[str, Any]]
    filtered: dict[Place, ReadRecord]

    def datasets(self) -> Counter[str]:
        """How many rows each dataset has."""
        return Counter(row.dataset for row in self.data.values())


def data_files(lake: Path, feed: str = "events") -> list[Path]:
    """What a reader of the feed's directory takes for data."""
    return sorted(p for p in (lake / feed).rglob("*") if is_data(p) and "_tail" not in p.parts)


def is_data(path: Path) -> bool:
    """True for files that a reader takes for data."""
    return path.name.endswith(READABLE)


def landed(
    lake: Path,
    client: KafkaClient,
    *topics: str,
    feed: str = "events",
    wanted: Callable[[ReadRecord], bool] = lambda _record: True,
    check: Callable[[Row, ReadRecord], None] | None = None,
) -> Landed:
    """Compare the lake with what an independent consumer reads: each record once, as it was.

    Data files are found by walking the directories. A record that lies nowhere counts as filtered,
    and there must be as many of those as the journal says.
    """
    source = {
        (topic, record.partition, record.offset): record
        for topic in topics
        for record in client.read_all(topic)
        if wanted(record)
    }
    data = _only_once(rows_in(lake, feed))
    refused = _only_once(refused_in(lake, feed))
    assert not set(data) & set(refused)
    assert set(data) | set(refused) <= set(source)
    for place, row in data.items():
        (check or check_row)(row, source[place])
    for place, columns in refused.items():
        record = source[place]
        assert (columns["key"], columns["value"]) == (record.key, record.value)
        assert columns["reason"]
        assert columns["fingerprint"]
    left = {place: source[place] for place in source if place not in data and place not in refused}
    counts = [body.counts for body in bodies(lake, feed) if isinstance(body, Window)]
    assert len(left) == sum(count.filtered for count in counts), sorted(left)[:5]
    assert len(source) == sum(count.read for count in counts)
    return Landed(data, refused, left)


def rows_in(lake: Path, feed: str) -> Iterator[tuple[Place, Row]]:
    """Every row of a feed's data files, found by walking the directories."""
    for path in data_files(lake, feed):
        dataset, *below = path.relative_to(lake / feed).parent.parts
        for columns in rows_of_file(path):
            yield _place(columns), Row(dataset, "/".join(below), columns)


def refused_in(lake: Path, feed: str) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every row of a feed's quarantine."""
    for path in sorted((lake / "_penstock" / feed / "quarantine").rglob("*.parquet")):
        for columns in pq.ParquetFile(path).read().to_pylist():
            yield _place(columns), columns


def _place(columns: dict[str, Any]) -> Place:
    return columns["_topic"], columns["_partition"], columns["_offset"]


def _only_once(found: Iterator[tuple[Place, T]]) -> dict[Place, T]:
    places: dict[Place, T] = {}
    for place, what in found:
        assert place not in places, f"{place} is there twice"
        places[place] = what
    return places


def check_row(row: Row, record: ReadRecord) -> None:
    """A row says what its record says."""
    assert event_of(row.columns) == without_nulls(json.loads(record.value or b"null"))
    assert round(row.columns["_timestamp"].timestamp() * 1000) == record.timestamp_ms


def event_of(columns: dict[str, Any]) -> Any:
    """The event that a row was made of: without our columns, and with what `_rest` keeps."""
    own = {name: value for name, value in columns.items() if not name.startswith("_")}
    rest = json.loads(columns.get("_rest") or "{}")
    return without_nulls(_merged(own, rest))


def _merged(left: Any, right: Any) -> Any:
    if isinstance(left, dict) and isinstance(right, dict):
        return {k: _merged(left.get(k), right.get(k)) for k in {**left, **right}}
    return left if right is None else right


def without_nulls(value: Any) -> Any:
    """A null field and no such field are the same to us, and so is an object without fields."""
    if isinstance(value, dict):
        kept = {k: without_nulls(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v is not None and v != {}}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
