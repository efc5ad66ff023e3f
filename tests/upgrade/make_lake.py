"""Make the fixtures that are kept of each version: `python -m tests.upgrade.make_lake DIRECTORY`.

One is a small lake that holds whatever a feed can leave behind: data files and a quarantine of the
real writer, entries of most kinds, one of them with a manifest, checkpoints, a compaction, a
replay, a parked dataset, and a window that is decided and not published. The other is a file with
one sealed entry of every kind. A broker, a registry and Spark are not needed.

Run it before a format is raised, with the version that is to be replaced, and keep the two files in
`tests/fixtures/`. Those of 0.1.0 were made by this script in a checkout of that version, with the
names that modules had then.
"""

import sys
import tarfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock import __version__
from penstock.api.store import Store
from penstock.care.compact import RewriteOrder, compact
from penstock.care.done_files import done_files
from penstock.care.replay import ReplayOrder, StagedReplay, drop, replay
from penstock.care.retire import retire
from penstock.care.seek import Approval, seek_all
from penstock.errors import StoreUnavailable
from penstock.model import manifest
from penstock.model.evidence import Evidence
from penstock.model.manifest import ManifestFile, RecordSet
from penstock.model.process_id import Process
from penstock.model.ranges import OffsetSet, TopicPartition
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.acceptance import accept_next
from penstock.protocol.feed_book.feed_lease import FeedLease, Note
from penstock.protocol.journal.lease import Contender
from penstock.protocol.journal.wire import seal
from penstock.protocol.loop.owner import Owner
from tests.helpers.doctored_lakes import BROKEN, SPEC, event
from tests.helpers.entry_samples import BODIES, an_entry
from tests.helpers.journals import LAYOUT, an_owner, decided_only
from tests.helpers.lakes_on_disk import DiskLake, Payload, ShreddedSource
from tests.simulator.kafka import TOPIC, TOPIC_ID, SimKafka
from tests.simulator.programs import FEED, Room, surroundings

PARKED = "bill"
COMPACTED = "click"
RETIRED = "order"
AUTHOR, REASON = "ann", "made for a test"


def payload(number: int) -> Payload:
    """Clicks and orders in turn; now and then a tombstone, and something that is not JSON."""
    if number % 10 == 7:
        return BROKEN
    if number % 10 == 3:
        return None
    return event((COMPACTED, RETIRED)[number % 2], number)


