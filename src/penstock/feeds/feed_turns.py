"""The turns of one feed, from the opening of its journal to its end. No threads in here.

    opening   fold the journal
    in line   claim the feed, which publishes what was decided; another instance may have it
    owned     a window, if one is due and a slot is free
    halted    an operator has to decide something; then it is opened again
    ended     nothing is left to do, or nothing can be done

Causes that may pass are waited out; a feed that another instance has taken goes back in line.
"""

from collections.abc import Callable
from functools import partial
from traceback import extract_tb
from typing import Literal, assert_never

from penstock.api.source import ReadFailed, SourceUnavailable
from penstock.errors import (
    PenstockError,
    StagedSetWrong,
    StoreUnavailable,
    TopicMissing,
)
from penstock.feeds.endings import (
    OWNED_BY_ANOTHER,
    PASSING,
    failing_and_stopped,
)
from penstock.feeds.errors import (
    DatasetsParked,
    FeedFailed,
    LeaseHeld,
    LeaseLost,
    PartitionsUnread,
    SchemasIncompatible,
    WindowTimedOut,
)
from penstock.feeds.feed_halts import FeedHalts
from penstock.feeds.feed_reports import FeedReports
from penstock.feeds.feed_tools import instance_name
from penstock.feeds.feed_trouble import Trouble, trouble_of, unpublished
from penstock.feeds.halt_records import record_unopened
from penstock.feeds.run_parts import RunParts
from penstock.feeds.running_feed import MOMENT_S, STUCK_S, RunningFeed
from penstock.feeds.slots import FeedSlot
from penstock.model.spec import FeedSpec
from penstock.ports.registry.errors import RegistryTrouble
from penstock.protocol.feed_book.feed_lease import FeedBeat, FeedTrouble

AGAIN_ONCE = (RegistryTrouble, ReadFailed, StoreUnavailable, StagedSetWrong)
TRIES_ONCE = 3  # how often `--once` tries a window that fails for a cause that may pass
TRIES_WRONG = 5  # how often in a row a window may be staged wrong; then it is no accident
LONGEST_PAUSE_S = 60.0
IN_LINE_S = 2.0  # how often the lease of another owner is looked at
REQUEST_S = 5.0  # how often an owner looks whether another instance asks for the feed
HOLD_OFF_S = 10.0  # who gave a feed up does not claim it for so long

WINDOW_PHASES = frozenset({"stage", "prove", "decide", "publish"})

Stage = Literal["opening", "in line", "owned", "halted", "ended"]


