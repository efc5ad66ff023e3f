"""Lakes of the real writer, on a real disk and without a JVM, and hands that doctor them."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.audit.deep import DeepTools
from penstock.cli.audit_progress import Ticker
from penstock.cli.main import main
from penstock.model.entries import Entry
from penstock.model.layout import Layout
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, LakeSpec, RouteSpec, TimeSpec
from penstock.model.window import Available
from penstock.ports.source.found import RangeFound
from penstock.ports.source.recheck_tally import tally
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.journal.markers import Marker
from penstock.protocol.journal.wire import open_entry, seal
from penstock.runtime.parallel import ParallelMap, in_this_process
from tests.helpers.journals import LAYOUT, an_owner
from tests.helpers.lakes_on_disk import DiskLake, Payload, ShreddedSource
from tests.simulator.kafka import TOPIC
from tests.simulator.programs import FEED, Room

SPEC = FeedSpec(
    name=FEED,
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    time=TimeSpec(field="at", unit="s"),
    partition=(),
)
BROKEN = b'{"type": "click"'

# Lakes as their owners left them, by what they were made of: a copy is made sooner than a lake.
_MADE: dict[str, Path] = {}
_KEPT = tempfile.TemporaryDirectory(prefix="penstock-lakes-")


def event(kind: str, number: int) -> bytes:
    """A good event; no two of them are alike."""
    return b'{"type": "%s", "at": 1799990000, "n": %d}' % (kind.encode(), number)


def events(count: int, *, filtered: bool = False) -> list[Payload]:
    """Clicks and orders in turn, now and then a broken one, and perhaps tombstones."""
    found: list[Payload] = []
    for number in range(count):
        if number % 10 == 7:
            found.append(BROKEN)
        elif filtered and number % 10 == 3:
            found.append(None)
        else:
            found.append(event(("click", "order")[number % 2], number))
    return found


class KafkaOf:
    """The payloads of a source as Kafka would give them again; a test may change what is there."""

    name = "Kafka"

    def __init__(self, source: ShreddedSource) -> None:
        self.available = source.look()
        self.batch = source.batch(0, len(source.payloads))

    def look(self, topics: Iterable[str]) -> Available:
        """What there is of these topics."""
        wanted = set(topics)
        return msgspec.structs.replace(
            self.available,
            topics=tuple(topic for topic in self.available.topics if topic.topic in wanted),
        )

    def read(
        self, ranges: tuple[OffsetRange, ...], *, with_offsets: bool
    ) -> dict[OffsetRange, RangeFound]:
        """By the real tally of the tasks."""
        found = tally(ranges, [self.batch], with_offsets=with_offsets)
        return {each.range: each for each in found}

    def close(self) -> None:
        """Nothing to let go of."""

    def without(self, *offsets: int) -> None:
        """Compaction takes records away."""
        keep = [at not in offsets for at in self.batch["offset"].to_pylist()]
        self.batch = self.batch.filter(pa.array(keep))


class DoctoredLake(DiskLake):
    """A lake with a few windows of the real writer, audited by the real command."""

    def __init__(
        self, directory: Path, payloads: list[Payload], max_records: int, spec: FeedSpec = SPEC
    ) -> None:
        super().__init__(directory)
        recipe = repr((payloads, max_records, spec))
        if recipe in _MADE:
            shutil.copytree(_MADE[recipe], self.root, dirs_exist_ok=True)
        self.spec = spec
        self.source = ShreddedSource(self.store, spec, payloads)
        self.kafka = KafkaOf(self.source)
        if recipe not in _MADE:
            self.run(max_records)
            _MADE[recipe] = Path(_KEPT.name) / str(len(_MADE))
            shutil.copytree(self.root, _MADE[recipe])

    def run(self, max_records: int) -> Room:
        """Deliver everything there is."""
        room = self.room([])
        owner = an_owner(room, self.source, max_records=max_records, files=self.spec.format)
        while owner.run_window():
            pass
        return room

    def data(self, dataset: str = "", window: str = "") -> list[Path]:
        """The files of a dataset, in the order of offsets."""
        found = self.files(f"{FEED}/{dataset}" if dataset else FEED, "*.parquet")
        return sorted(f for f in found if window in f.name)

    def quarantined(self) -> list[Path]:
        """The files of the quarantine."""
        return self.files(f"_penstock/{FEED}/quarantine", "*.parquet")

    def key(self, file: Path) -> str:
        """The name of a file in the lake."""
        return file.relative_to(self.root).as_posix()

    def entry(self, number: int) -> Path:
        """The file of an entry."""
        return self.root / LAYOUT.entry(number)

    def entries(self) -> int:
        """How many entries there are."""
        return len(list((self.root / LAYOUT.journal).rglob("*.json")))

    def reseal(self, number: int, change: Callable[[Entry], Entry], *, onward: bool) -> None:
        """Edit an entry and hash it again; `onward`, also every entry after it."""
        reseal(self.root, LAYOUT, number, change, self.entries() if onward else number + 1)

    def remark(self, number: int) -> None:
        """Let an entry's done marker and tail mark name the hash that it has now."""
        remark(self.root, LAYOUT, number)

    def plain_tools(
        self, monkeypatch: pytest.MonkeyPatch, spread: ParallelMap = in_this_process
    ) -> None:
        """Let the command work in this process, with this lake's Kafka."""

        @contextmanager
        def tools(_spec: LakeSpec, ticker: Ticker) -> Iterator[Callable[[str], DeepTools]]:
            yield lambda _feed: DeepTools(spread, self.kafka, lambda: 0.0, ticker)

        monkeypatch.setattr("penstock.cli.commands.audit.opened_tools", tools)

    def audit(self, *words: str) -> int:
        """`penstock audit` of the feed; the exit code."""
        return main(self.words("audit", FEED, *words))