class FailingStore(LocalStore):
    """Does not publish files of one dataset."""

    def publish(self, handle: StagedHandle) -> None:
        """Refuse, or do as the others."""
        if f"/{PARKED}/" in handle.final:
            raise StoreUnavailable("publish", handle.final, "no space left, for a test")
        super().publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Refuse some, and do the others."""
        refused = {handle.final for handle in handles if f"/{PARKED}/" in handle.final}
        return refused | super().publish_all([h for h in handles if h.final not in refused])


class Maker:
    """One lake while it is made; every process has a name of its own, and so its own nonces."""

    def __init__(self, directory: Path) -> None:
        self.lake = DiskLake(directory)
        self.source = ShreddedSource(self.lake.store, SPEC, [])

    def room(self, name: str, store: Store | None = None) -> Room:
        """A process beside the lake."""
        return Room(name, store or self.lake.store, surroundings(name), SimKafka({}))

    def arrive(self, *payloads: Payload) -> None:
        """More records come."""
        self.source.payloads += payloads

    def deliver(self, name: str, **spec: Any) -> Owner:
        """An owner that takes over and delivers all there is."""
        owner = an_owner(self.room(name), self.source, **spec)
        while owner.run_window():
            pass
        return owner

    def make(self) -> None:
        """All of it, in the order of the journal."""
        self.arrive(*map(payload, range(20)))
        self.deliver("first", max_records=5, checkpoint_every=4)
        self.care()
        self.arrive(*map(payload, range(20, 30)))
        with patch.object(manifest, "INLINE_FILES", 0):
            self.deliver("second", max_records=10, checkpoint_every=4)
        self.lose_staged()
        self.leave_other_objects()
        self.park_and_die()

    def care(self) -> None:
        """What commands do beside an owner."""
        rewrite = partial(_rewrite, self.lake)
        room = self.room("compact")
        compact(room.journal(), room.around, COMPACTED, lambda order: (rewrite(order),))
        room = self.room("replay")
        replay(room.journal(), room.around, AUTHOR, partial(_decode, self.lake))
        room = self.room("drop")
        records = (RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of([17])),)
        drop(room.journal(), room.around, records, AUTHOR, REASON)
        room = self.room("retire")
        oldest = done_files(room.journal().open(deep=True), RETIRED)[:1]
        retire(room.journal(), room.around, RETIRED, oldest, AUTHOR, REASON)
        room = self.room("seek")
        place = TopicPartition(TOPIC_ID, 0)
        seek_all(room.journal(), {place: 22}, Approval(AUTHOR, REASON))

    def lose_staged(self) -> None:
        """A decided window loses its staged files, and they are derived again."""
        self.arrive(*map(payload, range(30, 35)))
        owner = an_owner(self.room("third"), self.source, max_records=5)
        decided_only(owner)
        for ref in list(self.lake.store.list_staged(LAYOUT.staging, ())):
            self.lake.store.discard(ref)
        owner.recover()

    def leave_other_objects(self) -> None:
        """What lies beside the journal: an acceptance, a lease, a registered schema."""
        room = self.room("operator")
        journal = room.journal()
        state = journal.open().state
        accept_next(journal, state, AUTHOR, REASON, room.around.timestamp())
        me = Contender("owner", Process("host", 1, "then"), lambda _process: True)
        lease = FeedLease(room.store, LAYOUT, me, room.around)
        lease.try_take()
        note = Note(state.epoch, {TOPIC: {0: 35}}, room.around.timestamp(), "stage", "1-1")
        lease.beat(note)
        lease.release(note)
        schema = RegisteredSchema("avro", '"string"')
        room.store.create(f"{LAYOUT.registry}/1.json", msgspec.json.encode(schema))

    def park_and_die(self) -> None:
        """One dataset cannot be published and is parked; the next window is only decided."""
        store = FailingStore(self.lake.root)
        self.arrive(*(event(kind, 35) for kind in (COMPACTED, PARKED)))
        owner = an_owner(
            self.room("fourth", store), self.source, max_records=5, park_after=1, checkpoint_every=4
        )
        owner.run_window()
        self.arrive(*(event(kind, 40) for kind in (COMPACTED, PARKED, RETIRED)), BROKEN)
        decided_only(owner)


def _rewrite(lake: DiskLake, order: RewriteOrder) -> ManifestFile:
    """All rows of some files in one."""
    table = pa.concat_tables(pq.read_table(lake.root / final) for final in order.inputs)
    name = f"{FEED}/{order.dataset}/0_compacted_{order.window}.parquet"
    return _staged(lake, order.dataset, table, name, StagingSpot(order.staging, order.window, "c"))


def _decode(lake: DiskLake, order: ReplayOrder) -> StagedReplay:
    """The first of the broken records, as if it had become a click after all."""
    table = pq.read_table(next((lake.root / FEED / COMPACTED).rglob("*.parquet"))).slice(0, 1)
    first = order.records[0]
    offset = next(iter(first.offsets))
    table = table.set_column(
        table.schema.get_field_index("_offset"), "_offset", pa.array([offset], pa.int64())
    )
    name = f"{FEED}/{COMPACTED}/0_replayed_{order.window}.parquet"
    spot = StagingSpot(order.staging, order.window, "r")
    taken = msgspec.structs.replace(first, offsets=OffsetSet.of([offset]))
    return StagedReplay((_staged(lake, COMPACTED, table, name, spot),), (taken,))


def _staged(
    lake: DiskLake, dataset: str, table: pa.Table, name: str, spot: StagingSpot
) -> ManifestFile:
    """A table as a staged Parquet file, with the evidence of its rows."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    writer = lake.store.open_staged(name, spot)
    writer.write(sink.getvalue().to_pybytes())
    offsets = table["_offset"].to_pylist()
    return ManifestFile(dataset, writer.finish(), Evidence.of_positions(TOPIC, 0, offsets), ())


def main(directory: Path) -> None:
    """Make the lake and pack it."""
    directory.mkdir(parents=True)
    Maker(directory).make()
    packed = directory / f"lake-{__version__}.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(directory / "lake", "lake")
    entries = directory / f"entries-{__version__}.jsonl"
    entries.write_bytes(b"".join(seal(an_entry(body))[0] + b"\n" for body in BODIES))
    print(packed, entries)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
