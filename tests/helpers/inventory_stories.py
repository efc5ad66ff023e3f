"""Feeds whose files and quarantined records come and go, written straight into a journal."""

from collections.abc import Sequence

from penstock.model.entries import AnyBody, Compact, Drop, Retire, SealedEntry, Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import (
    QUARANTINE,
    Content,
    Group,
    Input,
    ManifestFile,
    RecordSet,
    groups_of,
)
from penstock.model.names import FileName
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.staged import StagedHandle
from penstock.model.steps import REMOVE, REWRITE
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.fold import parts_to_mark
from penstock.protocol.feed_book.inventory import Inventory, LiveFile, RecordsKey
from penstock.protocol.journal.markers import Marker, create_marker
from penstock.protocol.publish.groups import leave_tail_mark
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, begun, covered, window_of
from tests.simulator.kafka import TOPIC, TOPIC_ID

PLACES = ("a/day=1", "a/day=2", "b/day=1", "b/hour=7", "c")
OPS = ("window", "broken", "compact", "retire", "drop")

Facts = tuple[dict[str, LiveFile], dict[RecordsKey, OffsetSet], dict[str, tuple[OffsetRange, ...]]]


def facts(inventory: Inventory | None) -> Facts:
    """Everything that an inventory says."""
    assert inventory is not None
    return dict(inventory.files), dict(inventory.records), dict(inventory.quarantine)


def a_staged(place: str, part: OffsetRange, offsets: Sequence[int], window: str) -> ManifestFile:
    """A file of a dataset, or of the quarantine when the place is empty."""
    home = f"feed/{place}" if place else "_penstock/feed/quarantine/owner=x/dataset=y"
    name = FileName(0, TOPIC, part.partition, part.start, part.end, window, "rows")
    handle = StagedHandle("memory", f"staged/{home}/{name}", f"{home}/{name}", 10, "sha256:x")
    seen = Evidence.of_positions(TOPIC, part.partition, offsets)
    return ManifestFile(place.partition("/")[0] or QUARANTINE, handle, seen, (part,))


class InventoryStory:
    """A feed that is told what happens to it, an entry at a time; everything is done at once."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store if store is not None else MemoryStore()
        self.journal, self.fold = begun(self.store)
        self.fold = self.journal.open(deep=True)
        self._offset = 0
        self._turn = 0

    @property
    def live(self) -> Inventory:
        """The inventory of the writer."""
        assert self.fold.inventory is not None
        return self.fold.inventory

    def reopen(self) -> None:
        """Another process goes on: it opens the journal as it lies there."""
        self.fold = self.journal.open(deep=True)

    def happen(self, op: str, choice: int = 0) -> SealedEntry | None:
        """One thing happens; None when there is nothing that it could happen to."""
        self._turn += 1
        body = self._body(op, f"1-x{self._turn}", choice)
        if body is None:
            return None
        sealed = self.journal.append(self.fold, body, 1)
        if parts := parts_to_mark(sealed.body):
            marker = Marker(sealed.number, sealed.sha256, parts)
            create_marker(self.store, LAYOUT.marker(sealed.number), marker)
            self.journal.see_done(self.fold.state)
        leave_tail_mark(self.journal, sealed.number, sealed.sha256)
        return sealed

    def _body(self, op: str, window: str, choice: int) -> AnyBody | None:
        if op == "window":
            return self._window(window, PLACES[choice % len(PLACES)], broken=False)
        if op == "broken":
            return self._window(window, PLACES[choice % len(PLACES)], broken=True)
        if op == "compact":
            return self._compaction(window, choice)
        if op == "retire":
            return self._retirement(window, choice)
        return self._drop(choice)

    def _window(self, window: str, place: str, *, broken: bool) -> Window:
        begin, end = self._offset, self._offset + 3
        self._offset = end
        part = covered(begin, end)
        files = [a_staged(place, part, range(begin, end - broken), window)]
        records: tuple[RecordSet, ...] = ()
        if broken:
            files.append(a_staged("", part, [end - 1], window))
            records = (RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of([end - 1])),)
        content = Content(files=tuple(files), quarantined=records)
        return window_of(content, part, window=window)

    def _chosen(self, choice: int, most: int) -> list[tuple[str, LiveFile]]:
        """Some live files of one dataset."""
        live = sorted(self.live.files.items())
        datasets = sorted({file.dataset for _, file in live} - {QUARANTINE})
        if not datasets:
            return []
        dataset = datasets[choice % len(datasets)]
        mine = [pair for pair in live if pair[1].dataset == dataset]
        return mine[choice % len(mine) :][:most]

    def _compaction(self, window: str, choice: int) -> Compact | None:
        taken = self._chosen(choice, most=3)
        if len(taken) < 2:
            return None
        dataset = taken[0][1].dataset
        final = f"feed/{dataset}/day=1/0_c_{window}.rows"
        handle = StagedHandle("memory", f"staged/{final}", final, 10, "sha256:x")
        seen = Evidence.total(live.evidence for _, live in taken)
        inputs = tuple(Input(dataset, name) for name, _ in taken)
        content = Content(files=(ManifestFile(dataset, handle, seen, ()),), inputs=inputs)
        groups, consumes = groups_of(content, REWRITE), self.live.groups_of(inputs)
        return Compact(window=window, groups=groups, content=content, consumes=consumes)

    def _retirement(self, window: str, choice: int) -> Retire | None:
        taken = self._chosen(choice, most=1)
        if not taken:
            return None
        inputs = tuple(Input(live.dataset, name) for name, live in taken)
        return Retire(
            window=window,
            groups=(Group(inputs[0].dataset, 0, 0, 0, REMOVE),),
            content=Content(inputs=inputs),
            consumes=self.live.groups_of(inputs),
            author="me",
            reason="test",
        )

    def _drop(self, choice: int) -> Drop | None:
        (offsets,) = self.live.records.values() or (OffsetSet(),)
        if not offsets.runs:
            return None
        one = list(offsets)[choice % len(offsets)]
        records = (RecordSet(TOPIC, TOPIC_ID, 0, "", OffsetSet.of([one])),)
        return Drop(content=Content(records=records), author="me", reason="test")


def told_story(ops: Sequence[tuple[str, int]], store: MemoryStore | None = None) -> InventoryStory:
    """A story in which all of this happens."""
    story = InventoryStory(store)
    for op, choice in ops:
        story.happen(op, choice)
    return story


def fresh(journal: FeedJournal) -> FeedFold:
    """The fold of every entry, whatever checkpoints say."""
    return journal.open_from_first()
