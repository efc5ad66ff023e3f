"""What the tests of the protocol share: short ways to write entries, and a small live feed."""

import json
from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.store import Store
from penstock.errors import StoreUnavailable
from penstock.model.entries import (
    FORMAT,
    AnyBody,
    Bind,
    Compact,
    Counts,
    Entry,
    PartitionStart,
    SealedEntry,
    Start,
    Window,
)
from penstock.model.envelope import Claim
from penstock.model.evidence import Evidence
from penstock.model.layout import Layout
from penstock.model.manifest import Content, ManifestFile, groups_of
from penstock.model.ranges import OffsetRange
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.model.steps import DELIVER, REWRITE
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_book import FEED_BOOK
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.every_book import apply, objection
from penstock.protocol.journal.wire import seal
from penstock.protocol.loop.feed_rules import FeedRules
from penstock.protocol.loop.owner import Intake, Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.protocol.publish.troubles import PublishPolicy
from penstock.testing.memory_store import Act, Answer, MemoryStore
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID, SimKafka, SimSource
from tests.simulator.programs import FEED, LAKE, Room, surroundings

LAYOUT = Layout(FEED)


def covered(start: int, end: int, partition: int = 0) -> OffsetRange:
    """A range of the topic that all these tests read."""
    return OffsetRange(TOPIC, TOPIC_ID, partition, start, end)


def begins(partition: int, offset: int) -> PartitionStart:
    """The first offset of a partition of that topic."""
    return PartitionStart(TOPIC, TOPIC_ID, partition, offset)


def a_file(dataset: str, part: OffsetRange, offsets: Iterable[int], name: str = "") -> ManifestFile:
    """A file of a manifest; nothing is staged for it."""
    final = f"{FEED}/{dataset}/{name or f'{part.partition}_{part.start}-{part.end}'}"
    handle = StagedHandle("memory", f"staged/{final}", final, 10, "sha256:x")
    return ManifestFile(
        dataset, handle, Evidence.of_positions(part.topic, part.partition, offsets), (part,)
    )


def a_window(*ranges: OffsetRange, window: str = "1-1", dataset: str = "a") -> Window:
    """A window that delivers every offset of its ranges to one dataset."""
    files = tuple(a_file(dataset, part, range(part.start, part.end)) for part in ranges)
    return window_of(Content(files=files), *ranges, window=window)


def window_of(content: Content, *ranges: OffsetRange, window: str = "1-1") -> Window:
    """A window with a given content."""
    read = sum(file.evidence.count for file in content.files)
    return Window(
        window=window,
        groups=groups_of(content, DELIVER),
        content=content,
        ranges=ranges,
        counts=Counts(read, read),
    )


def a_compaction(content: Content, window: str = "1-x1") -> Compact:
    """A compaction with a given content."""
    groups = groups_of(content, REWRITE)
    return Compact(window=window, groups=groups, content=content)


class WatchedStore(MemoryStore):
    """Notes every act, and does not publish files of datasets that are `broken`.

    `once` lets something else happen right before the first act that fits.
    """

    def __init__(self) -> None:
        super().__init__(self._watched)
        self.acts: list[Act] = []
        self.broken: set[str] = set()
        self.refused = 0  # how often a broken dataset was to be published
        self._waiting: list[tuple[Callable[[Act], bool], Callable[[], object]]] = []

    def once(self, fits: Callable[[Act], bool], happens: Callable[[], object]) -> None:
        """Before the next act that fits, somebody else acts."""
        self._waiting.append((fits, happens))

    def _watched(self, act: Act) -> Answer:
        due = [pair for pair in self._waiting if pair[0](act)]
        self._waiting = [pair for pair in self._waiting if pair not in due]
        for _, happens in due:
            happens()
        self.acts.append(act)
        return self._perform(act)

    def lose_staged(self, part: str = "") -> int:
        """Somebody removes staged files whose place contains `part`; returns how many."""
        lost = [key for key in self.shelf.staged if part in key]
        for key in lost:
            self.shelf = self.shelf.with_staged(key, None)
        return len(lost)

    def publish(self, handle: StagedHandle) -> None:
        """As memory does, unless the dataset is broken."""
        if self.broken & set(handle.final.split("/")):
            self.refused += 1
            raise StoreUnavailable("publish", handle.final, "it is broken on purpose")
        super().publish(handle)

    def created(self, part: str) -> list[str]:
        """The keys of created objects that contain `part`, in the order of their creation."""
        return [act.key for act in self.acts if act.name == "create" and part in act.key]

    def published(self, part: str) -> list[str]:
        """The final names that contain `part`, in the order in which they became visible."""
        return [act.other for act in self.acts if act.name == "link" and part in act.other]


