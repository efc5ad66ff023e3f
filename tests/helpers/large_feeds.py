"""A feed after 100,000 windows of 200 files, of which only the newest entries really exist.

It begins with a state as a checkpoint has it. The inventory's root lists all shards; those that
somebody asks for are made, the others are only listed.
"""

from datetime import date, timedelta
from io import BytesIO
from random import Random

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.model.entries import FORMAT, AnyBody, Counts, Entry, SealedEntry, Window
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.layout import Layout, number_in
from penstock.model.manifest import QUARANTINE, Content, ManifestFile, RecordSet, groups_of
from penstock.model.names import FileName, window_id
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.steps import DELIVER
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_objects import (
    InventoryRoot,
    Shard,
    ShardFile,
    ShardRef,
    root_bytes,
)
from penstock.protocol.feed_book.inventory_reader import ref_key
from penstock.protocol.feed_book.inventory_writer import shard_ref
from penstock.protocol.feed_book.shard_names import QUARANTINE_FILES, records_shard
from penstock.protocol.feed_book.state import FOLD, FeedState, PartitionState
from penstock.protocol.journal.book_state import Checkpoint
from penstock.protocol.journal.every_book import apply
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import seal
from penstock.runtime.surroundings import Surroundings
from penstock.testing.memory_store import MemoryStore
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID

LAYOUT, LAKE = Layout("feed"), "lake-1"
WINDOWS, FILES, A_DAY, ROWS = 100_000, 200, 1_440, 5
BEHIND_ROOT, BEHIND_CHECKPOINT = 400, 300
FIRST_DAY = date(2026, 1, 1)
_MASK = (1 << 64) - 1


