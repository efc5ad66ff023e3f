"""One feed as it runs: the owner with everything it needs, and its next window."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime

from penstock.api.source import ExportsLag, RunsTasks
from penstock.datapath.driver.shape_of_feed import shape_of
from penstock.datapath.driver.source_tasks import SourceTasks
from penstock.datapath.driver.stager import Stager
from penstock.datapath.schemas.learning import Learning
from penstock.errors import GapFound, JournalError, PenstockError
from penstock.feeds.cleaning import Job
from penstock.feeds.compacting import FeedCompaction
from penstock.feeds.configured_rules import (
    ConfiguredRules,
    file_policy,
    paces_of,
    publish_policy,
    window_policies,
)
from penstock.feeds.endings import outcome_of
from penstock.feeds.errors import WindowsTimedOut, WindowTimedOut
from penstock.feeds.feed_intake import FeedIntake
from penstock.feeds.feed_tools import FeedTools, instance_name
from penstock.feeds.feed_upkeep import FeedUpkeep
from penstock.feeds.field_events import conflict_events
from penstock.feeds.halt_records import record_halt
from penstock.feeds.halted_watch import HaltedWatch
from penstock.feeds.halting import HaltMoment
from penstock.feeds.leased_owner import LeasedOwner
from penstock.feeds.run_events import Event
from penstock.feeds.sharing import FeedRequests
from penstock.feeds.slots import FeedSlot, slot_of_its_own
from penstock.feeds.topic_watch import TopicWatch, missing_topics
from penstock.feeds.window_gate import WindowGate
from penstock.feeds.window_size import WindowSize
from penstock.model.entries import Gap
from penstock.model.layout import Layout
from penstock.model.plural import number_of
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.window import Place, StageOrder
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedBeat, FeedLease, FeedTrouble, Note
from penstock.protocol.feed_book.halted_objects import remove_void
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.protocol.journal.lease import Contender
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import waiting_ranges
from penstock.protocol.publish.troubles import Trouble
from penstock.runtime.run_figures import PHASES
from penstock.runtime.this_process import is_dead, this_process

POLL_S = 9.5  # an idle feed looks every tenth second for what commands have decided
REST_S = 1.0
LONGEST_REST_S = 9.0
MOMENT_S = 0.05
LOOKS = 6  # at least so many in one `every`, while nothing waits
LOOKS_PER_S = 7  # of all feeds together: some hundredths of a core
STUCK_S = 3600.0  # a loop that does not move for so long is not alive, whatever its threads do
GRACE_S = 60.0  # and so is a read that goes on for so long after it was cancelled


class RunningFeed:
    """A feed from the opening of its journal to its end. Driver only.

    One thread turns it; others may call `beat`, and what says so. `slot` is its way to the slots of
    the run; without it the feed runs alone.
    """

    def __init__(
        self, feed: FeedSpec, tools: FeedTools, *, once: bool, slot: FeedSlot | None = None
    ) -> None:
        self.feed = feed
        self._tools = tools
        self._layout = Layout(feed.name)
        lake = lake_identity(tools.store, tools.around)
        self._journal = FeedJournal(tools.store, self._layout, lake, tools.around)
        self._upkeep = FeedUpkeep(
            self._journal, tools.around, lambda: self.owner, feed, tools.caring, self._note
        )
        self._name = tools.instance or instance_name()
        me = Contender(self._name, this_process(), is_dead)
        self._counters = tools.figures.of(feed.name)
        self._phase = ""
        self._window = ""
        self._order: StageOrder | None = None
        self._has_void_halts = True
        self._is_checked = False
        self._once = once
        self._topics = TopicWatch(feed, tools.around)
        self._moved_at = tools.around.tick()
        self._paces = paces_of(feed, tools.around.tick, eager=once)
        self._size = WindowSize()
        self.slot = slot or slot_of_its_own(feed, tools.around.tick)
        self._compaction = FeedCompaction(
            feed, tools.compact, tools.next_round, tools.around, self._counters, self.slot
        )
        self._gate = WindowGate(self._paces, self._size, self.slot)
        self._source = tools.open_source(feed)
        stager, around = self._stager(), tools.around
        self._intake = FeedIntake(self._source, stager, around, self.slot, once=once)
        lease = FeedLease(tools.store, self._layout, me, tools.around)
        self._leased = LeasedOwner(feed.name, lease, self._new_owner)
        self.requests = FeedRequests(tools.store, self._layout.lease, self._name)
        self.slot.last_s = lambda: self.state.learned.mean().elapsed_s
        self.slot.moved = self._still_alive
        self.trouble_now: Callable[[], FeedTrouble | None] = lambda: None

    @property
    def owner(self) -> Owner:
        """The owner of now; another one after starting over."""
        return self._leased.owner

    @property
    def holds_lease(self) -> bool:
        """True from taking the lease until letting go, or until it was seen to be lost."""
        return self._leased.lease.is_mine

    @property
    def name(self) -> str:
        """The feed's name."""
        return self.feed.name

    @property
    def state(self) -> FeedState:
        """What the journal says, as far as this owner has folded it."""
        return self.owner.fold.state

    def open(self) -> None:
        """Fold the journal; needs neither the source nor Spark."""
        self.owner.open()

    def try_start(self, *, force: bool = False) -> FeedBeat | None:
        """Claim the feed if nobody alive holds it. None: it is ours; else who holds it.

        What is decided and needs the store only is published then; the source is asked nothing,
        unless the feed is new. Raises `LeaseLost`.
        """
        self._moved("claim", None)
        holder = self._leased.try_start(force=force)
        if holder is None:
            self._is_checked = False
        if (before := self._leased.lease.taken_over()) is not None:
            self._size.go_on(before.note.limited)
        return holder

    def start_over(self) -> None:
        """Own the feed again after an outcome that is not known. Raises `LeaseLost`."""
        self._leased.start_over()

    def step_back(self) -> None:
        """Go back in line, after another instance has fenced us or has taken the lease."""
        self._leased.step_back()

    def hand_over(self) -> None:
        """Let go of the feed between two windows, so that another instance can claim it."""
        self._leased.lease.release(self._note())
        self._leased.step_back()

    def run_window(self) -> bool:
        """Deliver the next window; False when there is nothing to read, or not enough yet."""
        self._moved("plan", None)
        try:
            with self._intake.absence_checked():
                self.check_last_records()
                delivered = self.owner.run_window()
        except GapFound as gap:
            if self.feed.on_gap != "accept":
                raise
            self._accept(gap)
            return True
        except PenstockError as error:
            if self._phase in PHASES:  # else no window was begun
                self._counters.window_ended(outcome_of(error))
            self._moved("", None)  # the pause that follows belongs to no phase
            if isinstance(error, WindowTimedOut):
                self._take_less(error)
            raise
        finally:
            self.slot.release()
        if delivered and self._order is not None:
            self._paces.delivered(self._order.ranges)
            self._size.delivered(self.feed.window.max_records)
        self._moved("", None)
        return delivered

    def cancel_late_read(self, tick: float) -> bool:
        """End a read that takes longer than `timeout`; True if there is one. Any thread."""
        since = self._intake.reads_since()
        is_late = since is not None and tick - since > self.feed.timeout_s
        return is_late and self._intake.cancel_read(is_late=True)

    def abandon_read(self) -> bool:
        """End the read of now, because the run ends; True if there is one. Any thread."""
        return self._intake.cancel_read()

    def silent_s(self, tick: float) -> float:
        """For how long the feed has not moved, beyond the time that a read may take. Any thread."""
        since = self._intake.reads_since()
        if since is not None:
            return tick - since - self.feed.timeout_s
        return tick - self._moved_at - STUCK_S

    @property
    def phase(self) -> str:
        """The state of the window that is worked on; empty between two turns. Any thread."""
        return self._phase

    @property
    def most_records(self) -> int | None:
        """How many records the next window may have after timeouts; None: as usual."""
        return self._size.most

    def _take_less(self, late: WindowTimedOut) -> None:
        """Half as much next time. Raises `WindowsTimedOut` when that was tried often enough."""
        self._size.timed_out(late.records)
        if self._size.is_exhausted:
            ranges = self._order.ranges if self._order is not None else ()
            tries = self._size.smallest_tries
            raise WindowsTimedOut(self.name, tries, self.feed.timeout_s, ranges) from late

    @property
    def is_held_back(self) -> bool:
        """True when records wait, and only `max_rate` keeps them from being read now."""
        return self._paces.is_held_back

    def rest_s(self, feeds: int = 1) -> float:
        """How long nothing needs to be looked at, after a turn without a window.

        While nothing waits, the source is asked once a second; by many feeds less often, so that
        all together ask a few times a second. What waits is read when it is due.
        """
        every_s = min([self.feed.window.every_s, *(t.window.every_s for t in self.feed.per_topic)])
        if self._once or self.is_held_back:
            return max(min(REST_S, every_s), MOMENT_S)
        seldom_s = min(max(every_s / LOOKS, REST_S), feeds / LOOKS_PER_S, LONGEST_REST_S)
        return max(min(max(seldom_s, REST_S), every_s, self._paces.due_in_s()), MOMENT_S)

    def failing(self) -> dict[str, Trouble]:
        """The parts that could not be published and are tried again; not those that are parked."""
        return self.owner.troubles.open_ones(self.state.parked)

    def conflicts(self) -> Iterator[Event]:
        """What did not fit its columns in the last window, as events."""
        return conflict_events(self.name, self.state.last_window, self._intake.ways)

    def export_offsets(self) -> None:
        """Tell the source's lag tools, if it has any, how far we are. Never read back."""
        if not isinstance(self._source, ExportsLag):
            return
        offsets = {
            (topic, partition): known.watermark
            for topic, partition, known in self.state.known_partitions()
        }
        self._source.export_offsets(f"penstock-{self.name}", offsets)

    def unread_partitions(self) -> dict[Place, str]:
        """Partitions that the last look left out, for want of a leader or a schema, and why."""
        seen = self._intake.seen
        return {} if seen is None else seen.unreadable

    def missing_topics(self) -> tuple[str, ...]:
        """Topics that the configuration names, that were never read, and that are not there."""
        seen = self._intake.seen
        return () if seen is None else missing_topics(self.feed, self.state.topics, seen)

    def topic_events(self) -> Iterable[Event]:
        """What there is to say about topics that are not there, after the last look."""
        seen = self._intake.seen
        return () if seen is None else self._topics.look(self.state.topics, seen)

    def record_halt(self, error: PenstockError) -> None:
        """Write down that the feed has halted, for commands and after restarts.

        It is about the newest entry, so what commands have decided meanwhile is folded first; a
        journal that cannot be read further is as far as it was read. An owner that was fenced has
        nothing to say about the feed.
        """
        with suppress(JournalError):
            self._journal.fold_on(self.owner.fold)
        if 0 < self.owner.epoch < self.state.epoch:
            return
        at = self._tools.around.timestamp()
        moment = HaltMoment(self._journal.lake, self.state, at, self._name, self._order)
        record_halt(self._journal, self.feed, error, moment)

    def halted_watch(self, *, refused: bool) -> HaltedWatch:
        """Looks for what operators decide from now on; `refused` if they may accept a window."""
        return HaltedWatch(self._journal, self.state, refused=refused)

    def forget_halt(self) -> None:
        """Remove what was written down when the feed halted: it has gone on. Once per start."""
        if self._has_void_halts:
            remove_void(self._journal, self.state)
            self._has_void_halts = False

    def lag_records(self) -> int:
        """How many offsets lie between what is delivered and what the source last had."""
        seen = self._intake.seen
        if seen is None:
            return 0
        return sum(map(len, waiting_ranges(self.state.watermarks(), seen)))

    def beat(self) -> None:
        """Leave a sign of life, unless the loop has not moved for very long."""
        if self.silent_s(self._tools.around.tick()) < GRACE_S:
            self._leased.lease.beat(self._note())

    def notices(self) -> list[str]:
        """What went wrong beside a delivery and is tried again, once."""
        found, self._journal.notices = self._journal.notices, []
        return found

    def regular_jobs(self) -> list[Job]:
        """What is done beside the turns after a claim and every hour. Any thread."""
        return self._upkeep.regular_jobs()

    def due_jobs(self) -> list[Job]:
        """What the last windows have left to be done beside the turns, once."""
        return self._upkeep.due_jobs()

    def compaction_jobs(self) -> Iterable[Job]:
        """A round of compaction, if one is due; never with `once`. Any thread."""
        return () if self._once else self._compaction.jobs(self._upkeep.another_journal)

    def close(self) -> None:
        """Let go of the lease and of the source."""
        self._leased.lease.release(self._note())
        self._source.close()

    def check_last_records(self) -> None:
        """Once per claim, before anything is read: the log must be the one that was read before."""
        if self._is_checked:
            return
        self._intake.recall(self.state.kept)
        self._intake.compare_last_records(self.state)
        self._is_checked = True

    def _stager(self) -> Stager:
        tools, feed = self._tools, self.feed
        learning = Learning(tools.store, self._layout, feed, tools.registry, tools.keys)
        tasks = SourceTasks(self._source, tools.store)
        return Stager(feed, tools.store, learning, tasks, tools.around.tick)

    def _new_owner(self) -> Owner:
        feed = self.feed
        policies = window_policies(feed)
        spec = OwnerSpec(
            owner=self._name,
            policy=policies.feed,
            topics=policies.topics,
            generation=feed.generation,
            files=feed.format,
            shape=shape_of(feed),
            poll_s=0.0 if self._once else POLL_S,  # a last turn has to see all
            publish=publish_policy(feed),
            gathering=file_policy(feed),
            cores=self._cores,
            publish_all=self._tools.publish_all,
        )
        rules = ConfiguredRules(feed, self._journal, self._gate, self._source)
        around, order = self._tools.around, self._upkeep.keep_order
        owner = Owner(self._journal, self._intake, around, spec, rules, self._moved, order)
        owner.troubles.counters = self._counters
        return owner

    def _cores(self) -> int | None:
        """How many tasks can run at once, if the source knows."""
        source = self._source
        return source.tasks_at_once() if isinstance(source, RunsTasks) else None

    def doing(self, tick: float) -> str:
        """What the feed is at, in a few words. Any thread."""
        if self._phase in ("", "claim", "plan"):
            return f"looking for records, {number_of(self.state.windows, 'window')} so far"
        since_s = tick - self._moved_at
        again = f", {self._intake.again}" if self._intake.again else ""
        records = number_of(self._records(), "record")
        return f"{self._phase} {self._window}, {records}{again}, {since_s:.0f} s"

    def _records(self) -> int:
        return 0 if self._order is None else sum(map(len, self._order.ranges))

    def _moved(self, phase: str, order: StageOrder | None) -> None:
        tick = self._tools.around.tick()
        if self._phase in PHASES:
            self._counters.phase_took(self._phase, tick - self._moved_at)
        self._moved_at = tick
        self._phase = phase
        if order is not None:
            self._order, self._window = order, order.window

    def _still_alive(self) -> None:
        self._moved_at = self._tools.around.tick()

    def _note(self) -> Note:
        seen = self._intake.seen
        latest = {
            topic.topic: {p: offsets.latest for p, offsets in topic.partitions.items()}
            for topic in (seen.topics if seen is not None else ())
        }
        earliest = {
            topic.topic: {p: offsets.earliest for p, offsets in topic.partitions.items()}
            for topic in (seen.topics if seen is not None else ())
        }
        looked_at = datetime.fromtimestamp(self._intake.seen_at_s, UTC)
        return Note(
            epoch=self.owner.epoch,
            latest=latest,
            looked_at=looked_at.isoformat(timespec="milliseconds") if seen is not None else "",
            phase=self._phase,
            window=self._window,
            earliest=earliest,
            retention_s=dict(self._intake.retention_s),
            trouble=self.trouble_now(),
            limited=self._size.limited,
        )

    def _accept(self, gap: GapFound) -> None:
        """The configuration gives the word that a person would give, and the journal keeps it."""
        topic_id = self.owner.fold.state.topics[gap.topic]
        lost = OffsetRange(gap.topic, topic_id, gap.partition, gap.start, gap.end)
        body = Gap(lost, "on_gap: accept", "records expired before they were read")
        self._journal.append(self.owner.fold, body, self.owner.epoch)
