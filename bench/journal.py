"""How fast a journal opens and takes entries, on a real directory: `make bench-journal`.

Three questions, each answered with the median of a few runs:
  old    a journal of many entries with a checkpoint near its tail: opening it
  fold   many windows of many files and no checkpoint: opening it light, and deep with its files
  append one entry at a time with everything synced: how long each takes
and a table of what acts cost on a store that takes 40 ms for each request, in requests and seconds.

The journals are written straight to files without syncing, which only the building needs. All of
it lies in a temporary directory that is removed at the end.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import msgspec

from bench.interrupted import in_one_line
from penstock.care.clean import clean
from penstock.model.entries import (
    FORMAT,
    AnyBody,
    Bind,
    Counts,
    Entry,
    PartitionStart,
    SealedEntry,
    Seek,
    Start,
    Window,
)
from penstock.model.envelope import Claim
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.layout import SHARD, Layout
from penstock.model.manifest import Content, ManifestFile, groups_of
from penstock.model.names import FileName, window_id
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle
from penstock.model.steps import DELIVER
from penstock.ports.store.open_store import local_spec, open_store
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FOLD, FeedState
from penstock.protocol.journal.book_state import Checkpoint
from penstock.protocol.journal.every_book import apply
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import seal
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.tidying import TidyOrder, tidy
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.testing.cost_store import CostStore
from penstock.testing.memory_store import MemoryStore
from tests.simulator.kafka import SimKafka, SimSource

LAYOUT = Layout("bench")
LAKE, TOPIC, TOPIC_ID = "bench-lake", "events", "bench-topic-id"
OPEN_TARGET_S, FOLD_TARGET_S = 2.0, 5.0


@dataclass(frozen=True)
class Result:
    """One line of the table."""

    what: str
    seconds: float
    runs: list[float]
    target_s: float | None = None

    @property
    def verdict(self) -> str:
        """How it compares with what we want."""
        if self.target_s is None:
            return ""
        kept = self.seconds < self.target_s
        return f"target {self.target_s:g} s: {'kept' if kept else 'MISSED'}"


class Writer:
    """Writes a sound journal as fast as files can be made, and folds it on the way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.state = FeedState()

    def append(self, body: AnyBody) -> None:
        """The next entry, and its done marker when it has something to do."""
        entry = Entry(
            format=FORMAT,
            number=self.state.number + 1,
            feed=LAYOUT.feed,
            lake=LAKE,
            incarnation=LAYOUT.incarnation,
            epoch=self.state.epoch + isinstance(body, Claim),
            nonce=f"{self.state.number + 1:032x}",
            previous=self.state.sha256,
            at="2026-11-15T00:00:00.000+00:00",
            body=body,
        )
        data, sha256 = seal(entry)
        if entry.number % SHARD == 0:
            for room in (LAYOUT.journal, LAYOUT.done):
                (self.root / LAYOUT.shard(room, entry.number)).mkdir(parents=True)
        self.put(LAYOUT.entry(entry.number), data)
        apply(FEED_BOOK, self.state, SealedEntry(entry, sha256))
        undone = self.state.undone.pop(entry.number, None)
        if undone is not None:
            marker = Marker(entry.number, sha256, tuple(undone.groups))
            self.put(LAYOUT.marker(entry.number), msgspec.json.encode(marker))

    def put(self, key: str, data: bytes) -> None:
        """One file; its directory is there."""
        (self.root / key).write_bytes(data)

    def begin(self) -> None:
        """What every journal begins with."""
        self.append(Bind("bench-cluster"))
        self.append(Claim("bench"))
        self.append(Start((PartitionStart(TOPIC, TOPIC_ID, 0, 0),)))

    def leave_tail_mark(self) -> None:
        """As publishing does; it is looked at whenever the journal is opened."""
        (self.root / LAYOUT.tails).mkdir(parents=True)
        mark = Marker(self.state.number, self.state.sha256)
        self.put(LAYOUT.tail(self.state.number), msgspec.json.encode(mark))

    def leave_checkpoint(self) -> None:
        """As an owner does now and then."""
        (self.root / LAYOUT.checkpoints).mkdir(parents=True, exist_ok=True)
        self.put(LAYOUT.checkpoint(self.state.number), seal(Checkpoint(FOLD, self.state))[0])


