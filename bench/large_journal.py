"""What a large and old feed costs: `make bench-large`.

Three tables:
  far   a feed of 100,000 windows of 200 files on a store that takes 40 ms for each request: opening
        it as an owner, `files` of one day and dataset, the quarantine, `where` of an old record;
        with the memory it takes
  old   a journal of a million windows: objects, bytes, and how long it takes to open with its
        checkpoints and without them
  sealed  a smaller journal of the same windows, before and after its old entries are sealed; the
        objects of a million windows are computed from its real segments

Nothing is written to a disk but one temporary file, which is removed at the end. "Requests" is the
time of all requests at 40 ms each, counted and not waited for; the rest is measured.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedRandom
from random import Random
from typing import Any

import msgspec

from bench.interrupted import in_one_line
from penstock.api.store import ListedObject
from penstock.model.entries import (
    FORMAT,
    AnyBody,
    Bind,
    Counts,
    Entry,
    PartitionStart,
    SealedEntry,
    Start,
    Window,
)
from penstock.model.envelope import Claim, Seal
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.layout import SHARD, Layout
from penstock.model.manifest import Content, ManifestFile, groups_of
from penstock.model.names import FileName, window_id
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.record_position import Position
from penstock.model.staged import StagedHandle
from penstock.model.steps import DELIVER
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.feed_book.shard_names import of_dataset, of_quarantine
from penstock.protocol.feed_book.state import FOLD, FeedState
from penstock.protocol.journal.book_state import Checkpoint
from penstock.protocol.journal.every_book import apply
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.protocol.journal.wire import seal
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.runtime.surroundings import Surroundings
from penstock.status.where_record import RecordSearch
from tests.helpers.far_store import FarStore
from tests.helpers.large_feeds import ROWS, LargeFeed, day_of
from tests.simulator.kafka import TOPIC as FAR_TOPIC
from tests.simulator.kafka import SimKafka, SimSource

LAYOUT = Layout("bench")
LAKE, TOPIC, TOPIC_ID = "bench-lake", "events", "bench-topic-id"
_NUMBERED = re.compile(r"_penstock/bench/(journal|done)/\d+/(\d{20})\.json")


class Archive(FarStore):
    """A far store whose entries and markers lie in one file, so that a million of them fit."""

    def __init__(self, file: BufferedRandom) -> None:
        super().__init__()
        self._file = file
        self._begins = {"journal": array("Q"), "done": array("Q")}
        self._sizes = {"journal": array("L"), "done": array("L")}
        self._numbers: dict[str, dict[int, int]] = {"journal": {}, "done": {}}

    def put(self, key: str, data: bytes) -> None:
        """Append an entry or a marker; entries have all numbers, markers most."""
        found = _NUMBERED.fullmatch(key)
        if found is None:
            raise ValueError(key)
        room, number = found[1], int(found[2])
        self._numbers[room][number] = len(self._begins[room])
        self._begins[room].append(self._file.seek(0, os.SEEK_END))
        self._sizes[room].append(self._file.write(data))

    def read(self, key: str) -> bytes | None:
        """One request."""
        found = _NUMBERED.fullmatch(key)
        if found is None:
            return super().read(key)
        self.requests["read"] += 1
        self.seconds += 0.040
        index = self._numbers[found[1]].get(int(found[2]))
        if index is None:
            return super().read(key)
        self._file.seek(self._begins[found[1]][index])
        return self._file.read(self._sizes[found[1]][index])

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """One request for each thousand keys."""
        room = {LAYOUT.journal: "journal", LAYOUT.done: "done"}.get(prefix.rpartition("/")[0])
        if room is None:
            return super().list_objects(prefix, after, limit)
        begin = int(prefix.rpartition("/")[2]) * SHARD
        name = LAYOUT.entry if room == "journal" else LAYOUT.marker
        known = self._numbers[room]
        sizes = self._sizes[room]
        numbers = [n for n in range(begin, begin + SHARD) if n in known and name(n) > after]
        self.requests["list"] += 1 + len(numbers) // 1_000
        self.seconds += 0.040 * (1 + len(numbers) // 1_000)
        return (ListedObject(name(n), sizes[known[n]]) for n in numbers[:limit])

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """One request for each thousand keys, as object stores have it."""
        for key in keys:
            found = _NUMBERED.fullmatch(key)
            if found is not None:
                self._numbers[found[1]].pop(int(found[2]), None)
        self.requests["delete"] += 1 + len(keys) // 1_000
        self.seconds += 0.040 * (1 + len(keys) // 1_000)
        return super().delete_all([key for key in keys if not _NUMBERED.fullmatch(key)])

    def left(self) -> dict[str, tuple[int, int]]:
        """Numbers of objects and their bytes that are left, by kind."""
        found = {
            room: (len(known), sum(self._sizes[room][index] for index in known.values()))
            for room, known in self._numbers.items()
        }
        for part in ("journal", "segments"):
            sizes = [len(v) for k, v in self.shelf.objects.items() if f"/{part}/" in k]
            count, size = found.get(part, (0, 0))
            found[part] = (count + len(sizes), size + sum(sizes))
        return found

    def totals(self) -> Iterator[tuple[str, int, int]]:
        """Kinds of objects, how many there are, and their bytes."""
        for room, what in (("journal", "entries"), ("done", "done markers")):
            yield what, len(self._sizes[room]), sum(self._sizes[room])
        for part, what in (("checkpoints", "checkpoints"), ("inventory/roots", "inventory roots")):
            found = [v for k, v in self.shelf.objects.items() if f"/{part}/" in k]
            yield what, len(found), sum(map(len, found))
        found = [v for k, v in self.shelf.objects.items() if "/inventory/shards/" in k]
        yield "inventory shards", len(found), sum(map(len, found))


class OldFeed:
    """Writes a sound journal of many windows, each with some files, as fast as it can be made."""

    def __init__(self, store: Archive, windows: int, files: int) -> None:
        self.store, self.files = store, files
        self.state = FeedState()
        for body in (
            Bind("bench"),
            Claim("bench"),
            Start((PartitionStart(TOPIC, TOPIC_ID, 0, 0),)),
        ):
            self._append(body)
        self._journal = FeedJournal(store, LAYOUT, LAKE, around_of(store))
        for turn in range(windows):
            self._append(self._window(turn))
            if turn == windows - 100:
                self.leave_checkpoint()
        mark = Marker(self.state.number, self.state.sha256)
        store.create(LAYOUT.tail(mark.number), msgspec.json.encode(mark))

    def leave_checkpoint(self) -> None:
        """As an owner does now and then."""
        raw = seal(Checkpoint(FOLD, self.state))[0]
        self.store.create(LAYOUT.checkpoint(self.state.number), raw)

    def _append(self, body: AnyBody) -> None:
        number = self.state.number + 1
        entry = Entry(
            format=FORMAT, number=number, feed=LAYOUT.feed, lake=LAKE, incarnation=1,
            epoch=self.state.epoch + isinstance(body, Claim), nonce=f"{number:032x}",
            previous=self.state.sha256, at="2026-11-15T00:00:00.000+00:00", body=body,
        )  # fmt: skip
        data, sha256 = seal(entry)
        self.store.put(LAYOUT.entry(number), data)
        apply(FEED_BOOK, self.state, SealedEntry(entry, sha256))
        undone = self.state.undone.pop(number, None)
        if undone is not None:
            marker = Marker(number, sha256, tuple(undone.parts))
            self.store.put(LAYOUT.marker(number), msgspec.json.encode(marker))

    def _window(self, turn: int) -> Window:
        window = window_id(1, turn)
        covered = OffsetRange(TOPIC, TOPIC_ID, 0, turn * 100, (turn + 1) * 100)
        whole = OffsetSet(((covered.start, covered.end),))
        files = tuple(self._file(turn, kind, window, covered) for kind in range(self.files))
        seen = RangeEvidence(covered, whole, Evidence(100, turn), turn)
        content = Content(files=files, evidence=(seen,))
        body = Window(
            window=window, groups=groups_of(content, DELIVER), content=content,
            ranges=(covered,), counts=Counts(100, 100),
        )  # fmt: skip
        return self._journal.with_content(body, content)

    def _file(self, turn: int, kind: int, window: str, covered: OffsetRange) -> ManifestFile:
        name = FileName(0, TOPIC, 0, covered.start, covered.end, window, "zstd.parquet")
        final = f"{LAYOUT.feed}/kind{kind}/day={day_of(turn)}/{name}"
        mixed = (turn * self.files + kind) * 0x9E3779B97F4A7C15 % (1 << 64)
        handle = StagedHandle("s3", f"x/{mixed:016x}", final, 4096, f"sha256:{mixed:064x}")
        return ManifestFile(f"kind{kind}", handle, Evidence(100, mixed), (covered,), 1)


def around_of(store: FarStore) -> Surroundings:
    """A real clock, and threads that are counted."""
    return Surroundings(time.time, time.sleep, Random(1), do_all=store.side_by_side)


@dataclass(frozen=True)
class Line:
    """A line of a table."""

    what: str
    seconds: float
    requests: int = 0
    requests_s: float = 0.0

    def show(self) -> None:
        """Print it."""
        took = f"{self.seconds:9.2f} s  {self.requests:>9,}  {self.requests_s:9.2f} s"
        print(f"{took}  {self.what}", flush=True)


HEAD = "  measured    requests   at 40 ms"


def measured(what: str, store: FarStore, act: Callable[[], object]) -> Line:
    """How long an act takes here, and how long its requests would."""
    store.reset()
    began = time.perf_counter()
    act()
    took = time.perf_counter() - began
    return Line(what, took, sum(store.requests.values()), store.seconds)


def far(act: str) -> None:
    """One act on the feed of 100,000 windows; the memory is that of this process."""
    store = FarStore()
    feed = LargeFeed(store)
    store.made = feed.made
    built_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    journal = feed.journal(around_of(store))
    measured(act, store, lambda: FAR[act](store, journal)).show()
    most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{'':>38} {most_mb:,} MB at most, of which {built_mb:,} MB were the store and its making"
    )


def own(store: FarStore, journal: FeedJournal) -> None:
    """Open, claim and recover."""
    around = around_of(store)
    source = SimSource(SimKafka({0: []}), store, around)
    owner = Owner(journal, source, around, OwnerSpec("two", WindowPolicy(10), files="parquet"))
    owner.take_over()
    owner.recover()


def _files(_store: FarStore, journal: FeedJournal) -> None:
    inventory: Any = journal.open_partial(of_dataset("kind7", "2026-02-03")).inventory
    inventory.files_of("kind7", "2026-02-03")


def _quarantine(_store: FarStore, journal: FeedJournal) -> None:
    inventory: Any = journal.open_partial(of_quarantine).inventory
    sum(map(len, inventory.records.values()))
    len(inventory.quarantine)


def _where(store: FarStore, journal: FeedJournal) -> None:
    """The record is in the last of the 200 files that cover its offset."""
    state = journal.open().state
    search = EntrySearch(journal, state.number, store.side_by_side)
    record = Position(FAR_TOPIC, 0, 31_415 * 200 * ROWS + 199 * ROWS)
    [found] = RecordSearch(journal, state, search).find(record)
    if found.fate != "delivered":
        raise AssertionError(found)


FAR: dict[str, Callable[[FarStore, FeedJournal], None]] = {
    "open, claim, recover": own,
    "files of one day and dataset": _files,
    "the quarantine": _quarantine,
    "where one old record is": _where,
}


def old(windows: int, files: int) -> None:
    """The journal of many windows, with and without its checkpoints."""
    with tempfile.TemporaryFile() as file:
        store = Archive(file)
        began = time.perf_counter()
        OldFeed(store, windows, files)
        print(f"{windows:,} windows of {files} files, made in {time.perf_counter() - began:.0f} s")
        journal = FeedJournal(store, LAYOUT, LAKE, around_of(store))
        print(HEAD)
        update = measured("leave the first inventory checkpoint", store,
                          lambda: update_inventory(journal, around_of(store)))  # fmt: skip
        update.show()
        measured("open", store, journal.open).show()
        measured("open with its inventory", store, lambda: journal.open(deep=True)).show()
        shelf = store.shelf
        for key in [key for key in shelf.objects if "/inventory/" in key or "/checkpoints/" in key]:
            store.shelf = store.shelf.with_object(key, None)
        measured("open without any checkpoint", store, journal.open).show()
        store.shelf = shelf
        print("     objects          bytes")
        for what, count, size in store.totals():
            print(f"{count:>12,} {size:>14,}  {what}")


def sealed(windows: int, files: int) -> None:
    """A journal before and after its old entries are sealed."""
    with tempfile.TemporaryFile() as file:
        store = Archive(file)
        OldFeed(store, windows, files)
        around = around_of(store)
        update_inventory(FeedJournal(store, LAYOUT, LAKE, around), around)
        print(f"{windows:,} windows of {files} files, sealed\n{HEAD}")

        def seal_one() -> None:
            seals.append(seal_old(_journal(store), SealPolicy(1.0), 1, time.time() + 1e9))

        seals: list[Seal | None] = []
        before = store.left()
        measured("open, before", store, lambda: _journal(store).open()).show()
        _open_bare(store, "open without any checkpoint, before")
        while not seals or seals[-1] is not None:
            measured("seal the next entries", store, seal_one).show()
        measured("open", store, lambda: _journal(store).open()).show()
        whole = [each for each in seals if each is not None]
        search = EntrySearch(_journal(store), whole[-1].last, around.do_all)
        measured("find a window that is sealed", store, lambda: search.window("1-77")).show()
        _open_bare(store, "open without any checkpoint")
        print("      before             after          objects, bytes")
        for kind, (count, size) in store.left().items():
            was, bytes_before = before.get(kind, (0, 0))
            print(f"{was:>12,} {bytes_before:>14,} {count:>8,} {size:>14,}  {kind}")
        in_one = max(each.last - each.first + 1 for each in whole)
        print(f"a million windows: {-(-1_000_000 // in_one)} segments of {in_one:,} entries")


def _open_bare(store: Archive, what: str) -> None:
    """Open the journal as if it had no checkpoint."""
    shelf = store.shelf
    for key in [k for k in shelf.objects if "/inventory/" in k or "/checkpoints/" in k]:
        store.shelf = store.shelf.with_object(key, None)
    measured(what, store, lambda: _journal(store).open()).show()
    store.shelf = shelf


def _journal(store: Archive) -> FeedJournal:
    """A new client."""
    return FeedJournal(store, LAYOUT, LAKE, around_of(store))


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Measure large and old feeds.")
    parser.add_argument("--windows", type=int, default=1_000_000, help="of the old journal")
    parser.add_argument("--files", type=int, default=1, help="of each of its windows")
    parser.add_argument("--sealed", type=int, default=25_000, help="windows of the sealed journal")
    parser.add_argument("--far", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.far:
        far(asked.far)
        return 0
    print(f"a feed of 100,000 windows of 200 files\n{HEAD}", flush=True)
    for act in FAR:
        subprocess.run([sys.executable, "-m", "bench.large_journal", "--far", act], check=True)
    old(asked.windows, asked.files)
    sealed(asked.sealed, asked.files)
    return 0


if __name__ == "__main__":
    in_one_line(main)
