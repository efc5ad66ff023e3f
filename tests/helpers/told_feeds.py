"""Feeds whose journals a test writes by hand, with real entries, markers and beats."""

import threading
import time
from datetime import UTC, datetime
from random import Random
from typing import Self

import msgspec

from penstock.api.store import Store
from penstock.errors import TopicMissing
from penstock.feeds.halt_records import record_halt
from penstock.feeds.halting import HaltMoment
from penstock.model.entries import Counts, LastRecord, Park, Start, Unpark, Window
from penstock.model.lanes import part_of
from penstock.model.layout import Layout
from penstock.model.manifest import Content, groups_of
from penstock.model.names import window_id
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.steps import DELIVER
from penstock.model.window_cost import Spent, WindowCost
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedLease, Note
from penstock.protocol.journal.lease import Contender
from penstock.protocol.journal.markers import mark_done
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import is_dead, this_process
from tests.helpers.journals import a_file, begins
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID
from tests.simulator.programs import LAKE

BEAT_S = 1.0


class ToldFeed:
    """A feed with one partition. `behind_s` sets the clock of its entries back."""

    def __init__(self, store: Store, name: str) -> None:
        self.name = name
        self.behind_s = 0.0
        around = Surroundings(lambda: time.time() - self.behind_s, time.sleep, Random(name))
        self._journal = FeedJournal(store, Layout(name), LAKE, around)
        self._fold = self._journal.open()
        self._journal.bind(self._fold, CLUSTER, "parquet")
        self._epoch = self._journal.claim(self._fold, "test")
        self._journal.append(self._fold, Start((begins(0, 0),)), self._epoch)
        self._sequence = 0
        me = Contender("test", this_process(), is_dead)
        self._lease = FeedLease(
            store, Layout(name), me, Surroundings(time.time, time.sleep, Random())
        )
        assert self._lease.try_take() is None
        self.note = Note(epoch=self._epoch)

    @property
    def watermark(self) -> int:
        """The next offset to read."""
        return next(iter(self._fold.state.watermarks().values()))

    def window(self, *datasets: str, records: int = 10, broken: int = 0, done: bool = True) -> int:
        """Decide a window; the number of its entry. Its files are never looked at."""
        self._sequence += 1
        start, end = self.watermark, self.watermark + records
        whole = OffsetRange(TOPIC, TOPIC_ID, 0, start, end)
        files = tuple(a_file(each, whole, [start], f"{self._sequence}") for each in datasets)
        spent = tuple(Spent(each, records, 100, 1000, 2, 1, 10, records) for each in datasets)
        body = Window(
            window=window_id(self._epoch, self._sequence),
            groups=groups_of(Content(files=files), DELIVER),
            content=Content(files=files),
            ranges=(whole,),
            counts=Counts(records, records - broken, broken),
            last_records=(LastRecord(TOPIC_ID, 0, end - 1, 1, int(time.time() * 1000)),),
            schemas=dict.fromkeys(datasets, 1),
            cost=WindowCost(1000, spent, spent),
            refused={datasets[0]: {"NOT_JSON": broken}} if broken else {},
        )
        number = self._journal.append(self._fold, body, self._epoch).number
        if done:
            self.show(number, *datasets)
        return number

    def show(self, number: int, *datasets: str) -> None:
        """Leave the marker that says that these datasets of an entry are visible."""
        undone = self._fold.state.undone[number]
        parts = tuple(map(part_of, datasets))
        mark_done(self._journal.store, self._journal.layout, undone, parts)
        self._journal.see_done(self._fold.state)

    def park(self, number: int, dataset: str) -> None:
        """Set a dataset of an undone entry aside."""
        self._journal.append(self._fold, Park(dataset, number, "on purpose"), self._epoch)

    def unpark(self, dataset: str) -> None:
        """Let it go on."""
        self._journal.append(self._fold, Unpark(dataset, "test"), self._epoch)

    def halt(self) -> None:
        """Leave word that the feed waits for an operator; the next window makes it void."""
        state = self._journal.open().state
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        moment = HaltMoment(LAKE, state, at, "test")
        record_halt(self._journal, FeedSpec(name=self.name), TopicMissing(TOPIC), moment)

    def damage(self) -> None:
        """Leave an entry that cannot be read behind all others."""
        assert self._journal.store.create(self._next_entry, b"{ torn")

    def heal(self) -> None:
        """Take it away again."""
        self._journal.store.delete(self._next_entry)

    @property
    def _next_entry(self) -> str:
        return self._journal.layout.entry(self._fold.state.number + 1)

    def let_go(self) -> None:
        """Say with a last beat that nobody owns the feed from now on."""
        self._lease.release(self.note)

    def come_back(self) -> None:
        """Own it again."""
        assert self._lease.try_take() is None

    def sees(self, waiting: int = 0, keeps_s: float | None = None) -> None:
        """Say with the next beat how many records wait in Kafka, and how long it keeps them."""
        self.note = msgspec.structs.replace(
            self.note,
            latest={TOPIC: {0: self.watermark + waiting}},
            earliest={TOPIC: {0: 0}},
            retention_s={} if keeps_s is None else {TOPIC: keeps_s},
        )

    def beat(self) -> None:
        """Leave a sign of life, with the time of now as that of the last look at Kafka."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._lease.beat(msgspec.structs.replace(self.note, looked_at=now))


class Beating:
    """Signs of life of all these feeds, from entering to leaving."""

    def __init__(self, *feeds: ToldFeed) -> None:
        self._feeds = feeds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(BEAT_S / 4):
            for feed in self._feeds:
                feed.beat()