def windows(count: int, files: int) -> Iterator[Window]:
    """Windows of one partition, each with so many files of one row."""
    for turn in range(count):
        window = window_id(1, turn + 1)
        covered = OffsetRange(TOPIC, TOPIC_ID, 0, turn * files, (turn + 1) * files)
        offsets = range(covered.start, covered.end)
        content = Content(
            files=tuple(_file(window, covered, offset) for offset in offsets),
            evidence=(
                RangeEvidence(
                    covered,
                    OffsetSet(((covered.start, covered.end),)),
                    Evidence.of_positions(TOPIC, 0, offsets),
                    turn,
                ),
            ),
        )
        yield Window(
            window=window,
            groups=groups_of(content, DELIVER),
            content=content,
            ranges=(covered,),
            counts=Counts(files, files),
        )


def _file(window: str, covered: OffsetRange, offset: int) -> ManifestFile:
    dataset = f"kind{offset - covered.start}"
    name = FileName(0, TOPIC, 0, covered.start, covered.end, window, "zstd.parquet")
    final = f"{LAYOUT.feed}/{dataset}/day=2026-11-15/{name}"
    staged = f"{LAYOUT.staging}/{window}/{offset:032x}.staged"
    handle = StagedHandle("local", staged, final, 4096, f"sha256:{offset:064x}")
    return ManifestFile(dataset, handle, Evidence.of_positions(TOPIC, 0, [offset]), (covered,))


def build(root: Path, count: int, files: int, checkpoint_before_end: int | None) -> int:
    """A journal of `count` entries; returns the number of its last one."""
    root.mkdir()
    writer = Writer(root)
    writer.begin()
    for body in windows(count - 3, files):
        writer.append(body)
        if checkpoint_before_end == count - 1 - writer.state.number:
            writer.leave_checkpoint()
    writer.leave_tail_mark()
    return writer.state.number


def open_journal(root: Path) -> FeedJournal:
    """A client that has never seen this directory, with a real clock."""
    around = Surroundings(time.time, time.sleep, Random())
    return FeedJournal(open_store(local_spec(root)), LAYOUT, LAKE, around)


