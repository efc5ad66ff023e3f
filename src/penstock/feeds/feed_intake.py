"""What the owner of a feed reads through: its source as far as it may be read, and its stager."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import msgspec

from penstock.api.source import (
    AT_WATERMARKS,
    MOST_KEPT,
    CancelsReads,
    ChecksAbsence,
    HashesLastRecords,
    KeepsValue,
    ReadFailed,
    ReadTooMuch,
    Source,
    SourceUnavailable,
    TellsRetention,
)
from penstock.datapath.driver.stager import Stager
from penstock.errors import TopicMissing
from penstock.feeds.errors import KeptValueWrong, WindowTimedOut, WindowTooMuch
from penstock.feeds.last_records import check_last_records
from penstock.feeds.slots import FeedSlot
from penstock.model.ranges import OffsetRange
from penstock.model.read_ways import ReadWays
from penstock.model.window import Available, StagedWindow, StageOrder
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.bounded_look import BoundedLook
from penstock.runtime.surroundings import Surroundings

RETENTION_EVERY_S = 600.0  # how often a source is asked how long it keeps records
TOPICS_AT_ONCE = 50  # of which it is asked after one look: a pattern may match thousands
BY_SOURCE = "source"  # the name of what the source keeps with a window


@dataclass(slots=True)
class _Reading:
    """A read that goes on: its name, since which tick, and whether it has taken too long."""

    name: str
    since: float
    is_late: bool = False


class FeedIntake:
    """One feed's source and stager, and what was seen at the last look. Driver only.

    `once` ends what there is to read where it ended at the start. `ways` says how the records of
    the window that was staged last were read. `retention_s` is how long topics keep records, where
    the source tells it. Reading needs the feed's slot.
    """

    def __init__(
        self, source: Source, stager: Stager, around: Surroundings, slot: FeedSlot, *, once: bool
    ) -> None:
        self._source = source
        self._stager = stager
        self._around = around
        self._slot = slot
        self._reading: _Reading | None = None
        self._bounds = BoundedLook() if once else None
        self.seen: Available | None = None
        self.seen_at_s = 0.0
        self.ways: tuple[ReadWays, ...] = ()
        self.retention_s: dict[str, float] = {}
        self._unasked: list[str] = []
        self._next_retention = 0.0

    @property
    def again(self) -> str:
        """Why the window is being read again; empty if it is not. Any thread."""
        return self._stager.again

    def look(self) -> Available:
        """What the source has now, but for what the stager holds.

        It is kept until the next look: a hold that runs out meanwhile has read nothing.
        """
        held = self._stager.held_now()
        self.seen = self._source.look().without(held)
        self.seen_at_s = self._around.now()
        self._ask_retention(self.seen)
        return self.seen if self._bounds is None else self._bounds.bound(self.seen)

    @contextmanager
    def absence_checked(self) -> Iterator[None]:
        """Around a window: a topic that we may not see any more is not taken for a deleted one.

        Raises `SourceUnavailable` then, which may pass, and not `TopicMissing`, which halts.
        """
        try:
            yield
        except TopicMissing as missing:
            if isinstance(self._source, ChecksAbsence):
                self._source.check_absent(missing.topics)
            raise

    def _ask_retention(self, seen: Available) -> None:
        """Now and then, for metrics; nothing depends on the answer."""
        tick = self._around.tick()
        if not isinstance(self._source, TellsRetention):
            return
        if tick >= self._next_retention:
            self._next_retention = tick + RETENTION_EVERY_S
            self._unasked = [each.topic for each in seen.topics]
        some, self._unasked = self._unasked[:TOPICS_AT_ONCE], self._unasked[TOPICS_AT_ONCE:]
        if some:
            with suppress(SourceUnavailable):  # it is asked again, and what was known stays
                known = self._source.retention_s(some)
                kept = {name: s for name, s in self.retention_s.items() if name not in some}
                self.retention_s = {**kept, **known}

    def stage(self, order: StageOrder) -> StagedWindow:
        """Read exactly the ranges, once, and write them invisibly. Raises `WindowTimedOut`."""
        staged = self._read(order)
        self.ways = staged.ways
        if order.decided:
            return staged
        return msgspec.structs.replace(staged, kept=self._to_keep(order.ranges))

    def reads_since(self) -> float | None:
        """Since which tick a window is read; None while none is. Any thread."""
        reading = self._reading
        return None if reading is None else reading.since

    def cancel_read(self, *, is_late: bool = False) -> bool:
        """End the read of now, if there is one that can be ended; True when it was told to.

        Any thread. It takes a while; a cancel that comes too early ends nothing, so repeat it.
        """
        reading = self._reading
        if reading is None:
            return False
        reading.is_late = reading.is_late or is_late
        if isinstance(self._source, CancelsReads):
            self._source.cancel_read(reading.name)
        return True

    def compare_last_records(self, state: FeedState) -> None:
        """Check that the log is still the one that was read before; raises `LogRewritten`."""
        if not state.partitions or not isinstance(self._source, HashesLastRecords):
            return
        available = self.look()
        with self._job(AT_WATERMARKS):
            check_last_records(state, available, self._source)

    def _read(self, order: StageOrder) -> StagedWindow:
        with self._job(order.window) as reading:
            records = sum(map(len, order.ranges))
            try:
                return self._stager.stage(order)
            except ReadTooMuch as error:
                raise WindowTooMuch(order.feed, order.window, records, error.why) from error
            except ReadFailed as error:
                if not reading.is_late:
                    raise
                took_s = self._around.tick() - reading.since
                raise WindowTimedOut(order.feed, order.window, records, took_s) from error

    @contextmanager
    def _job(self, name: str) -> Iterator[_Reading]:
        """Around a job of the source: with a slot, and so that another thread can end it."""
        with self._slot.held():
            self._reading = reading = _Reading(name, self._around.tick())
            try:
                yield reading
            finally:
                self._reading = None

    def recall(self, kept: Mapping[str, str]) -> None:
        """Give the source what it has kept with the last window."""
        if isinstance(self._source, KeepsValue):
            self._source.recall(kept.get(BY_SOURCE, ""))

    def _to_keep(self, ranges: tuple[OffsetRange, ...]) -> dict[str, str]:
        if not isinstance(self._source, KeepsValue):
            return {}
        value = self._source.to_keep(ranges)
        if not isinstance(value, str):
            raise KeptValueWrong(self._source.kind, f"a {type(value).__name__}", MOST_KEPT)
        if len(value) > MOST_KEPT:
            raise KeptValueWrong(self._source.kind, f"{len(value):,} characters", MOST_KEPT)
        return {BY_SOURCE: value} if value else {}