def rewrite(file: Path, change: Callable[[Any], Any]) -> None:
    """Change the rows of a file, and keep its footer."""
    parquet = pq.ParquetFile(file)
    footer = parquet.metadata.metadata or {}
    table = change(parquet.read())
    with pq.ParquetWriter(file, table.schema, store_schema=False) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({k.decode(): v.decode() for k, v in footer.items()})


def reseal(
    root: Path, layout: Layout, number: int, change: Callable[[Entry], Entry], end: int
) -> None:
    """Edit an entry and hash it again, and all that follow up to `end`."""
    previous = ""
    for each in range(number, end):
        path = root / layout.entry(each)
        entry = open_entry(FEED_BOOK, str(path), each, path.read_bytes()).entry
        changed = change(entry) if each == number else entry
        if previous:
            changed = msgspec.structs.replace(changed, previous=previous)
        data, previous = seal(changed)
        path.write_bytes(data)


def remark(root: Path, layout: Layout, number: int) -> None:
    """Let an entry's done marker and tail mark name the hash that it has now."""
    sha256 = open_entry(FEED_BOOK, "", number, (root / layout.entry(number)).read_bytes()).sha256
    for path in (root / layout.marker(number), root / layout.tail(number)):
        if path.exists():
            marker = msgspec.json.decode(path.read_bytes(), type=Marker)
            path.write_bytes(msgspec.json.encode(msgspec.structs.replace(marker, sha256=sha256)))


def without(*offsets: int) -> Callable[[Any], Any]:
    """Rows at these offsets are lost."""
    return lambda table: table.filter(
        pa.array([at not in offsets for at in table["_offset"].to_pylist()])
    )


def doubled(*offsets: int) -> Callable[[Any], Any]:
    """Rows at these offsets are there twice."""
    return lambda table: pa.concat_tables([table, only(*offsets)(table)])


def only(*offsets: int) -> Callable[[Any], Any]:
    """Rows at these offsets, and no other."""
    return lambda table: table.filter(
        pa.array([at in offsets for at in table["_offset"].to_pylist()])
    )


def offsets_in(file: Path) -> list[int]:
    """The offsets of a file's rows."""
    found: list[int] = pq.ParquetFile(file).read(["_offset"])["_offset"].to_pylist()
    return found


def lose(offset: int, row: int) -> Any:
    """One row of a record is lost, and its others stay."""

    def change(table: Any) -> Any:
        rows = zip(table["_offset"].to_pylist(), table["_row"].to_pylist(), strict=True)
        return table.filter(pa.array([each != (offset, row) for each in rows]))

    return change