class FeedTurns:
    """One feed of a run. One thread takes its turns; others may read its attributes."""

    def __init__(self, spec: FeedSpec, run: RunParts, stagger: float = 1.0) -> None:
        self.spec = spec
        self._run = run
        self._around = run.tools.around
        self._stagger = stagger  # the share of a rest that the first one lasts
        self._began = run.tools.around.tick()
        self._next_look = 0.0
        self._next_request = 0.0
        self.reports = FeedReports(spec.name, run.tell)
        self._halts = FeedHalts(spec.name, self.reports, run.failures)
        self._halted: RunningFeed | None = None  # as it was when it halted
        self.feed: RunningFeed | None = None
        self.stage: Stage = "opening"
        self.trouble: Trouble | None = None
        self._unpublished: FeedTrouble | None = None
        self.is_at_work = False
        self.last_took_s = 0.0
        self.lag_records: int | None = None  # as of the last look

    @property
    def name(self) -> str:
        """The feed's name."""
        return self.spec.name

    @property
    def waits_for_slot(self) -> bool:
        """True when a window is due, and no slot was free for it."""
        if self.feed is None or self.stage != "owned" or self.trouble is not None:
            return False
        return self.feed.slot.is_waited_for

    @property
    def is_reading(self) -> bool:
        """True while a window is read, decided or published."""
        return self.is_at_work and self.feed is not None and self.feed.phase in WINDOW_PHASES

    def trouble_now(self) -> FeedTrouble | None:
        """What fails now, for the signs of life; None: nothing. Any thread."""
        trouble = self.trouble
        if trouble is None:
            return self._unpublished
        return None if trouble.is_of_source and self.is_reading else trouble.told

    def silent_s(self, tick: float) -> float:
        """For how long the feed has not moved, beyond the time that it may take. Any thread."""
        if self.feed is None:
            return tick - self._began - STUCK_S
        return self.feed.silent_s(tick)

    @property
    def waits_until_ready(self) -> bool:
        """True when the next turn needs the source, which may not be asked yet."""
        if self.feed is None:
            return False
        match self.stage:
            case "opening" | "in line":
                needs_source = self.feed.state.is_new
            case "owned":
                needs_source = True
            case "halted" | "ended":
                needs_source = False
            case _ as never:
                assert_never(never)
        return needs_source and not self._run.is_ready()

    def turn(self) -> float:
        """One turn; how many seconds to rest before the next one.

        An error without a name ends the feed, and no other.
        """
        self.is_at_work = True
        try:
            return self._turn()
        except PenstockError as error:
            self._give_up(error)
        except Exception as error:  # noqa: BLE001  the edge between this feed and all others
            self._give_up(unexpected(self.name, error))
        finally:
            self.is_at_work = False
        return 0.0

    def close(self) -> None:
        """Let go of the feed, at the end of the run; what cannot be released runs out by itself."""
        is_closed = self.feed is None or self.stage == "halted"
        self.stage = "ended"
        if self.feed is None or is_closed:
            return
        self.feed.slot.leave()
        self._run.shares.let_go(self.name)
        try:
            self.feed.requests.withdraw()
            self.feed.close()
        except Exception as error:  # noqa: BLE001  nothing keeps a feed from ending
            self.reports.warn("beat_failed", f"no sign of life could be left: {error}")

    def _turn(self) -> float:
        if self.feed is None:
            self._open()
            return 0.0
        if self.waits_until_ready:
            return MOMENT_S
        if self.trouble is not None and self._around.tick() < self.trouble.next_try:
            return self.trouble.next_try - self._around.tick()
        match self.stage:
            case "in line":
                return self._stand_in_line(self.feed)
            case "owned":
                return self._work(self.feed)
            case "halted":
                return self._stay_halted()
            case "opening" | "ended":
                return 0.0
            case _ as never:
                assert_never(never)

    def _open(self) -> None:
        """Fold the journal; needs neither the source nor Spark."""
        tools, spec = self._run.tools, self.spec
        slot = FeedSlot(self._run.slots, spec, self._around.tick, self._run.is_stopping)
        try:
            feed = RunningFeed(spec, tools, once=self._run.spec.once, slot=slot)
            feed.open()
        except PenstockError as error:
            if self._halts.is_watched and isinstance(error, PASSING):
                self.feed, self.stage = self._halted, "halted"  # the next look tries it again
                return
            self.stage = "ended"
            self._halts.failed(error)
            me = tools.instance or instance_name()
            leave_word = partial(record_unopened, tools.store, tools.around, spec, me, error)
            self._halts.record(error, leave_word)
            return
        feed.trouble_now = self.trouble_now
        self.feed, self.stage, self._next_look = feed, "in line", 0.0
        self._run.opened(feed)
        self._halts.resumed()

    def _stay_halted(self) -> float:
        """Look now and then whether an operator has decided something; then open the feed again."""
        if self._halts.may_go_on(self._around.tick()):
            self._began = self._around.tick()
            self._halted, self.feed, self.stage = self.feed, None, "opening"
        return self._halts.rest_s(self._around.tick())

    def _stand_in_line(self, feed: RunningFeed) -> float:
        """Claim the feed if nobody else holds it; the rest until it is looked at again."""
        now = self._around.tick()
        if now < self._next_look:
            return self._next_look - now
        if self._attempt(feed, partial(self._claim, feed)):
            return 0.0
        return min(IN_LINE_S, max(self._next_look - now, MOMENT_S))

    def _claim(self, feed: RunningFeed) -> bool:
        """Claim a feed, which publishes what was decided; False: another instance has it.

        Or this instance has as many feeds as it may have.
        """
        shares = self._run.shares
        self._next_look = self._around.tick() + IN_LINE_S
        if not shares.may_claim(feed.name):
            self.reports.left_to_others(self._run.spec.limits)
            return False
        try:
            # From the living it is taken once per run, not after every halt.
            holder = feed.try_start(force=self._run.spec.take_over and self._halted is None)
        finally:
            if not feed.holds_lease:
                shares.let_go(feed.name)
        if holder is not None:
            self._wait_for(feed, holder)
            return False
        shares.claimed(feed.name)
        feed.requests.withdraw()
        self.stage, self.trouble = "owned", None
        self.reports.claimed(feed)
        self._run.cleaner.soon(feed)
        return True

    def _wait_for(self, feed: RunningFeed, holder: FeedBeat) -> None:
        """Another instance has the feed: tell it once, and ask for it if that one has too many."""
        if not self._run.spec.wait:
            raise LeaseHeld(feed.name, holder.owner, holder.at)
        self.reports.waiting(holder)
        self._run.shares.seen(feed.name, holder.owner)
        if not self._run.is_ready():
            return  # its owner reads it, and we could not yet
        owned = self._run.shares.to_ask(feed.name, self._around.tick())
        if owned is not None:
            feed.requests.ask(owned)

    def _hand_over(self, feed: RunningFeed) -> bool:
        """Give the feed up if another instance asks for it and has fewer; True if so."""
        now = self._around.tick()
        shares = self._run.shares
        if not shares.are_shared or self._run.spec.once or now < self._next_request:
            return False
        self._next_request = now + REQUEST_S
        wanted = feed.requests.take()
        if wanted is None or not shares.gives_up(feed.name, wanted):
            return False
        feed.slot.leave()
        feed.hand_over()
        self.stage, self._next_look = "in line", now + HOLD_OFF_S
        self.trouble = self._unpublished = None
        self.reports.handed_over(wanted)
        return True

    def _work(self, feed: RunningFeed) -> float:
        """A window, if one is due; the rest until there may be another one."""
        if self._attempt(feed, partial(self._hand_over, feed)):
            return 0.0
        if self._attempt(feed, partial(self._deliver, feed)):
            return 0.0
        if self._run.spec.once and self._is_through(feed):
            self._end(feed)
            return 0.0
        if self.trouble is not None or self.stage != "owned":
            return MOMENT_S
        stagger, self._stagger = self._stagger, 1.0
        return stagger * feed.rest_s(self._run.feeds)

    def _attempt(self, feed: RunningFeed, act: Callable[[], bool]) -> bool:
        """Do it, and True if that succeeded and did something.

        A cause that may pass is waited out; a feed of another owner goes back in line; anything
        else ends the feed.
        """
        try:
            return act()
        except WindowTimedOut as error:
            self._try_less(feed, error)
        except PASSING as error:
            self._wait_out(error)
        except OWNED_BY_ANOTHER as error:
            self._back_in_line(feed, error)
        return False

    def _deliver(self, feed: RunningFeed) -> bool:
        before = self._around.tick()
        if not feed.holds_lease:  # a beat has found out
            raise LeaseLost(feed.name)
        if self.trouble is not None and self.trouble.start_over:
            feed.start_over()
        moved = feed.run_window()
        self.trouble = None
        self._unpublished = unpublished(feed.failing(), self._unpublished, self._around.timestamp())
        self.lag_records = feed.lag_records()
        self.reports.after_turn(feed, self._around.tick(), once=self._run.spec.once)
        for job in feed.due_jobs():
            self._run.cleaner.ask(feed.name, job)
        if moved:
            self.last_took_s = self._around.tick() - before
            self.reports.delivered(feed, self.last_took_s)
            self._export(feed)
            self._halts.forget(feed)
        return moved

    def _wait_out(self, error: PenstockError) -> None:
        """Try again later, a little later each time. `--once` gives up after a few."""
        if self._run.is_stopping():
            return  # the window was abandoned because we were asked to stop
        before = self.trouble
        tries = 1 if before is None else before.tries + 1
        once = self._run.spec.once
        is_over = once and (tries >= TRIES_ONCE or not isinstance(error, AGAIN_ONCE))
        if is_over or (isinstance(error, StagedSetWrong) and tries >= TRIES_WRONG):
            raise error
        pause_s = min(2.0 ** (tries - 1), LONGEST_PAUSE_S)
        self.trouble = self._troubled(error, tries, pause_s)
        self.reports.trouble(error, tries, pause_s)

    def _try_less(self, feed: RunningFeed, error: WindowTimedOut) -> None:
        """Try a smaller window at once: what took so long has been waited for already."""
        tries = 0 if self.trouble is None else self.trouble.tries
        self.trouble = self._troubled(error, tries, 0.0)
        self.reports.timed_out(error, feed.most_records)

    def _troubled(self, error: PenstockError, tries: int, pause_s: float) -> Trouble:
        around = self._around
        return trouble_of(
            error,
            self.trouble,
            around.timestamp(),
            tries=tries,
            next_try=around.tick() + pause_s,
        )

    def _back_in_line(self, feed: RunningFeed, error: PenstockError) -> None:
        """Wait for the other owner, as at the start. Who was told not to wait ends here."""
        if self._run.spec.once or not self._run.spec.wait:
            raise error
        feed.slot.leave()
        feed.step_back()
        self._run.shares.let_go(feed.name)
        self.stage, self._next_look = "in line", 0.0
        self.trouble = self._unpublished = None
        self.reports.back_in_line(error)

    def _is_through(self, feed: RunningFeed) -> bool:
        """True when a feed had no window for no other reason than that nothing is left.

        What could not be published is waited for until it is there, or parked.
        """
        if self.stage != "owned" or self.trouble is not None or feed.failing():
            return False
        if feed.is_held_back or feed.slot.is_waited_for:
            return False
        return not self._run.is_stopping()  # what is abandoned leaves no trouble

    def _end(self, feed: RunningFeed) -> None:
        """All of it is delivered, but for what is parked or could not be read."""
        unread = feed.unread_partitions()
        if unread:
            self._halts.failed(PartitionsUnread(feed.name, unread))
        missing = feed.missing_topics()
        if missing:
            self._halts.halt(feed, TopicMissing(*missing, never_read=True))
        parked, stopped = failing_and_stopped(feed.state)
        if parked:
            self._halts.halt(feed, DatasetsParked(feed.name, parked))
        if stopped:
            self._halts.halt(feed, SchemasIncompatible(feed.name, stopped))
        if not self._halts.is_failed:
            self.reports.done(feed)
        self.close()

    def _give_up(self, error: PenstockError) -> None:
        """Ends the feed; or halts it, for as long as the run has other feeds."""
        if self.feed is None:
            self._halts.failed(error)
            self.close()
            return
        halt = self._halts.halt if self._run.spec.once else self._halts.halt_and_watch
        halt(self.feed, error)
        self.close()
        if self._halts.is_watched:
            self.trouble = self._unpublished = None
            self.stage = "halted"

    def _export(self, feed: RunningFeed) -> None:
        """Lag tools are served if they can be; delivery does not depend on it."""
        if feed.feed.export_offsets == "none":
            return
        try:
            feed.export_offsets()
            self.reports.exported()
        except SourceUnavailable as error:
            self.reports.export_failed(error)


def unexpected(feed: str, error: Exception) -> FeedFailed:
    """An error that nobody has a name for, with one."""
    return FeedFailed(feed, f"{type(error).__name__}: {error}", _where(error))


def _where(error: Exception) -> str:
    """The line of code that raised it, for whoever gets the report."""
    frames = extract_tb(error.__traceback__)
    if not frames:
        return "no trace"
    last = frames[-1]
    return f"{'/'.join(last.filename.split('/')[-3:])}:{last.lineno}"