def timed(act: Callable[[], object]) -> float:
    """How long one act takes."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def measure_opening(
    what: str, root: Path, tail: int, runs: int, target_s: float, *, deep: bool = False
) -> Result:
    """Open a journal a few times, each time as a fresh process would."""

    def once() -> None:
        state = open_journal(root).open(deep=deep).state
        if (state.number, len(state.undone)) != (tail, 0):
            raise SystemExit(f"{what}: opened entry {state.number}, {len(state.undone)} undone")

    took = [timed(once) for _ in range(runs)]
    return Result(what, statistics.median(took), took, target_s)


def bench_old(scratch: Path, entries: int, runs: int) -> Iterator[Result]:
    """A journal after years, with the checkpoint that the last owner left."""
    root = scratch / "old"
    began = time.perf_counter()
    tail = build(root, entries, 1, checkpoint_before_end=min(99, entries // 2))
    took = time.perf_counter() - began
    yield Result(f"build {entries:,} entries and their markers", took, [took])
    yield measure_opening(
        f"open {entries:,} entries, checkpoint near the tail", root, tail, runs, OPEN_TARGET_S
    )
    shutil.rmtree(root)


def bench_fold(scratch: Path, count: int, files: int, runs: int) -> Iterator[Result]:
    """A journal whose checkpoints are gone."""
    root = scratch / "fold"
    began = time.perf_counter()
    tail = build(root, count + 3, files, checkpoint_before_end=None)
    took = time.perf_counter() - began
    name = f"{count:,} windows of {files} files"
    yield Result(f"build {name}", took, [took])
    yield measure_opening(f"fold {name}, light", root, tail, runs, FOLD_TARGET_S)
    yield measure_opening(f"fold {name}, deep", root, tail, runs, FOLD_TARGET_S, deep=True)
    shutil.rmtree(root)


def bench_append(scratch: Path, appends: int, runs: int) -> Iterator[Result]:
    """Small decisions, one after the other, each synced to the disk."""
    root = scratch / "append"
    build(root, 3, 1, checkpoint_before_end=None)
    journal = open_journal(root)
    fold = journal.open()
    took = []
    for turn in range(appends * runs):
        body = Seek(TOPIC, TOPIC_ID, 0, turn, turn + 1, "bench", "bench")
        began = time.perf_counter()
        journal.append(fold, body, 1)
        took.append(time.perf_counter() - began)
    medians = [statistics.median(took[run * appends :][:appends]) for run in range(runs)]
    yield Result(f"append an entry, of {appends:,}", statistics.median(medians), medians)
    slow = sorted(took)[int(len(took) * 0.99)]
    yield Result(f"append an entry, 99th percentile of {len(took):,}", slow, [slow])
    shutil.rmtree(root)


@dataclass(frozen=True)
class ActCost:
    """What one act of an owner costs on a store far away."""

    act: str
    requests: dict[str, int]
    seconds: float


class FarFeed:
    """A feed in memory whose every request is counted; its tasks write without being counted."""

    def __init__(self, files: int) -> None:
        self.inner = MemoryStore(atomic_publish=True)
        self.store = CostStore(self.inner)
        self.kafka = SimKafka({0: [f"d{n % files}" for n in range(files * 310)]}, {0: 0})
        self.files = files
        self.around = Surroundings(
            time.time, lambda _s: None, Random(1), do_all=self.store.side_by_side
        )
        self.orders: list[TidyOrder] = []
        source = SimSource(self.kafka, self.inner, self.around)
        spec = OwnerSpec("bench", WindowPolicy(files), files="parquet")
        self.owner = Owner(self.journal(), source, self.around, spec, hand_out=self.orders.append)

    def journal(self) -> FeedJournal:
        """A client that has folded nothing."""
        return FeedJournal(self.store, LAYOUT, LAKE, self.around)

    def window(self) -> None:
        """New records come and are delivered."""
        self.kafka.latest[0] += self.files
        self.owner.run_window()

    def cost(self, act: str, do: Callable[[], object]) -> ActCost:
        """What one act costs."""
        self.store.take()
        do()
        cost = self.store.take()
        return ActCost(act, cost.requests, cost.seconds)

    def tidy(self) -> None:
        """What runs beside the loop after a hundred entries."""
        tidy(self.store, LAYOUT, self.orders.pop(), self.around.sleep)


def bench_far() -> Iterator[ActCost]:
    """The acts of an owner whose lake is far away, one after the other."""
    far = FarFeed(files=1)
    yield far.cost("first start: bind, claim", far.owner.take_over)
    yield far.cost("first window, with its start entry", far.window)
    yield far.cost("steady window of 1 file", far.window)
    yield far.cost("turn without a window", far.owner.run_window)
    yield far.cost("a look at what others decided", far.owner.notice_others)
    for _ in range(195):
        far.window()
    yield far.cost("open, 198 entries and no checkpoint", lambda: far.journal().open())
    yield far.cost("tidy after 100 entries, beside the loop", far.tidy)
    yield far.cost("open, right after a checkpoint", lambda: far.journal().open())
    yield far.cost("clean, nothing to remove, beside the loop", lambda: clean(far.journal()))
    wide = FarFeed(files=240)
    wide.owner.take_over()
    wide.window()
    yield wide.cost("steady window of 240 files", wide.window)


def show_act(cost: ActCost) -> None:
    """One line for people."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(cost.requests.items()))
    total = sum(cost.requests.values())
    print(f"{cost.seconds:10.2f} s   {cost.act:42} {total:5}  {kinds}", flush=True)


def show(result: Result) -> None:
    """One line for people."""
    if result.seconds < 0.1:
        amount = f"{result.seconds * 1000:10.2f} ms"
    else:
        amount = f"{result.seconds:10.2f} s "
    print(f"{amount}  {result.what:58} {result.verdict}", flush=True)


def main() -> int:
    """Run all of it; 1 when a target was missed."""
    parser = argparse.ArgumentParser(description="Measure the journal.")
    parser.add_argument("--entries", type=int, default=1_000_000, help="entries of the old journal")
    parser.add_argument("--windows", type=int, default=10_000, help="windows to fold")
    parser.add_argument("--files", type=int, default=50, help="files per window to fold")
    parser.add_argument("--appends", type=int, default=200, help="entries to append, per run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    asked = parser.parse_args()
    if asked.entries < 10:
        parser.error("--entries must be 10 or more")
    results = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as scratch:
        for results_of in (
            bench_append(Path(scratch), asked.appends, asked.runs),
            bench_fold(Path(scratch), asked.windows, asked.files, asked.runs),
            bench_old(Path(scratch), asked.entries, asked.runs),
        ):
            for result in results_of:
                results.append(result)
                if not asked.json:
                    show(result)
    costs = []
    for cost in bench_far():
        costs.append(cost)
        if not asked.json:
            show_act(cost)
    if asked.json:
        print(json.dumps([*map(asdict, results), *map(asdict, costs)]))
    return int(any("MISSED" in result.verdict for result in results))


if __name__ == "__main__":
    in_one_line(main)