BEGINNING: tuple[AnyBody, ...] = (
    Bind(CLUSTER),
    Claim("one"),
    Start((begins(0, 0), begins(1, 5))),
)


def next_entry(state: FeedState, body: AnyBody, **others: Any) -> Entry:
    """The entry that would follow; `others` are fields of the envelope that shall be wrong."""
    fields: dict[str, Any] = {
        "format": FORMAT,
        "number": state.number + 1,
        "feed": FEED,
        "lake": LAKE,
        "incarnation": 1,
        "epoch": state.epoch + isinstance(body, Claim),
        "nonce": "0" * 32,
        "previous": state.sha256,
        "at": "2026-11-15T00:00:00.000+00:00",
    }
    return Entry(body=body, **{**fields, **others})


def why_not(state: FeedState, body: AnyBody, **others: Any) -> str | None:
    """What the rules say against a body as the next entry."""
    return objection(FEED_BOOK, state, next_entry(state, body, **others))


def told(*bodies: AnyBody, state: FeedState | None = None) -> FeedState:
    """The fold of these bodies, each of them judged first."""
    state = FeedState() if state is None else state
    for body in bodies:
        entry = next_entry(state, body)
        assert objection(FEED_BOOK, state, entry) is None
        apply(FEED_BOOK, state, SealedEntry(entry, seal(entry)[1]))
    return state


def a_room(kafka: SimKafka | None = None, store: Store | None = None, name: str = "test") -> Room:
    """A process's view of a lake: by default of an empty one in memory."""
    if kafka is None:
        kafka = SimKafka({0: ["a", "b", "a"], 1: ["b", "a"]})
    return Room(name, store if store is not None else MemoryStore(), surroundings(name), kafka)


def an_owner(
    room: Room,
    source: Intake | None = None,
    max_records: int = 2,
    rules: FeedRules | None = None,
    files: str = "parquet",
    park_after: int = 1,
    **spec: Any,
) -> Owner:
    """An owner that has taken over. It parks what fails, and does not try it again by itself."""
    source = source or SimSource(room.kafka, room.store, room.around)
    policy = PublishPolicy(park_after, 0.0 if park_after > 1 else 1e9, 1e9)
    how = OwnerSpec(room.name, WindowPolicy(max_records), files=files, publish=policy, **spec)
    owner = Owner(room.journal(), source, room.around, how, rules)
    owner.take_over()
    return owner


def delivered(room: Room, **spec: Any) -> Room:
    """The room after an owner has delivered everything there was."""
    owner = an_owner(room, **spec)
    for _ in range(1000):
        if not owner.run_window():
            return room
    raise AssertionError("the owner does not come to an end")


def decided_only(owner: Owner) -> int:
    """One window decided and not published, as after a death; the number of its entry."""
    order = owner.plan()
    assert order is not None
    staged = owner.stage(order)
    sealed = owner.decide(order, staged, owner.prove(order, staged))
    assert sealed is not None
    return sealed.number


def leftover(room: Room, window: str, attempt: str = "1") -> None:
    """A staged file that nobody decided."""
    writer = room.store.open_staged("feed/a/leftover", StagingSpot(LAYOUT.staging, window, attempt))
    writer.write(b"rows")
    writer.finish()


def rows(store: Store, dataset: str) -> list[tuple[int, int]]:
    """The rows that a reader of a dataset's directory sees, in order; a doubled row shows twice."""
    found = []
    for key in list_keys(store, f"{FEED}/{dataset}"):
        found += [(p, o) for p, o in json.loads(store.read(key) or b"")]
    return sorted(found)


def kinds(room: Room) -> list[str]:
    """The kinds of the entries of the journal, in order."""
    journal = room.journal()
    tail = journal.open().state.number
    return [type(journal.require(number).body).__name__ for number in range(tail + 1)]


def begun(store: Store) -> tuple[FeedJournal, FeedFold]:
    """A bound and claimed feed with two started partitions, and the fold of its owner."""
    journal = a_room(store=store).journal()
    fold = journal.open()
    journal.bind(fold, CLUSTER, "parquet")
    journal.claim(fold, "one")
    journal.append(fold, Start((begins(0, 0), begins(1, 5))), 1)
    return journal, fold
