"""Running the feeds of a lake in one Spark application, one window after the other."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from penstock.api.source import ReadFailed, SourceUnavailable
from penstock.errors import (
    FeedHalted,
    OutcomeUnknown,
    PenstockError,
    StagedSetWrong,
    StoreUnavailable,
    TopicMissing,
)
from penstock.feeds.cleaning import Cleaner
from penstock.feeds.endings import (
    OWNED_BY_ANOTHER,
    PASSING,
    failing_and_stopped,
    waits_for_a_person,
)
from penstock.feeds.errors import (
    DatasetsParked,
    LeaseHeld,
    LeaseLost,
    PartitionsUnread,
    SchemasIncompatible,
)
from penstock.feeds.halt_records import record_unopened
from penstock.feeds.heartbeat import Beating, Heart
from penstock.feeds.run_events import Event, Fact, Tell
from penstock.feeds.running_feed import FeedTools, RunningFeed, instance_name
from penstock.feeds.setting_changes import change_events
from penstock.model.exit_codes import worst
from penstock.model.lanes import dataset_of
from penstock.model.plural import number_of
from penstock.model.spec import FeedSpec
from penstock.ports.registry.errors import RegistryTrouble
from penstock.protocol.feed_book.feed_lease import FeedBeat

AGAIN_ONCE = (RegistryTrouble, ReadFailed, StoreUnavailable, StagedSetWrong)
TRIES_ONCE = 3  # how often `--once` tries a window that fails for a cause that may pass
TRIES_WRONG = 5  # how often in a row a window may be staged wrong; then it is no accident
LONGEST_PAUSE_S = 60.0
REST_S = 1.0
IN_LINE_S = 2.0  # how often the lease of another owner is looked at


@dataclass(frozen=True, slots=True)
class RunSpec:
    """How to run: `once` ends when all is delivered; whether to wait for another owner or not."""

    once: bool = False
    wait: bool = True
    take_over: bool = False


@dataclass
class Runner:
    """Turns the wheel: every feed gets a window in turn; one that stops does not stop others."""

    feeds: tuple[FeedSpec, ...]
    tools: FeedTools
    tell: Tell
    is_stopping: Callable[[], bool]
    spec: RunSpec = field(default_factory=RunSpec)
    failures: dict[str, PenstockError] = field(default_factory=dict)
    has_begun: bool = False
    turn: str = ""  # the feed that is looked at or delivered now
    _waiting: list[RunningFeed] = field(default_factory=list)
    _running: list[RunningFeed] = field(default_factory=list)
    _troubles: dict[str, "Trouble"] = field(default_factory=dict)
    _told_to_wait: set[str] = field(default_factory=set)
    _next_look: dict[str, float] = field(default_factory=dict)
    _told_parked: dict[str, dict[str, str]] = field(default_factory=dict)
    _told_failing: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._cleaner = Cleaner(self.feeds_at_work, self.tell, self.tools.around.tick)

    def run(self) -> int:
        """Run until told to stop, or until all is delivered; the worst exit code.

        What is decided becomes visible first: that needs neither Spark, which starts meanwhile,
        nor the sources.
        """
        self._waiting = self._open_all()
        with Heart(lambda: self._waiting, self._beat_failed), self._cleaner:
            try:
                self._start_those_that_are_free()
                if self._waiting or self._running:
                    self.tools.wait_until_ready()
                self.has_begun = True
                while (self._waiting or self._running) and not self.is_stopping():
                    self._start_those_that_are_free()
                    self._turn_all()
            finally:
                for feed in [*self._running, *self._waiting]:
                    self._close(feed)
        return worst(error.exit_code for error in self.failures.values())

    def feeds_at_work(self) -> list[RunningFeed]:
        """The feeds that are owned now. Any thread."""
        return list(self._running)

    def why_none_is_owned(self) -> str:
        """What the feeds wait for as long as none of them is owned. Any thread."""
        names = [feed.name for feed in list(self._waiting)]
        if names and all(name in self._told_to_wait for name in names):
            return "waiting for another owner"
        if any(name in self._troubles for name in names):
            return "trying again after a failure"
        return "asking for topics and offsets"

    def _open_all(self) -> list[RunningFeed]:
        """Fold the journals of all feeds, side by side; in the order of the configuration."""
        opened: dict[str, RunningFeed] = {}

        def open_one(spec: FeedSpec) -> None:
            try:
                feed = RunningFeed(spec, self.tools, once=self.spec.once)
                feed.open()
            except PenstockError as error:
                self._failed(spec.name, error)
                self._record(spec.name, error, partial(self._leave_word, spec, error))
            else:
                opened[spec.name] = feed

        self.tools.around.do_all([partial(open_one, spec) for spec in self.feeds])
        return [opened[spec.name] for spec in self.feeds if spec.name in opened]

    def _start_those_that_are_free(self) -> None:
        """Claim every feed that nobody else holds; the others stay in line.

        A new feed has to ask its source which one it is, and so waits until Spark is there.
        """
        for feed in list(self._waiting):
            if self.is_stopping():
                return
            is_new = feed.state.is_new and not self.has_begun
            if not is_new and not self._is_resting(feed) and self._is_time_to_look(feed):
                self._attempt(feed, partial(self._start, feed))

    def _is_time_to_look(self, feed: RunningFeed) -> bool:
        return self.tools.around.tick() >= self._next_look.get(feed.name, 0.0)

    def _start(self, feed: RunningFeed) -> bool:
        """Claim a feed, which publishes what was decided; False: another instance has it."""
        holder = feed.try_start(force=self.spec.take_over)
        if holder is not None:
            if not self.spec.wait:
                raise LeaseHeld(feed.name, holder.owner, holder.at)
            self._next_look[feed.name] = self.tools.around.tick() + IN_LINE_S
            self._say_waiting(feed, holder)
            return False
        self._waiting.remove(feed)
        self._running.append(feed)
        so_far = number_of(feed.state.windows, "window")
        sentence = f"claimed epoch {feed.owner.epoch}, {so_far} so far"
        self._say(feed.name, "claimed", sentence, {"epoch": feed.owner.epoch})
        self._cleaner.soon(feed)
        for event in change_events(feed.feed, feed.state):
            self.tell(event)
        self._troubles.pop(feed.name, None)
        self._told_to_wait.discard(feed.name)
        return True

    def _attempt(self, feed: RunningFeed, act: Callable[[], bool]) -> bool:
        """Do it, and True if that succeeded and did something.

        A cause that may pass is waited out; a feed of another owner goes back in line; anything
        else ends the feed.
        """
        try:
            return act()
        except PASSING as error:
            self._wait_out(feed, error)
        except OWNED_BY_ANOTHER as error:
            self._back_in_line(feed, error)
        except PenstockError as error:
            self._give_up(feed, error)
        return False

    def _back_in_line(self, feed: RunningFeed, error: PenstockError) -> None:
        """Wait for the other owner, as at the start. Who was told not to wait ends here."""
        if self.spec.once or not self.spec.wait:
            self._give_up(feed, error)
            return
        feed.step_back()
        if feed in self._running:
            self._running.remove(feed)
            self._waiting.append(feed)
        self._troubles.pop(feed.name, None)
        self._told_to_wait.discard(feed.name)
        sentence = f"back in line: {error}"
        self._say(feed.name, "back_in_line", sentence, {"code": error.code}, level="warning")

    def _turn_all(self) -> None:
        """One window of every feed, until we are to stop; a rest when no feed had one."""
        has_moved = False
        for feed in list(self._running):
            if self.is_stopping():
                return
            self.turn = feed.name
            has_delivered = self._turn(feed)
            self.turn = ""
            if has_delivered:
                has_moved = True
            elif self.spec.once and self._is_through(feed):
                self._end(feed)
        if not has_moved and not self.is_stopping():
            self.tools.around.sleep(self._rest_s())

    def _is_through(self, feed: RunningFeed) -> bool:
        """True when a feed had no window for no other reason than that nothing is left.

        What could not be published is waited for until it is there, or parked.
        """
        is_troubled = feed not in self._running or feed.name in self._troubles or feed.failing()
        if is_troubled or feed.is_held_back:
            return False
        return not self.is_stopping()  # what is abandoned leaves no trouble

    def _turn(self, feed: RunningFeed) -> bool:
        """One window, if it is due; True when one was delivered."""
        return not self._is_resting(feed) and self._attempt(feed, partial(self._deliver, feed))

    def _deliver(self, feed: RunningFeed) -> bool:
        around = self.tools.around
        trouble = self._troubles.get(feed.name)
        before = around.tick()
        if not feed.holds_lease:  # a beat has found out
            raise LeaseLost(feed.name)
        if trouble is not None and trouble.start_over:
            feed.start_over()
        moved = feed.run_window()
        self._troubles.pop(feed.name, None)
        self._say_failing(feed)
        self._say_parked(feed)
        self._say_topics(feed)
        for notice in feed.notices():
            self._say(feed.name, "notice", notice, level="warning")
        for job in feed.due_jobs():
            self._cleaner.ask(feed.name, job)
        if moved:
            self._say_delivered(feed, around.tick() - before)
            self._export(feed)
            self._forget_halt(feed)
        return moved

    def _wait_out(self, feed: RunningFeed, error: PenstockError) -> None:
        """Try again later, a little later each time. `--once` gives up after a few."""
        if self.is_stopping():
            return  # the window was abandoned because we were asked to stop
        before = self._troubles.get(feed.name)
        tries = 1 if before is None else before.tries + 1
        is_over = self.spec.once and (tries >= TRIES_ONCE or not isinstance(error, AGAIN_ONCE))
        if is_over or (isinstance(error, StagedSetWrong) and tries >= TRIES_WRONG):
            self._give_up(feed, error)
            return
        pause_s = min(2.0 ** (tries - 1), LONGEST_PAUSE_S)
        next_try = self.tools.around.tick() + pause_s
        # After an unknown outcome only a fresh fold can tell what landed.
        start_over = isinstance(error, OutcomeUnknown) or (before is not None and before.start_over)
        self._troubles[feed.name] = Trouble(tries, next_try, start_over)
        sentence = f"trying again in {pause_s:.0f} s: {error}"
        facts: dict[str, Fact] = {"code": error.code, "tries": tries, "pause_s": pause_s}
        self._say(feed.name, "trouble", sentence, facts, level="warning")

    def _is_resting(self, feed: RunningFeed) -> bool:
        """True while a feed in trouble is not to be tried again yet."""
        trouble = self._troubles.get(feed.name)
        return trouble is not None and self.tools.around.tick() < trouble.next_try

    def _end(self, feed: RunningFeed) -> None:
        """All of it is delivered, but for what is parked or could not be read."""
        unread = feed.unread_partitions()
        if unread:
            self._failed(feed.name, PartitionsUnread(feed.name, unread))
        missing = feed.missing_topics()
        if missing:
            self._halt(feed, TopicMissing(*missing, never_read=True))
        parked, stopped = failing_and_stopped(feed.state)
        if parked:
            self._halt(feed, DatasetsParked(feed.name, parked))
        if stopped:
            self._halt(feed, SchemasIncompatible(feed.name, stopped))
        if feed.name not in self.failures:
            counts, windows = feed.state.counts, feed.state.windows
            sentence = (
                f"done: all that was there is delivered; in {number_of(windows, 'window')} so far "
                f"{counts.written:,} written, {counts.quarantined:,} quarantined, "
                f"{counts.filtered:,} filtered"
            )
            self._say(feed.name, "done", sentence, {"windows": windows, "read": counts.read})
        self._running.remove(feed)
        self._close(feed)

    def _give_up(self, feed: RunningFeed, error: PenstockError) -> None:
        self._halt(feed, error)
        for line in (self._running, self._waiting):
            if feed in line:
                line.remove(feed)
        self._close(feed)

    def _halt(self, feed: RunningFeed, error: PenstockError) -> None:
        """Report why a feed ends; if it waits for an operator, write it down in the lake, too."""
        self._failed(feed.name, error)
        self._record(feed.name, error, partial(feed.record_halt, error))

    def _record(self, name: str, error: PenstockError, leave_word: Callable[[], None]) -> None:
        """Write an end into the lake, unless the cause may pass or another instance goes on."""
        if not waits_for_a_person(error):
            return
        try:
            leave_word()
        except PenstockError as other:
            sentence = f"that the feed has halted could not be written into the lake: {other}"
            self._say(name, "halt_unrecorded", sentence, {"code": other.code}, level="warning")

    def _leave_word(self, spec: FeedSpec, error: PenstockError) -> None:
        record_unopened(self.tools.store, self.tools.around, spec, instance_name(), error)

    def _forget_halt(self, feed: RunningFeed) -> None:
        """What was written down before the feed went on is void; it is removed when it can be."""
        try:
            feed.forget_halt()
        except PenstockError as error:
            sentence = f"what was left of an earlier halt could not be removed: {error}"
            self._say(feed.name, "halt_not_removed", sentence, {"code": error.code}, "warning")

    def _close(self, feed: RunningFeed) -> None:
        """Let go of a feed; a lease that cannot be released runs out by itself."""
        try:
            feed.close()
        except PenstockError as error:
            self._beat_failed(feed, error)

    def _export(self, feed: RunningFeed) -> None:
        """Lag tools are served if they can be; delivery does not depend on it."""
        if feed.feed.export_offsets == "none":
            return
        try:
            feed.export_offsets()
        except SourceUnavailable as error:
            sentence = f"the offsets could not be exported for lag tools: {error}"
            self._say(feed.name, "export_failed", sentence, {"code": error.code}, level="warning")

    def _rest_s(self) -> float:
        """How long nothing will be looked at."""
        return min([REST_S, *(spec.window.every_s for spec in self.feeds)])

    def _failed(self, name: str, error: PenstockError) -> None:
        kind = "halted" if isinstance(error, FeedHalted) else "stopped"
        self.failures[name] = error
        facts: dict[str, Fact] = {"code": error.code, "exit_code": error.exit_code}
        self._say(name, kind, f"{kind}: {error}", facts, level="error")

    def _beat_failed(self, feed: Beating, error: Exception) -> None:
        why = error if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
        sentence = f"no sign of life could be left: {why}"
        self._say(feed.name, "beat_failed", sentence, level="warning")

    def _say_waiting(self, feed: RunningFeed, holder: FeedBeat) -> None:
        if feed.name not in self._told_to_wait:
            self._told_to_wait.add(feed.name)
            sentence = f"waiting: owned by {holder.owner}, alive at {holder.at}"
            self._say(feed.name, "waiting", sentence, {"owner": holder.owner})

    def _say_failing(self, feed: RunningFeed) -> None:
        """Once per try: what could not be published, and when it is tried again."""
        told, failing = self._told_failing.get(feed.name, {}), feed.failing()
        self._told_failing[feed.name] = {part: each.tries for part, each in failing.items()}
        for part, trouble in sorted(failing.items()):
            if told.get(part) == trouble.tries:
                continue
            pause_s = max(trouble.next_try - self.tools.around.tick(), 0.0)
            dataset = dataset_of(part)
            sentence = (
                f"{dataset} is decided and not visible yet; trying again in {pause_s:.0f} s: "
                f"{trouble.why}"
            )
            facts: dict[str, Fact] = {"dataset": dataset, "tries": trouble.tries}
            self._say(feed.name, "publish_failed", sentence, facts, level="warning")

    def _say_parked(self, feed: RunningFeed) -> None:
        """Once per dataset and cause: what is decided and cannot be seen is worth an alarm.

        What was let go is told again when it is parked again, also if that took one turn.
        """
        told = self._told_parked.get(feed.name, {})
        for dataset, why in sorted(feed.state.parked_datasets.items()):
            if told.get(dataset) != why:
                is_stopped = dataset in feed.state.stopped
                name = "dataset_stopped" if is_stopped else "parked"  # a feed's end is `stopped`
                how = "stopped" if is_stopped else "parked"
                sentence = f"{dataset} is {how}, decided and not visible: {why}"
                self._say(feed.name, name, sentence, {"dataset": dataset}, level="error")
        self._told_parked[feed.name] = feed.state.parked_datasets

    def _say_topics(self, feed: RunningFeed) -> None:
        """Topics that are not there. With `--once` the feed ends with them, if they are named."""
        for event in feed.topic_events():
            if not (self.spec.once and event.name == "topic_missing"):
                self.tell(event)

    def _say_delivered(self, feed: RunningFeed, took_s: float) -> None:
        state = feed.state
        counts, lag = state.last_counts, feed.lag_records()
        rate = counts.read / took_s if took_s > 0 else 0.0
        left_s = lag / rate if rate else 0.0
        broken = f"{counts.quarantined:,} quarantined, " if counts.quarantined else ""
        sentence = (
            f"window {state.last_window}: {number_of(counts.read, 'record')} in {took_s:.1f} s "
            f"({rate:,.0f}/s), {broken}{lag:,} to go" + (f", {left_s:.0f} s left" if lag else "")
        )
        facts: dict[str, Fact] = {
            "window": state.last_window,
            "records": counts.read,
            "bytes": counts.read_bytes,
            "written": counts.written,
            "quarantined": counts.quarantined,
            "filtered": counts.filtered,
            "seconds": round(took_s, 3),
            "lag_records": lag,
            "left_s": round(left_s, 1),
        }
        self._say(feed.name, "window", sentence, facts)
        for event in feed.conflicts():
            self.tell(event)

    def _say(
        self,
        feed: str,
        name: str,
        sentence: str,
        facts: dict[str, Fact] | None = None,
        level: str = "info",
    ) -> None:
        self.tell(Event(feed, name, sentence, facts or {}, level))


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a feed rests: how often in a row it failed, and when to try it again."""

    tries: int
    next_try: float
    start_over: bool
