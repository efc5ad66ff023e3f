"""One owner in a process of its own, of whichever version is on its path.

    python owner_process.py LAKE NAME RECORDS [--ignore-lease] [--stop-at POINT]

It takes the feed over, delivers RECORDS records in small windows, and prints what came of it as one
line of JSON. It first waits until nobody holds the lease. With `--stop-at` it stops
itself (SIGSTOP) when it first comes to that point, after it has printed a line; whoever started it
kills it or lets it go on. It needs neither Spark nor Kafka, and nothing of the tests.
"""

import argparse
import json
import os
import signal
import sys
import time
from importlib import import_module
from random import SystemRandom
from typing import Any

import penstock

FEED, LAKE, TOPIC, TOPIC_ID = "feed", "lake-1", "events", "topic-id-1"
WINDOW_RECORDS = 2
STANDBY_S = 60.0

# Where things are in each version, and their names where those changed.
PLACES = {
    "0.1.0": {
        "Owner": "penstock.engine.owner",
        "OwnerSpec": "penstock.engine.owner",
        "Journal": "penstock.journal.journal",
        "Layout": "penstock.journal.layout",
        "Contender": "penstock.journal.lease",
        "Lease": "penstock.journal.lease",
        "Note": "penstock.journal.lease",
        "Disk": "penstock.store.disk",
        "LocalStore": "penstock.store.local",
        "Surroundings": "penstock.model.surroundings",
        "WindowPolicy": "penstock.source.plan",
        "is_dead": "penstock.engine.process",
        "this_process": "penstock.engine.process",
    }
}
PRESENT = {
    "Owner": "penstock.protocol.loop.owner",
    "OwnerSpec": "penstock.protocol.loop.owner_spec",
    "Journal": "penstock.protocol.feed_book.feed_journal:FeedJournal",
    "Layout": "penstock.model.layout",
    "Contender": "penstock.protocol.journal.lease",
    "Lease": "penstock.protocol.feed_book.feed_lease:FeedLease",
    "Note": "penstock.protocol.feed_book.feed_lease",
    "Disk": "penstock.ports.store.local.disk",
    "LocalStore": "penstock.ports.store.local.local_store",
    "Surroundings": "penstock.runtime.surroundings",
    "WindowPolicy": "penstock.protocol.loop.window_plan",
    "is_dead": "penstock.runtime.this_process",
    "this_process": "penstock.runtime.this_process",
}
PLACES["0.3.0"] = {**PRESENT, "OwnerSpec": "penstock.protocol.loop.owner"}
PLACES["0.4.0"] = PLACES["0.3.0"]
SAME_IN_ALL = {
    "Evidence": "penstock.model.evidence",
    "RangeEvidence": "penstock.model.evidence",
    "FileName": "penstock.model.names",
    "ManifestFile": "penstock.model.manifest",
    "OffsetSet": "penstock.model.ranges",
    "PenstockError": "penstock.errors",
    "Available": "penstock.model.window",
    "PartitionOffsets": "penstock.model.window",
    "StagedWindow": "penstock.model.window",
    "TopicOffsets": "penstock.model.window",
}


def the(name: str) -> Any:
    """A class or function of the version that is on the path."""
    places = {**SAME_IN_ALL, **PLACES.get(penstock.__version__, PRESENT)}
    module, _, other_name = places[name].partition(":")
    return getattr(import_module(module), other_name or name)