def day_of(number: int) -> str:
    """The day of a window, at one a minute."""
    return (FIRST_DAY + timedelta(days=number // A_DAY)).isoformat()


class LargeFeed:
    """Writes the newest entries and what lies around them straight into a store."""

    def __init__(self, store: MemoryStore, windows: int = WINDOWS, files: int = FILES) -> None:
        self.store = store
        self.windows, self.files = windows, files
        first = windows - BEHIND_ROOT
        self.state = _state_before(first, files)
        self.root_number = first
        self._write(self._window(first))
        self._leave_root()
        for number in range(first + 1, windows):
            self._write(self._window(number))
            if number == windows - BEHIND_CHECKPOINT:
                raw = seal(Checkpoint(FOLD, self.state))[0]
                store.create(LAYOUT.checkpoint(number), raw)
        self._write(self._staged_window(windows), is_done=False)

    def journal(self, around: Surroundings) -> FeedJournal:
        """A client that has folded nothing."""
        return FeedJournal(self.store, LAYOUT, LAKE, around)

    def made(self, key: str) -> bytes | None:
        """An entry or a data file that is not kept, as it would lie there; None for others."""
        number = number_in(key.rpartition("/")[2])
        if key.startswith(f"{LAYOUT.journal}/") and number is not None:
            return self._old_entry(number) if number < self.root_number else None
        name = FileName.parse(key.rpartition("/")[2])
        if name is None or not key.startswith(f"{LAYOUT.data}/kind"):
            return None
        return self._rows_of(name.start, int(key.split("/")[1].removeprefix("kind")))

    def offset_in(self, number: int, kind: int) -> int:
        """The offset of a record of one file of a window."""
        return self._covered(number).start + kind * ROWS

    def _old_entry(self, number: int) -> bytes:
        return seal(self._entry(number, "0" * 64, self._window(number)))[0]

    def _rows_of(self, begin: int, kind: int) -> bytes:
        """A file with the positions of its records."""
        offsets = [begin + kind * ROWS + row for row in range(ROWS)]
        table = pa.table({"_topic": [TOPIC] * ROWS, "_partition": [0] * ROWS, "_offset": offsets})
        sink = BytesIO()
        pq.write_table(table, sink)
        return sink.getvalue()

    def shard_of(self, dataset: str, day: str) -> Shard:
        """The shard of a dataset and day, up to the root's entry."""
        begin = (date.fromisoformat(day) - FIRST_DAY).days * A_DAY
        numbers = range(begin, min(begin + A_DAY, self.root_number + 1))
        kind = int(dataset.removeprefix("kind"))
        found = ((number, self._file(number, kind)) for number in numbers)
        listed = (ShardFile(f.handle.final, n, dataset, f.evidence) for n, f in found)
        return Shard(f"files/{dataset}/day={day}", tuple(sorted(listed, key=lambda f: f.final)))

    def make(self, shard: Shard) -> ShardRef:
        """Put a shard into the store, as the root lists it."""
        ref, data = shard_ref(shard, self.root_number)
        self.store.create(ref_key(LAYOUT, ref), data)
        return ref

    def _leave_root(self) -> None:
        made = [self.make(shard) for shard in self._made_shards()]
        known = {ref.name for ref in made}
        days = [day_of(number) for number in range(0, self.root_number + 1, A_DAY)]
        listed = [
            ShardRef(name, self.root_number, f"{index:064x}", A_DAY, Evidence(A_DAY * ROWS, index))
            for index, name in enumerate(
                f"files/kind{kind}/day={day}" for kind in range(self.files) for day in days
            )
            if name not in known
        ]
        refs = tuple(sorted((*made, *listed), key=lambda ref: ref.name))
        root = InventoryRoot(self.state.number, self.state.sha256, refs)
        self.store.create(LAYOUT.inventory_root(root.number), root_bytes(root))

    def _made_shards(self) -> list[Shard]:
        today = day_of(self.root_number)
        broken = RecordSet(
            TOPIC, TOPIC_ID, 0, "", OffsetSet(tuple((at, at + 1) for at in range(0, 10_000, 2)))
        )
        part = OffsetRange(TOPIC, TOPIC_ID, 0, 0, 10_000)
        name = FileName(0, TOPIC, 0, 0, 10_000, "1-1", "parquet")
        final = f"{LAYOUT.quarantine}/owner=x/dataset=y/{name}"
        file = ShardFile(final, 0, QUARANTINE, Evidence(5_000, 1), (part,))
        return [
            self.shard_of("kind7", "2026-02-03"),
            self.shard_of("kind7", today),
            Shard(f"{QUARANTINE_FILES}{TOPIC}/0", (file,)),
            Shard(records_shard(TOPIC_ID, 0), records=(broken,)),
        ]

    def _window(self, number: int) -> Window:
        return self._with(number, tuple(self._file(number, kind) for kind in range(self.files)))

    def _staged_window(self, number: int) -> Window:
        """The last window: decided, and not published yet."""
        chance, staged = Random(1), []
        for kind in range(self.files):
            file = self._file(number, kind)
            spot = StagingSpot(LAYOUT.staging, window_id(1, number), f"{chance.getrandbits(64):x}")
            writer = self.store.open_staged(file.handle.final, spot)
            writer.write(b"[]")
            staged.append(msgspec.structs.replace(file, handle=writer.finish()))
        return self._with(number, tuple(staged))

    def _with(self, number: int, files: tuple[ManifestFile, ...]) -> Window:
        covered = self._covered(number)
        whole = OffsetSet(((covered.start, covered.end),))
        seen = RangeEvidence(covered, whole, Evidence(len(covered), number), number)
        content = Content(files=files, evidence=(seen,))
        body = Window(
            window=window_id(1, number),
            groups=groups_of(content, DELIVER),
            content=content,
            ranges=(covered,),
            counts=Counts(len(covered), len(covered)),
        )
        return self.journal(_still()).with_content(body, content)

    def _covered(self, number: int) -> OffsetRange:
        size = self.files * ROWS
        return OffsetRange(TOPIC, TOPIC_ID, 0, number * size, (number + 1) * size)

    def _file(self, number: int, kind: int) -> ManifestFile:
        covered, window = self._covered(number), window_id(1, number)
        name = FileName(0, TOPIC, 0, covered.start, covered.end, window, "zstd.parquet")
        final = f"{LAYOUT.data}/kind{kind}/day={day_of(number)}/{name}"
        mixed = (number * self.files + kind) * 0x9E3779B97F4A7C15
        staged = f"{LAYOUT.staging}/{window}/{mixed & _MASK:016x}.staged"
        checksum = f"sha256:{mixed * mixed % (1 << 256):064x}"
        handle = StagedHandle("memory", staged, final, 40_960 + kind, checksum)
        return ManifestFile(f"kind{kind}", handle, Evidence(ROWS, mixed & _MASK), (covered,), 1)

    def _entry(self, number: int, previous: str, body: AnyBody) -> Entry:
        return Entry(
            format=FORMAT,
            number=number,
            feed=LAYOUT.feed,
            lake=LAKE,
            incarnation=1,
            epoch=1,
            nonce=f"{number:032x}",
            previous=previous,
            at="2026-11-15T00:00:00.000+00:00",
            body=body,
        )

    def _write(self, body: AnyBody, *, is_done: bool = True) -> None:
        entry = self._entry(self.state.number + 1, self.state.sha256, body)
        data, sha256 = seal(entry)
        self.store.create(LAYOUT.entry(entry.number), data)
        apply(FEED_BOOK, self.state, SealedEntry(entry, sha256))
        if is_done:
            undone = self.state.undone.pop(entry.number)
            marker = Marker(entry.number, sha256, tuple(undone.parts))
            self.store.create(LAYOUT.marker(entry.number), msgspec.json.encode(marker))
        else:
            mark = msgspec.json.encode(Marker(entry.number, sha256))
            self.store.create(LAYOUT.tail(entry.number), mark)


def _state_before(first: int, files: int) -> FeedState:
    """The state as it was before the first real entry."""
    watermark = first * files * ROWS
    known = PartitionState(
        TOPIC, watermark, 0, floor=watermark, last_window=window_id(1, first - 1)
    )
    return FeedState(
        number=first - 1,
        cluster_id=CLUSTER,
        epoch=1,
        owner="one",
        topics={TOPIC: TOPIC_ID},
        partitions={TOPIC_ID: {0: known}},
        schemas={f"kind{kind}": 1 for kind in range(files)},
        windows=first,
        last_window=window_id(1, first - 1),
        directories={f"kind{kind}": ("day",) for kind in range(files)},
    )


def _still() -> Surroundings:
    return Surroundings(lambda: 0.0, lambda _seconds: None, Random(0))
