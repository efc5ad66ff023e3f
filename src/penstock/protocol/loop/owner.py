"""The owner of a feed: the window loop, one named call per state of a window's life.

    1 recover   fold the journal, finish what is decided and not done
    2 plan      from the watermarks and what the source has; durable `start` entries first
    3 stage     the tasks write invisibly
    4 prove     read = written + quarantined + filtered, by evidence
    5 decide    append the entry: the commit point
    6 publish   run the steps
    7 done      leave the marker

Dying anywhere is safe: the next owner begins at 1. No Spark in here; staging is handed in.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from penstock.errors import (
    EntryRefused,
    FeedHalted,
    Fenced,
    OutcomeUnknown,
    StagedSetWrong,
    StoreUnavailable,
)
from penstock.model.entries import AnyBody, SealedEntry, Start, Unpark, Window
from penstock.model.feed_shape import FeedShape
from penstock.model.manifest import Content, groups_of
from penstock.model.names import window_id
from penstock.model.plural import number_of
from penstock.model.steps import DELIVER
from penstock.model.window import Available, StagedWindow, StageOrder
from penstock.ports.store.discard_windows import discard_windows
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.loop.errors import FormatChanged, PartitionChanged
from penstock.protocol.loop.feed_rules import FeedRules, TakeEverything
from penstock.protocol.loop.prove import counts_of, findings_of, prove
from penstock.protocol.loop.window_plan import (
    WindowPolicy,
    check_identity,
    check_source,
    new_starts,
    plan_ranges,
    waiting_ranges,
)
from penstock.protocol.loop.written_directories import (
    Directories,
    changed_settings,
    check_partition,
    known_directories,
    new_directories,
)
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.groups import leave_tail_mark, load_content
from penstock.runtime.surroundings import Surroundings


class Intake(Protocol):
    """What an owner reads through. Called on the driver; may be called again at any time."""

    def look(self) -> Available:
        """What there is to read now, with the identity of where it lies. Changes nothing."""
        ...

    def stage(self, order: StageOrder) -> StagedWindow:
        """Read exactly the ranges, once, and write them invisibly."""
        ...


def say_nothing(_phase: str, _order: StageOrder | None) -> None:
    """Nobody watches."""


@dataclass(frozen=True, slots=True)
class OwnerSpec:
    """How a feed's windows are run. `owner` is the name of who runs them.

    Without a `shape`, directories are not compared with those that were written before.
    """

    owner: str
    policy: WindowPolicy = field(default_factory=WindowPolicy)
    generation: int = 0
    files: str = field(kw_only=True)
    shape: FeedShape | None = None
    park_after: int = 5
    checkpoint_every: int = 100


def check_format(feed: str, files: str, state: FeedState) -> None:
    """Raise `FormatChanged` when a feed would write other files than it has."""
    if not state.is_new and files != state.files:
        raise FormatChanged(feed, state.files, files)


class Owner:
    """One owner of one feed, for as long as nobody claims a newer epoch.

    `rules` decide what the feed wants; `watch` is told each state that a window comes to.
    """

    def __init__(
        self,
        journal: FeedJournal,
        intake: Intake,
        around: Surroundings,
        spec: OwnerSpec,
        rules: FeedRules | None = None,
        watch: Callable[[str, StageOrder | None], None] = say_nothing,
    ) -> None:
        self._journal = journal
        self._intake = intake
        self._around = around
        self._spec = spec
        self._rules = rules or TakeEverything()
        self._watch = watch
        self._sequence = 0
        self._windows: set[str] = set()
        self._is_open = False
        self._directories: Directories = {}
        self.epoch = 0
        self.fold = journal.empty_fold()

    def open(self) -> None:
        """Fold the journal. Decides nothing, and asks the source for nothing."""
        self.fold = self._journal.open()
        self._is_open = True

    def take_over(self) -> None:
        """Bind the journal if this is the first start, and claim the next epoch."""
        if not self._is_open:
            self.open()
        if self.fold.state.is_new:
            self._journal.bind(self.fold, self._intake.look().cluster_id, self._spec.files)
        check_format(self._journal.layout.feed, self._spec.files, self.fold.state)
        self._check_directories()
        self._check_undone_readable()
        self.epoch = self._journal.claim(self.fold, self._spec.owner)
        self._journal.see_done(self.fold.state)  # others may have finished since we folded
        leave_tail_mark(self._journal, self.fold.state.number, self.fold.state.sha256)
        self._try_parked_again()

    def run_window(self) -> bool:
        """One turn of the loop. False when there was nothing to read."""
        self.recover()
        order = self.plan()
        if order is None:
            self._show_what_was_let_go()
            return False
        staged = self.stage(order)
        content = self.prove(order, staged)
        if self.fold.state.stopped:  # this window may stop again what a person has just let go
            self._show_what_was_let_go()
        sealed = self.decide(order, staged, content)
        if sealed is not None:
            self.publish(sealed, content)
        try:
            self._keep_tidy()
        except (StoreUnavailable, OutcomeUnknown) as error:  # the window is delivered all the same
            self._journal.notices.append(
                f"tidying up is tried again after the next window: {error}"
            )
        return True

    def recover(self) -> None:
        """Finish every entry that is decided and not done; parked datasets wait."""
        self._finisher().finish_all()

    def plan(self) -> StageOrder | None:
        """The next window, or None when the source has nothing new, or not enough for now."""
        available = self._intake.look()
        self._check_source(available)
        state = self.fold.state
        self._hold_starts(available)
        cap = self._spec.policy.cap(state.record_bytes)
        waiting = sum(map(len, waiting_ranges(state.watermarks(), available)))
        if not self._rules.is_due(waiting, cap) or not waiting:
            return None
        ranges = plan_ranges(state.watermarks(), available, cap, turn=state.windows)
        self._sequence += 1
        window = window_id(self.epoch, self._sequence)
        self._windows.add(window)
        return StageOrder(
            self._journal.layout.feed,
            window,
            self._journal.layout.staging,
            ranges,
            self._spec.generation,
            self._around.now(),
            state.recent_largest,
        )

    def stage(self, order: StageOrder) -> StagedWindow:
        """Let the tasks write; a failure leaves orphans that nobody will ever see."""
        self._watch("stage", order)
        return self._intake.stage(order)

    def prove(self, order: StageOrder, staged: StagedWindow) -> Content:
        """Check the evidence, and that the source is still the one that was planned from."""
        self._watch("prove", order)
        try:
            content = prove(order, staged)
            cluster_id = self.fold.state.cluster_id
            check_identity(cluster_id, self._wanted_topics(), self._intake.look())
            self._rules.judge(findings_of(content, staged), self.fold.state)
            self._new_directories(content)
        except (StagedSetWrong, FeedHalted, PartitionChanged):
            self._abandon(order)
            raise
        return content

    def decide(
        self, order: StageOrder, staged: StagedWindow, content: Content
    ) -> SealedEntry | None:
        """Append the window's entry. None: the plan was overtaken (a seek, a gap); plan again."""
        self._watch("decide", order)
        body = self._journal.with_content(
            Window(
                window=order.window,
                groups=groups_of(content, DELIVER),
                content=content,
                ranges=order.ranges,
                counts=counts_of(content, staged.read_bytes, staged.largest_bytes),
                last_records=staged.last_records,
                schemas=staged.schemas,
                generation=order.generation,
                planned_s=order.planned_s,
                stops=self._stops_of(order, staged),
                directories=self._new_directories(content),
                settings=self._new_settings(),
                ways=staged.ways,
            ),
            content,
        )
        try:
            return self._journal.append(self.fold, body, self.epoch)
        except EntryRefused:
            self._abandon(order)  # known not to have landed, and it never will
            self._journal.forget(body)
            return None

    def publish(self, sealed: SealedEntry, content: Content) -> None:
        """Make the window visible, and leave the done marker."""
        self._watch("publish", None)
        self._finisher().finish_fresh(sealed, content)

    def _stops_of(self, order: StageOrder, staged: StagedWindow) -> dict[str, str]:
        """The datasets that shall go no further because of records in this window, and why.

        It stands in the window's own entry: no crash and no operator can come in between.
        """
        return {
            dataset: f"{number_of(count, 'record')} came in window {order.window} whose schema "
            "cannot be merged with that of the dataset; they are in the quarantine, and "
            "`incompatible` is `stop`"
            for dataset, count in sorted(staged.misfits.items())
            if count and self._rules.stops(dataset)
        }

    def _check_directories(self) -> None:
        """What was delivered lies in directories that the configuration must keep."""
        if self._spec.shape is not None:
            self._directories = known_directories(self._journal, self.fold.state)
            check_partition(self._journal.layout.feed, self._spec.shape, self._directories)

    def _new_directories(self, content: Content) -> Directories:
        """What the entry records of directories: also what only file names told so far."""
        if self._spec.shape is None:
            return {}
        recorded = self.fold.state.directories
        found = {name: keys for name, keys in self._directories.items() if name not in recorded}
        return found | new_directories(self._journal, recorded | found, content)

    def _new_settings(self) -> dict[str, str]:
        shape = self._spec.shape
        return {} if shape is None else changed_settings(shape, self.fold.state)

    def _check_undone_readable(self) -> None:
        """What has to be finished must be readable before we claim: else nothing is changed."""
        for number in self.fold.state.undone:
            load_content(self._journal, self.fold, self._journal.require(number))

    def _try_parked_again(self) -> None:
        """A new owner gives parked datasets another chance: the store may have been repaired.

        Not those that were stopped, which wait for a person, unless they would not be stopped now.
        """
        state = self.fold.state
        waiting = {dataset for dataset in state.stopped if self._rules.stops(dataset)}
        for dataset in sorted(state.parked.keys() - waiting):
            try:
                self._append_marked(Unpark(dataset, self._spec.owner))
            except EntryRefused:
                if dataset in state.parked:  # else a person was faster
                    raise

    def _show_what_was_let_go(self) -> None:
        """Fold decisions that came since the window began, and publish what waited for them."""
        self.notice_others()
        self.recover()

    def notice_others(self) -> None:
        """While idle: take up what commands have decided, and stop if another process owns this."""
        self._journal.fold_on(self.fold)
        newest = self.fold.state
        if newest.epoch > self.epoch:
            raise Fenced(self._journal.layout.feed, self.epoch, newest.epoch, newest.owner)

    def _check_source(self, available: Available) -> None:
        """Before stopping for an operator's decision, look whether it was made meanwhile."""
        try:
            self._judge_source(available)
        except FeedHalted:
            self.notice_others()
            self._judge_source(available)

    def _judge_source(self, available: Available) -> None:
        state = self.fold.state
        check_source(state.cluster_id, self._wanted_topics(), state.watermarks(), available)

    def _wanted_topics(self) -> dict[str, str]:
        """The topics read so far that the feed still asks for; others may be gone."""
        topics = self.fold.state.topics
        return {name: topic_id for name, topic_id in topics.items() if self._rules.wants(name)}

    def _finisher(self) -> Finisher:
        park_after = self._spec.park_after
        return Finisher(
            self._journal, self.fold, self._around, self.epoch, self._intake.stage, park_after
        )

    def _hold_starts(self, available: Available) -> None:
        """A partition gets its first offset written down before anything is read from it."""
        state = self.fold.state
        starts = new_starts(state.topics, state.watermarks(), available, self._rules.first_offset)
        if starts:
            self._append_marked(Start(starts))
            self._check_source(available)  # a first offset may have expired: that is a gap

    def _append_marked(self, body: AnyBody) -> None:
        """Decide what publishes nothing, and leave the mark that publishing would have left.

        Without one, nobody could tell that the entry was the last and was cut off. A death in
        between leaves the entry without a mark until the next one is left.
        """
        sealed = self._journal.append(self.fold, body, self.epoch)
        leave_tail_mark(self._journal, sealed.number, sealed.sha256)

    def _abandon(self, order: StageOrder) -> None:
        """Remove what this window staged; it is ours alone and was not decided."""
        self._discard_staged_of({order.window})

    def _discard_staged_of(self, windows: set[str]) -> None:
        discard_windows(self._journal.store, self._journal.layout.staging, windows)

    def _keep_tidy(self) -> None:
        """Now and then: a checkpoint, and away with what failed attempts left behind.

        Everything staged by our windows that are done, abandoned or failed is garbage by now.
        """
        state = self.fold.state
        if state.number - self.fold.checkpoint < self._spec.checkpoint_every:
            return
        self._windows -= {undone.window for undone in state.undone.values()}
        self._discard_staged_of(self._windows)
        self._windows.clear()
        write_checkpoint(self._journal, state)
        self.fold.checkpoint = state.number