class Records:
    """A source of numbered records in one partition: even ones are of dataset a, odd ones of b."""

    def __init__(self, store: Any, around: Any, count: int) -> None:
        self._store = store
        self._around = around
        self._count = count

    def look(self) -> Any:
        """What there is to read."""
        offsets = {0: the("PartitionOffsets")(0, self._count)}
        return the("Available")("cluster-1", (the("TopicOffsets")(TOPIC, TOPIC_ID, offsets),))

    def stage(self, order: Any) -> Any:
        """Each dataset of each range in a file: the positions of its rows."""
        files, evidence = [], []
        for covered in order.ranges:
            offsets = range(covered.start, covered.end)
            for parity, dataset in enumerate("ab"):
                mine = [offset for offset in offsets if offset % 2 == parity]
                if mine:
                    files.append(self._write(order, covered, dataset, mine))
            seen = the("Evidence").of_positions(TOPIC, 0, offsets)
            evidence.append(
                the("RangeEvidence")(covered, the("OffsetSet").of(offsets), seen, sum(offsets))
            )
        return the("StagedWindow")(tuple(files), tuple(evidence))

    def _write(self, order: Any, covered: Any, dataset: str, offsets: list[int]) -> Any:
        name = the("FileName")(0, TOPIC, 0, covered.start, covered.end, order.window, "rows")
        spot = order.spot(self._around.nonce()[:8])
        writer = self._store.open_staged(f"{FEED}/{dataset}/{name}", spot)
        writer.write(json.dumps(offsets).encode())
        evidence = the("Evidence").of_positions(TOPIC, 0, offsets)
        return the("ManifestFile")(dataset, writer.finish(), evidence, (covered,))


def stopping(store_type: Any, point: str) -> Any:
    """A store that stops its process when it first comes to a point.

    `stage`: a file is about to be staged. `decide`: a window is about to be decided. `publish`: it
    is decided, and nothing of it is visible. `mark`: all of it is visible, and no marker says so.
    """

    class StoppingStore(store_type):  # type: ignore[misc]
        """The real one, with that point in it."""

        is_over = False

        def _at(self, here: str) -> None:
            if here == point and not self.is_over:
                self.is_over = True
                say(stopped=here)
                os.kill(os.getpid(), signal.SIGSTOP)

        def open_staged(self, final: str, spot: Any) -> Any:
            self._at("stage")
            return super().open_staged(final, spot)

        def create(self, key: str, data: bytes) -> bool:
            if b'"kind":"window"' in data:
                self._at("decide")
            if "/done/" in key:
                self._at("mark")
            return bool(super().create(key, data))

        def publish_all(self, handles: Any) -> set[str]:
            self._at("publish")
            return set(super().publish_all(handles))

    return StoppingStore


def disk_without_sync() -> Any:
    """Processes are killed here, and power is not cut: waiting for the disk would prove nothing."""

    class Unsynced(the("Disk")):  # type: ignore[misc]
        """The real one, but for that."""

        def sync_file(self, file: Any) -> None:
            """Not at all."""

        def sync_directory(self, path: str) -> None:
            """Not at all."""

    return Unsynced()


def say(**facts: Any) -> None:
    """Tell whoever started this process."""
    print(json.dumps({"version": penstock.__version__, **facts}), flush=True)


def take_lease(lease: Any) -> None:
    """Wait until nobody else holds it."""
    until = time.monotonic() + STANDBY_S
    waits = False
    while (holder := lease.try_take()) is not None:
        if not waits:
            say(waits=holder.owner)
        waits = True
        if time.monotonic() > until:
            raise TimeoutError("the lease did not become free")
        time.sleep(0.05)


def run(chosen: argparse.Namespace) -> None:
    """Take over, deliver, and say how it ended."""
    around = the("Surroundings")(time.time, time.sleep, SystemRandom())
    store = stopping(the("LocalStore"), chosen.stop_at)(chosen.lake, disk_without_sync())
    layout = the("Layout")(FEED)
    me = the("Contender")(chosen.name, the("this_process")(), the("is_dead"))
    lease = the("Lease")(store, layout, me, around)
    if not chosen.ignore_lease:
        take_lease(lease)
    owner = the("Owner")(
        the("Journal")(store, layout, LAKE, around),
        Records(store, around, chosen.records),
        around,
        the("OwnerSpec")(
            chosen.name,
            the("WindowPolicy")(WINDOW_RECORDS),
            files="parquet",
            checkpoint_every=3,
        ),
    )
    try:
        owner.take_over()
        while owner.run_window():
            lease.beat(the("Note")(owner.epoch))
    except the("PenstockError") as error:
        say(ended=error.code, sentence=str(error))
        sys.exit(error.exit_code)
    lease.release(the("Note")(owner.epoch))
    say(ended="idle", epoch=owner.epoch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("lake")
    parser.add_argument("name")
    parser.add_argument("records", type=int)
    parser.add_argument("--ignore-lease", action="store_true")
    parser.add_argument("--stop-at", default="")
    run(parser.parse_args())
