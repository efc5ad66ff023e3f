"""A year of a feed in small: `make bench-year`. What grows, and what does not?

A feed of 50 datasets delivers 20,000 windows in 365 days of a clock that is moved on, with the code
of a run: owner, stager, files in Parquet, journal. Its source is a list in memory, and tasks run in
this process, so there is neither Kafka nor Spark. Once a day its upkeep has a round: compaction of
the days that are over, and then in the order of a run cleaning, inventory, sealing, retention. Once
a week its process dies in the middle of a window, and another one takes over. After each day this
is measured:

  live       files that readers see, by the inventory, and those that lie in the directories
  delivered  files that the windows of the days that are kept have made
  staged     files that nobody sees, after the day's cleaning
  journal    entries and done markers; segments; all other objects of the feed
  open       a new process opens the journal: processor time, and requests to the store
  files      `penstock files` of a dataset and day, and of all: processor time
  compact    the day's round of compaction: processor time

Most have a bound (`BOUNDS`). At the end both audits have to balance, and every record of the days
that are kept must lie in the files exactly once, as pyarrow reads them. The exit code is 1 if a
bound is not kept, or if something differs.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from statistics import median
from typing import TypeVar

import pyarrow.parquet as pq

from bench.interrupted import in_one_line
from bench.machine import machine
from bench.pictures import place_for, stacked, write_down
from penstock.api.store import Store
from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.shallow import audit
from penstock.care.clean import clean
from penstock.care.closed_directories import next_round_s
from penstock.care.compact_in_run import RunCompaction
from penstock.care.retire import retire_old
from penstock.charts.svg_charts import Axes, Series, line_chart
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_upkeep import Caring
from penstock.feeds.running_feed import RunningFeed
from penstock.model.layout import Layout
from penstock.model.ranges import OffsetSet
from penstock.model.spec import CompactSpec, FeedSpec, RouteSpec, WindowSpec
from penstock.ports.store.open_store import local_spec, open_store
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_writer import INVENTORY_EVERY
from penstock.protocol.feed_book.shard_names import of_dataset
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.runtime.parallel import in_this_process
from penstock.testing.cost_store import CostStore
from penstock.testing.list_source import ListCluster, ListedRecord, ListSource
from tests.helpers.clock import Clock

DAY_S = 86_400.0
NAME, TOPIC = "year", "events"
DEATH_EVERY = 7  # days
MIN_FILES = 2  # of a day that is compacted
JOURNAL = ("journal", "done")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the year is. `each` is in how many datasets a window has records."""

    windows: int = 20_000
    datasets: int = 50
    days: int = 365
    each: int = 4
    retain_days: int = 30
    seal_days: int = 7

    @property
    def windows_a_day(self) -> int:
        """As many on each day; at least one."""
        return max(self.windows // self.days, 1)

    @property
    def entries_a_day(self) -> int:
        """Windows, a compaction and a retirement of each dataset; claims and seals sometimes."""
        return self.windows_a_day + 2 * self.datasets + 2

    @property
    def files_a_day(self) -> int:
        """Those that windows make."""
        return self.each * self.windows_a_day

    @property
    def compacted_a_day(self) -> int:
        """Those that compaction leaves: one of a dataset, or two where windows made two only."""
        return self.datasets * (1 if self.files_a_day >= 3 * self.datasets else 2)


@dataclass(frozen=True, slots=True)
class Day:
    """What was there after a day, and what it cost to look at it."""

    day: int
    windows: int
    live: int
    delivered: int
    in_directories: int
    staged: int
    journal: int
    segments: int
    others: int
    open_requests: int
    open_s: float
    files_of_day_s: float
    files_s: float
    compact_s: float


@dataclass(frozen=True, slots=True)
class Bound:
    """What must hold of the days after the first weeks, in words and as numbers."""

    what: str
    figure: Callable[[Day], float]
    most: Callable[[Shape], float]


BOUNDS = (
    Bound(
        "live files: one for a dataset and day that is kept, and two more; and those of two days",
        lambda day: day.live,
        lambda shape: shape.compacted_a_day * (shape.retain_days + 2) + 2 * shape.files_a_day,
    ),
    Bound(
        "files in the directories that no reader of the inventory sees",
        lambda day: abs(day.in_directories - day.live),
        lambda _shape: 0,
    ),
    Bound("staged files after the day's cleaning", lambda day: day.staged, lambda _shape: 0),
    Bound(
        "entries and markers: those of twice `seal` and two days, and of two inventory roots",
        lambda day: day.journal,
        lambda shape: 2 * (shape.entries_a_day * (2 * shape.seal_days + 2) + 2 * INVENTORY_EVERY),
    ),
    Bound(
        "segments: one for each `seal`, and two more",
        lambda day: day.segments,
        lambda shape: shape.days / shape.seal_days + 2,
    ),
    Bound(
        "other objects: three shards for each dataset and day that is kept; schemas, checkpoints",
        lambda day: day.others,
        lambda shape: shape.datasets * (3 * (shape.retain_days + 2) + 1) + 50,
    ),
    Bound("requests to open the journal", lambda day: day.open_requests, lambda _shape: 600),
)


class Year:
    """The feed, its lake in a directory, and the clock that both live by."""

    def __init__(self, place: Path, shape: Shape) -> None:
        self.place, self.shape = place, shape
        self._store = open_store(local_spec(place))
        self._clock = Clock()
        self._cluster = ListCluster()
        self._cluster.create_topic(TOPIC)
        self._numbers = count()
        self._first_of_day = dict[str, int]()
        self._feed = FeedSpec(
            name=NAME,
            topics=(TOPIC,),
            route=RouteSpec("field", "type"),
            retain_s=shape.retain_days * DAY_S,
            seal_s=shape.seal_days * DAY_S,
            compact=CompactSpec("day_closed", min_files=MIN_FILES),
            window=WindowSpec(every_s=0.0),
        )
        self._running = self._started()

    def days(self) -> Iterator[Day]:
        """Live through the year, day by day."""
        for day in range(self.shape.days):
            for window in range(self.shape.windows_a_day):
                self._produce()
                if day % DEATH_EVERY == DEATH_EVERY - 1 and window == self.shape.windows_a_day // 2:
                    self._die()
                self._deliver()
            compact_s = self._upkeep()
            yield self._measured(day, compact_s)

    def differences(self) -> list[str]:
        """What is wrong in the end: by both audits, and by the positions that pyarrow reads."""
        tools = DeepTools(in_this_process, None, time.perf_counter)
        receipts = {
            "shallow": audit(self._journal(self._store)),
            "deep": deep_audit(self._journal(self._store), DeepSpec(), tools),
        }
        found = [
            f"{name} audit: {difference}"
            for name, receipt in receipts.items()
            for difference in receipt.differences
        ]
        rows = Counter[int]()
        for file in (self.place / NAME).rglob("*.parquet"):
            rows.update(pq.ParquetFile(file).read(["_offset"])["_offset"].to_pylist())
        if rows != Counter(self._kept()):
            doubled = sum(rows.values()) - len(rows)
            runs = OffsetSet.from_runs((offset, offset + 1) for offset in rows).runs
            found.append(f"rows: {self._kept()} expected; there are {runs}, and {doubled} doubled")
        if receipts["deep"].deep is None or receipts["deep"].deep.rows != len(self._kept()):
            found.append("deep audit: it has read other rows")
        return found

    def _kept(self) -> range:
        """The offsets of the days that are kept: all from the day on in which `retain` ends."""
        since = _day(self._clock.now() - self.shape.retain_days * DAY_S)
        firsts = [first for day, first in self._first_of_day.items() if day >= since]
        return range(firsts[0], self._cluster_end())

    def _cluster_end(self) -> int:
        return len(self._cluster.log(TOPIC, 0).records)

    def _started(self) -> RunningFeed:
        """A new process, which takes the feed over."""
        around = self._clock.around()
        tools = FeedTools(
            lambda feed: ListSource(feed, self._cluster),
            self._store,
            around,
            caring=Caring(clean, retire_old),
            compact=RunCompaction(lambda _feed, _go_on: in_this_process, around),
            next_round=lambda feed, now_s: next_round_s(feed.compact, now_s),
        )
        running = RunningFeed(self._feed, tools, once=False)
        running.try_start(force=True)
        return running

    def _produce(self) -> None:
        """Records of some datasets, after a pause."""
        self._clock.passes(DAY_S / self.shape.windows_a_day)
        at_ms = int(self._clock.now() * 1000)
        for _ in range(self.shape.each):
            number = next(self._numbers)
            self._first_of_day.setdefault(_day(self._clock.now()), number)
            event = {"type": f"kind{number % self.shape.datasets}", "n": number}
            self._cluster.append(
                TOPIC, 0, ListedRecord(json.dumps(event).encode(), timestamp_ms=at_ms)
            )

    def _deliver(self) -> None:
        """A window, and what it asks to be done beside the loop."""
        if not self._running.run_window():
            raise AssertionError("there was nothing to read")
        for job in self._running.due_jobs():
            job.act()

    def _die(self) -> None:
        """Die with a window that is staged and not decided; another process takes over."""
        order = self._running.owner.plan()
        if order is None:
            raise AssertionError("there was nothing to read")
        self._running.owner.stage(order)
        self._running = self._started()

    def _upkeep(self) -> float:
        """A round of what a run does after each claim and every hour: here once a day.

        The processor time of compaction, which in a run has a thread of its own.
        """
        began = time.process_time()
        rounds = 0
        for job in self._running.compaction_jobs():
            job.act()
            rounds += 1
        if rounds != 1:
            raise AssertionError(f"{rounds} rounds of compaction were due")
        compact_s = time.process_time() - began
        for job in self._running.regular_jobs():
            job.act()
        return compact_s

    def _measured(self, day: int, compact_s: float) -> Day:
        inner = CostStore(self._store)
        journal = self._journal(inner)
        _, open_s = _timed(journal.open)
        requests = inner.take().total
        wanted = of_dataset("kind0", _day(self._clock.now()))
        _, files_of_day_s = _timed(lambda: self._journal(self._store).open_partial(wanted))
        deep, files_s = _timed(lambda: self._journal(self._store).open(deep=True))
        if deep.inventory is None:
            raise AssertionError("a deep fold has an inventory")
        objects = self._objects()
        in_journal = sum(objects.pop(name, 0) for name in JOURNAL)
        return Day(
            day + 1,
            deep.state.windows,
            len(deep.inventory.files),
            len(self._kept()),  # of each window a file of one record
            sum(1 for _ in (self.place / NAME).rglob("*.parquet")),
            objects.pop("staging", 0),
            in_journal,
            objects.pop("segments", 0),
            sum(objects.values()),
            requests,
            round(open_s, 4),
            round(files_of_day_s, 4),
            round(files_s, 4),
            round(compact_s, 4),
        )

    def _journal(self, store: Store) -> FeedJournal:
        """A client that has folded nothing."""
        around = self._clock.around()
        return FeedJournal(store, Layout(NAME), lake_identity(self._store, around), around)

    def _objects(self) -> Counter[str]:
        """How many files there are below each directory of the feed's own."""
        own = self.place / "_penstock" / NAME
        files = (path for path in own.rglob("*") if path.is_file())
        return Counter(path.relative_to(own).parts[0] for path in files)


def _day(at_s: float) -> str:
    """The day of a time, in UTC as the directories are."""
    return datetime.fromtimestamp(at_s, UTC).date().isoformat()


def _timed(act: Callable[[], T]) -> tuple[T, float]:
    """What an act gives, and its processor time: what else the machine does is no matter here."""
    began = time.process_time()
    found = act()
    return found, time.process_time() - began


def steady(days: Sequence[Day], shape: Shape) -> Sequence[Day]:
    """The days after which nothing has to grow any more: retention and sealing have begun."""
    return [day for day in days if day.day > max(shape.retain_days, 2 * shape.seal_days) + 2]


def broken_bounds(days: Sequence[Day], shape: Shape) -> list[str]:
    """What did not keep its bound."""
    return [
        f"{bound.what}: {worst:g}, and the bound is {bound.most(shape):g}"
        for bound in BOUNDS
        if (worst := max(map(bound.figure, days))) > bound.most(shape)
    ]


def picture(days: Sequence[Day]) -> str:
    """What was there, and what it cost, over the days of the year."""

    def line(label: str, figure: Callable[[Day], float]) -> Series:
        return Series(label, [(day.day, figure(day)) for day in days[:: max(len(days) // 60, 1)]])

    charts = (
        (
            "Files of the days that are kept",
            "",
            (
                line("as windows made them", lambda day: day.delivered),
                line("live", lambda day: day.live),
                line("staged", lambda day: day.staged),
            ),
        ),
        (
            "Objects of the journal",
            "",
            (
                line("entries and markers", lambda day: day.journal),
                line("segments", lambda day: day.segments),
                line("checkpoints, inventory and others", lambda day: day.others),
            ),
        ),
        (
            "Looking at the feed",
            "milliseconds of processor time",
            (
                line("open", lambda day: 1e3 * day.open_s),
                line("files of a day", lambda day: 1e3 * day.files_of_day_s),
                line("all files", lambda day: 1e3 * day.files_s),
            ),
        ),
    )
    return stacked(
        "A year of a feed",
        [line_chart(title, series, Axes("day", unit)) for title, unit, series in charts],
    )


def show(days: Sequence[Day], shape: Shape) -> None:
    """Print each bound with the worst day, and the cost of looking in the first and last weeks."""
    for bound in BOUNDS:
        worst = max(days, key=bound.figure)
        print(f"{bound.figure(worst):>9,.0f} of {bound.most(shape):>9,.0f}  {bound.what}")
    kept = steady(days, shape)
    for what, some in (("first", kept[:30]), ("last", kept[-30:])):
        found = [
            1e3 * median(getattr(day, name) for day in some)
            for name in ("open_s", "files_of_day_s", "files_s", "compact_s")
        ]
        print(
            f"{what} 30 steady days, medians: open {found[0]:.1f} ms, files of a day "
            f"{found[1]:.1f} ms, all files {found[2]:.1f} ms, "
            f"compaction {found[3]:,.0f} ms of processor time"
        )


def main() -> int:
    """Live through the year, print its figures, and write them down."""
    parser = argparse.ArgumentParser(description="A year of a feed in small.")
    usual = Shape()
    for name, value in asdict(usual).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    parser.add_argument("--place", type=Path, help="make the lake in this directory")
    parser.add_argument("--out", type=Path, help="write year.json and year.svg there")
    asked = vars(parser.parse_args())
    place, out = asked.pop("place"), asked.pop("out")
    shape, began = Shape(**asked), time.perf_counter()
    days = []
    with tempfile.TemporaryDirectory(dir=place) as lake:
        year = Year(Path(lake), shape)
        for day in year.days():
            days.append(day)
            if day.day % 10 == 0:
                print(json.dumps(asdict(day)), file=sys.stderr, flush=True)
        differences = year.differences()
    took_s = round(time.perf_counter() - began)
    show(days, shape)
    out = place_for(out, shape == usual)
    if out is not None:
        found = {"machine": machine(), "took_s": took_s, "shape": asdict(shape)}
        write_down(out, "year", {**found, "days": [asdict(day) for day in days]}, picture(days))
    broken = [*broken_bounds(days, shape), *differences]
    print("\n".join(broken) or f"every bound is kept, and all is proven, in {took_s} s", flush=True)
    return 1 if broken else 0


if __name__ == "__main__":
    in_one_line(main)
