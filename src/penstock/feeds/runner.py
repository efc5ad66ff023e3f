"""Running the feeds of a lake in one Spark application: a thread for each, and who watches them."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock.feeds.cleaning import Cleaner
from penstock.feeds.compacting import LOOK_S, CompactedFeed
from penstock.feeds.errors import FeedStuck
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.feed_turns import FeedTurns, unexpected
from penstock.feeds.heartbeat import Beating, Heart
from penstock.feeds.live_states import LiveState, live_state
from penstock.feeds.readiness import Readiness
from penstock.feeds.run_events import Event, Fact, Tell
from penstock.feeds.run_parts import RunParts, RunSpec
from penstock.feeds.running_feed import GRACE_S, REST_S, RunningFeed
from penstock.feeds.sharing import FeedShares
from penstock.feeds.slots import FeedSlot, Slots
from penstock.model.exit_codes import worst
from penstock.model.spec import FeedSpec

__all__ = ["RunSpec", "Runner"]

WATCH_S = 0.25  # how often somebody looks whether a feed has ended, is late, or is stuck
FINISH_S = 4.0  # after a signal, windows have this time before their jobs are cancelled
STOP_S = 6.0  # and after this time threads that do not end are left behind
SLOT_LOOKS = 5  # a feed that waits for a slot takes a turn after so many seconds
SPREAD = 16  # so many groups of feeds look at their sources one after the other


@dataclass
class Runner:
    """Runs feeds, each on a thread of its own; one that stops, fails or hangs stops no other."""

    feeds: tuple[FeedSpec, ...]
    tools: FeedTools
    tell: Tell
    is_stopping: Callable[[], bool]
    spec: RunSpec = field(default_factory=RunSpec)
    failures: dict[str, PenstockError] = field(default_factory=dict)
    left_behind: tuple[str, ...] = ()  # feeds whose threads did not end

    def __post_init__(self) -> None:
        tick = self.tools.around.tick
        self._ready = Readiness(self.tools.wait_until_ready)
        self._cleaner = Cleaner(self.feeds_at_work, self.tell, tick)
        self._compactor = Cleaner(
            self._compacted_feeds, self.tell, tick, LOOK_S, "penstock-compaction"
        )
        self._heart = Heart(self._beat_failed)
        self._slots = Slots(self.spec.limits, tick)
        self._changed = threading.Event()  # a thread has ended
        self._death: BaseException | None = None
        self._has_ended = False
        self._late: set[str] = set()
        self._stuck: set[str] = set()
        self._threads: dict[str, threading.Thread] = {}
        parts = RunParts(
            self.tools,
            self.tell,
            self.is_stopping,
            self.spec,
            self._slots,
            FeedShares(self.spec.limits.feeds_at_most),
            self._cleaner,
            self.failures,
            self._heart.beat_for,
            self._ready.is_ready,
            len(self.feeds),
        )
        self.turns = tuple(
            FeedTurns(feed, parts, stagger=(index % SPREAD + 1) / SPREAD)
            for index, feed in enumerate(self.feeds)
        )

    def run(self) -> int:
        """Run until told to stop, or until all is delivered; the worst exit code.

        What is decided becomes visible first: that needs neither Spark, which starts meanwhile,
        nor the sources.
        """
        with self._heart, self._cleaner, self._compactor:
            self._begin()
            try:
                while self._at_work() and not self._is_over():
                    self._changed.wait(WATCH_S)
                    self._changed.clear()
                    self._ready.raise_failure()
                    self._watch()
            finally:
                self._has_ended = True
                self._finish()
        if self._death is not None:
            raise self._death
        self._sum_up()
        return worst(error.exit_code for error in self.failures.values())

    @property
    def has_begun(self) -> bool:
        """True once sources may be asked: Spark is up. Any thread."""
        return self._ready.has_come

    def feeds_at_work(self) -> list[RunningFeed]:
        """The feeds that are owned now. Any thread."""
        return [each.feed for each in self.turns if each.stage == "owned" and each.feed is not None]

    def _compacted_feeds(self) -> list[CompactedFeed]:
        """The same, once there is Spark; compaction needs nothing sooner. Any thread."""
        return [CompactedFeed(each) for each in self.feeds_at_work()] if self.has_begun else []

    def live_states(self) -> list[LiveState]:
        """What every feed does now. Any thread."""
        tick = self.tools.around.tick()
        return [live_state(each, self.failures, self._stuck, tick) for each in self.turns]

    def _begin(self) -> None:
        for turns in self.turns:
            thread = threading.Thread(
                target=self._run_feed, args=(turns,), name=f"penstock-{turns.name}", daemon=True
            )
            self._threads[turns.name] = thread
        for thread in self._threads.values():
            thread.start()

    def _run_feed(self, turns: FeedTurns) -> None:
        """The life of one feed's thread."""
        try:
            while turns.stage != "ended" and not self._is_over():
                self._rest(turns, turns.turn())
            if turns.stage != "ended" and self._death is None:
                turns.close()
        except Exception as error:  # noqa: BLE001  not even telling of an error harms other feeds
            turns.stage = "ended"
            self.failures[turns.name] = unexpected(turns.name, error)
        except BaseException as error:  # noqa: BLE001  not an error of a feed: the process ends
            self._death = error
        finally:
            self._changed.set()

    def _rest(self, turns: FeedTurns, rest_s: float) -> None:
        """Wait for what the feed needs next, and never so long that a stop would not be seen."""
        if turns.stage == "ended":
            return
        if turns.waits_until_ready:
            self._ready.wait(REST_S)
        elif turns.waits_for_slot and turns.feed is not None:
            self._wait_for_slot(turns.feed.slot)
        else:
            self._sleep(rest_s)

    def _sleep(self, rest_s: float) -> None:
        while rest_s > 0 and not self._is_over():
            self.tools.around.sleep(min(rest_s, REST_S))
            rest_s -= REST_S

    def _wait_for_slot(self, slot: FeedSlot) -> None:
        """For a while only: a feed that waits still looks at its journal now and then."""
        for _ in range(SLOT_LOOKS):
            if slot.wait(REST_S) or self._is_over():
                return

    def _is_over(self) -> bool:
        return self.is_stopping() or self._has_ended or self._death is not None

    def _at_work(self) -> list[str]:
        """The feeds whose threads are there, and are expected to come back.

        A halted feed waits for an operator, and keeps no run from its end.
        """
        return [name for name in self._alive() if name not in self._stuck]

    def _alive(self) -> list[str]:
        """The feeds whose threads are there, but for those that only look after a halt."""
        return [
            turns.name
            for turns in self.turns
            if self._threads[turns.name].is_alive() and turns.stage != "halted"
        ]

    def _watch(self) -> None:
        """End reads that take too long, and note who does not come back, or has come back."""
        tick = self.tools.around.tick()
        for turns in self.turns:
            if turns.stage in ("halted", "ended"):
                continue
            if turns.feed is not None and turns.feed.cancel_late_read(tick):
                self._say_late(turns)
            else:
                self._late.discard(turns.name)
            is_silent = turns.silent_s(tick) > GRACE_S
            if is_silent and turns.name not in self._stuck:
                self._give_up(turns, tick)
            elif not is_silent and turns.name in self._stuck:
                self._take_back(turns)

    def _say_late(self, turns: FeedTurns) -> None:
        if turns.name not in self._late:
            self._late.add(turns.name)
            timeout_s = turns.spec.timeout_s
            sentence = f"timeout ({timeout_s:g} s) is over; the job is cancelled"
            turns.reports.warn("cancelled", sentence, {"timeout_s": timeout_s})

    def _give_up(self, turns: FeedTurns, tick: float) -> None:
        """A thread that does not come back: its slot goes to others, and its feed has failed."""
        self._stuck.add(turns.name)
        doing = "opening its journal" if turns.feed is None else turns.feed.doing(tick)
        error = FeedStuck(turns.name, doing)
        self.failures[turns.name] = error
        self._slots.leave(turns.name)
        turns.reports.failed(error)

    def _take_back(self, turns: FeedTurns) -> None:
        """The thread has come back after all, and goes on."""
        self._stuck.discard(turns.name)
        if isinstance(self.failures.get(turns.name), FeedStuck):
            del self.failures[turns.name]
            turns.reports.warn("came_back", "the feed moves again, and goes on")

    def _finish(self) -> None:
        """Let windows finish for a while, then end their reads; leave behind who does not end."""
        if not self._at_work():
            self._left()
            return
        self._cleaner.hurry()
        self._compactor.hurry()
        if self.is_stopping():
            self._say_stopping()
        waited_s, is_abandoned = 0.0, False
        while waited_s < STOP_S and (left := self._at_work()):
            if waited_s >= FINISH_S or self._death is not None:
                is_abandoned = self._abandon(told=is_abandoned) or is_abandoned
            self._threads[left[0]].join(WATCH_S)
            waited_s += WATCH_S if self._threads[left[0]].is_alive() else 0.0
        self._left()

    def _abandon(self, *, told: bool) -> bool:
        """End every read, again and again: a cancel may fall between two jobs."""
        reading = [each for each in self.turns if each.feed and each.feed.abandon_read()]
        if told or not reading:
            return False
        for each in reading:
            sentence = (
                f"stopping: {FINISH_S:.0f} s are over, the window is abandoned; "
                "nothing of it is visible, and the next run reads it again"
            )
            each.reports.warn("abandoned", sentence, {"grace_s": FINISH_S})
        return True

    def _left(self) -> None:
        """Note whose threads are still there; they end with the process."""
        alive = self._alive()
        self.left_behind = tuple(alive)
        for turns in self.turns:
            if turns.name in alive and turns.name not in self._stuck:
                sentence = "stopping: no answer came, and the thread of this feed is left behind"
                turns.reports.warn("left_behind", sentence)

    def _say_stopping(self) -> None:
        """Once: what is finished first, if anything."""
        working = [each for each in self.live_states() if each.doing == "working"]
        facts: dict[str, Fact] = {"grace_s": FINISH_S}
        if not working:
            self.tell(Event("", "stopping", "stopping: no window is being worked on"))
        elif len(working) == 1:
            sentence = (
                f"stopping: finishing the window first ({working[0].sentence}); after "
                f"{FINISH_S:.0f} s it is abandoned, and the next run reads it again"
            )
            self.tell(Event(working[0].feed, "stopping", sentence, facts))
        else:
            named = ", ".join(each.feed for each in working)
            sentence = (
                f"stopping: finishing {len(working)} windows first ({named}); after "
                f"{FINISH_S:.0f} s they are abandoned, and the next run reads them again"
            )
            self.tell(Event("", "stopping", sentence, facts))

    def _sum_up(self) -> None:
        """In the end, which feeds have failed, and by what, where there are several feeds."""
        if not self.failures or len(self.feeds) < 2:
            return
        named = ", ".join(f"{name} ({each.code})" for name, each in sorted(self.failures.items()))
        count = len(self.failures)
        have = "has" if count == 1 else "have"
        sentence = f"{count} of {len(self.feeds)} feeds {have} ended by an error: {named}"
        self.tell(Event("", "failed_feeds", sentence, {"feeds": len(self.failures)}, "error"))

    def _beat_failed(self, feed: Beating, error: Exception) -> None:
        why = error if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
        sentence = f"no sign of life could be left: {why}"
        self.tell(Event(feed.name, "beat_failed", sentence, level="warning"))
