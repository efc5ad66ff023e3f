"""A feed whose records are a list in memory: runs of it, and what arrived.

Everything is real but for the source (a list with scripted faults), the store (memory) and the
clock. What arrived is read by pyarrow alone.
"""

import io
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow.parquet as pq

from penstock.api.source import Source
from penstock.api.store import Store
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_upkeep import Caring
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.entries import AnyBody
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.runtime.run_figures import RunFigures
from penstock.testing.list_source import ListCluster, ListedRecord, ListSource
from penstock.testing.memory_store import MemoryStore
from tests.helpers.clock import Clock

TOPIC = "events"
FEED = FeedSpec(
    name="feed",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    window=WindowSpec(max_records=8),
    quarantine=QuarantineSpec(min_records=1_000_000),
)
TORN = b'{"type": "click"'

Place = tuple[int, int]  # partition, offset
OpensListed = Callable[[FeedSpec, ListCluster], Source]


def events(kind: str, count: int) -> list[ListedRecord | bytes]:
    """Some events of one type."""
    return [json.dumps({"type": kind, "n": number}).encode() for number in range(count)]


class Story:
    """A lake, a cluster with one topic of two partitions, and runs of a feed between them."""

    def __init__(self) -> None:
        self.cluster = ListCluster()
        self.cluster.create_topic(TOPIC, partitions=2)
        self.store: Store = MemoryStore()
        self.clock = Clock()
        self.caring = Caring()
        self.said: list[str] = []
        self.events: list[Event] = []
        self.figures = RunFigures()

    def run_once(self, feed: FeedSpec = FEED, source: OpensListed = ListSource) -> int:
        """`penstock run --once` in a process of its own; its exit code."""
        self.said, self.events = [], []
        self.figures = RunFigures()
        tools = FeedTools(
            lambda spec: source(spec, self.cluster),
            self.store,
            self.clock.around(),
            caring=self.caring,
            figures=self.figures,
        )
        once = RunSpec(once=True, take_over=True)  # as a new process takes over from a dead one

        def tell(event: Event) -> None:
            self.said.append(f"{event.name}: {event.sentence}")
            self.events.append(event)

        return Runner((feed,), tools, tell, lambda: False, once).run()

    def rows(self, below: str) -> Counter[Place]:
        """The positions of all visible rows below a directory; a doubled one counts twice."""
        found: Counter[Place] = Counter()
        for key in list_keys(self.store, below):
            if key.endswith(".parquet"):
                table = pq.read_table(io.BytesIO(self.store.read(key) or b""))
                columns = (table[name].to_pylist() for name in ("_partition", "_offset"))
                found.update(zip(*columns, strict=True))
        return found

    def delivered(self) -> Counter[Place]:
        """Of data files."""
        return self.rows("feed")

    def quarantined(self) -> Counter[Place]:
        """Of the quarantine."""
        return self.rows("_penstock/feed/quarantine")

    def journal(self) -> FeedJournal:
        """A client of the feed's journal."""
        around = self.clock.around()
        return FeedJournal(self.store, Layout("feed"), lake_identity(self.store, around), around)

    def entries(self, kind: type[AnyBody]) -> list[Any]:
        """What the journal decided of one kind, in order."""
        journal = self.journal()
        every = range(journal.open().state.number + 1)
        bodies = (journal.require(number).body for number in every)
        return [body for body in bodies if isinstance(body, kind)]


def places(partition: int, *offsets: int) -> Counter[Place]:
    """Each of these records once."""
    return Counter((partition, offset) for offset in offsets)
