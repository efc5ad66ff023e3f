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
from functools import partial
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
from penstock.model.manifest import Content
from penstock.model.names import window_id
from penstock.model.row_config import RowConfig
from penstock.model.window import Available, StagedWindow, StageOrder
from penstock.ports.store.discard_windows import discard_windows
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.late_rows import delivered_groups, late_rows
from penstock.protocol.feed_book.row_configs import RowConfigs
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.journal.checkpoints import seal_checkpoint
from penstock.protocol.journal.journal import nobody_objects
from penstock.protocol.loop.errors import FormatChanged, PartitionChanged
from penstock.protocol.loop.feed_rules import FeedRules, TakeEverything
from penstock.protocol.loop.file_planning import plan_files, volumes_in
from penstock.protocol.loop.measured_cost import cost_of
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.prove import counts_of, findings_of, prove
from penstock.protocol.loop.stopped_datasets import stops_of
from penstock.protocol.loop.tidying import OwnWindows, TidyOrder, tidy
from penstock.protocol.loop.topic_plan import plan_window, sizes_in
from penstock.protocol.loop.window_plan import (
    check_identity,
    check_source,
    new_starts,
)
from penstock.protocol.loop.written_directories import (
    Directories,
    changed_settings,
    check_partition,
    known_directories,
    new_directories,
)
from penstock.protocol.publish.finisher import Finisher
from penstock.protocol.publish.group_work import from_here
from penstock.protocol.publish.groups import append_marked, leave_tail_mark, load_content
from penstock.protocol.publish.ownership import Ownership
from penstock.protocol.publish.troubles import Troubles
from penstock.runtime.surroundings import Surroundings

DECISIONS = 5  # how often a window is decided anew because days became final in between


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


def check_format(feed: str, files: str, state: FeedState) -> None:
    """Raise `FormatChanged` when a feed would write other files than it has."""
    if not state.is_new and files != state.files:
        raise FormatChanged(feed, state.files, files)


class Owner:
    """One owner of one feed, for as long as nobody claims a newer epoch.

    `rules` decide what the feed wants; `watch` is told each state that a window comes to.
    `hand_out` takes what has to be tidied and returns at once; without it, that is done between two
    windows. `own_windows` may be read by any thread.
    """

    def __init__(
        self,
        journal: FeedJournal,
        intake: Intake,
        around: Surroundings,
        spec: OwnerSpec,
        rules: FeedRules | None = None,
        watch: Callable[[str, StageOrder | None], None] = say_nothing,
        hand_out: Callable[[TidyOrder], None] | None = None,
    ) -> None:
        self._journal = journal
        self._intake = intake
        self._around = around
        self._spec = spec
        self._rules = rules or TakeEverything()
        self._watch = watch
        self._hand_out = hand_out
        self._sequence = 0
        self._doubtful: set[str] = set()
        self.own_windows = OwnWindows()
        self._is_open = False
        self._directories: Directories = {}
        self._configs = RowConfigs(journal)
        self._polled_at = -float("inf")
        self._planned_at = 0.0
        self.troubles = Troubles(spec.publish)
        self.epoch = 0
        self.fold = journal.empty_fold()

    def open(self) -> None:
        """Fold the journal. Decides nothing, and asks the source for nothing."""
        self.fold = self._journal.open()
        self._is_open = True

    def take_over(self, require: Callable[[], None] = nobody_objects) -> None:
        """Bind the journal if this is the first start, and claim the next epoch.

        Only a bind asks the source. `require` is called right before each try to claim, and may
        raise.
        """
        if not self._is_open:
            self.open()
        if self.fold.state.is_new:
            self._journal.bind(self.fold, self._intake.look().cluster_id, self._spec.files)
        check_format(self._journal.layout.feed, self._spec.files, self.fold.state)
        self._check_directories()
        self._check_undone_readable()
        self.epoch = self._journal.claim(self.fold, self._spec.owner, require)
        self._journal.see_done(self.fold.state)  # others may have finished since we folded
        leave_tail_mark(self._journal, self.fold.state.number, self.fold.state.sha256)
        self._let_go_what_may_go()
        try:
            self.recover_from_store()
        except (StoreUnavailable, OutcomeUnknown) as error:  # we are the owner all the same
            self._journal.notices.append(f"recovery goes on with the first window: {error}")

    def recover_from_store(self) -> None:
        """Publish what is decided, as far as that needs nothing but the store.

        Files that were lost wait for the source.
        """
        self._finisher(with_source=False).finish_all()

    def run_window(self) -> bool:
        """One turn of the loop. False when there was nothing to read."""
        self.recover()
        self._settle_windows()
        order = self.plan()
        if order is None:
            self._poll()
            return False
        staged = self.stage(order)
        content = self.prove(order, staged)
        if self.fold.state.stopped:  # this window may stop again what a person has just let go
            self._show_what_was_let_go()
        sealed = self.decide(order, staged, content)
        if sealed is not None:
            self.publish(sealed, content)
        self._order_tidying()
        return True

    def recover(self) -> None:
        """Finish what is decided and not done; what is parked is tried now and then."""
        self._finisher().finish_all()

    def plan(self) -> StageOrder | None:
        """The next window, or None when the source has nothing new, or not enough for now."""
        available = self._intake.look()
        self._check_source(available)
        state = self.fold.state
        self._hold_starts(available)
        marks, sizes, choose = state.watermarks(), sizes_in(state), self._rules.choose
        ranges = plan_window(self._spec.policies, sizes, marks, available, choose, state.windows)
        if not ranges:
            return None
        self._planned_at = self._around.tick()
        self._sequence += 1
        window = window_id(self.epoch, self._sequence)
        files = plan_files(ranges, volumes_in(state), self._spec.gathering, self._spec.cores())
        return StageOrder(
            self._journal.layout.feed,
            window,
            self._journal.layout.staging,
            ranges,
            self._spec.generation,
            self._around.now(),
            state.recent_largest,
            record_bytes=state.record_bytes,
            file_plan=files,
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
        """Append the window's entry. None: the plan was overtaken (a seek, a gap); plan again.

        When days become final in between, the same files are decided again, some of them as late.
        """
        self._watch("decide", order)
        for _ in range(DECISIONS):
            body = self._body(order, staged, content)
            self._doubtful.add(order.window)  # until there is an answer, it may be decided
            try:
                sealed = self._journal.append(self.fold, body, self.epoch)
            except EntryRefused:
                self._doubtful.remove(order.window)  # known not to have landed, and it never will
                if self.fold.state.finalized_at == body.finalized_at:
                    self._abandon(order, body)
                    return None
            else:
                self._doubtful.remove(order.window)
                return sealed
        self._abandon(order)
        return None

    def _body(self, order: StageOrder, staged: StagedWindow, content: Content) -> Window:
        """The window's entry, as it has to be by what is known of the journal."""
        state = self.fold.state
        window = Window(
            window=order.window,
            groups=delivered_groups(state, content),
            content=content,
            ranges=order.ranges,
            counts=counts_of(content, staged.read_bytes, staged.largest_bytes),
            last_records=staged.last_records,
            schemas=staged.schemas,
            generation=order.generation,
            planned_s=order.planned_s,
            stops=stops_of(order.window, staged.misfits, self._rules.stops),
            directories=self._new_directories(content),
            settings=self._new_settings(),
            ways=staged.ways,
            config=self._configs.keep(self._config),
            reading=staged.reading,
            cost=cost_of(staged, content, self._around.tick() - self._planned_at),
            kept=staged.kept,
            refused=staged.refused,
            file_plan=order.file_plan,
            finalized_at=state.finalized_at,
            late=late_rows(state, content),
        )
        return self._journal.with_content(window, content)

    def publish(self, sealed: SealedEntry, content: Content) -> None:
        """Make the window visible, and leave the done marker."""
        self._watch("publish", None)
        self._finisher().finish_fresh(sealed, content)

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

    @property
    def _config(self) -> RowConfig | None:
        return None if self._spec.shape is None else self._spec.shape.config

    def _check_undone_readable(self) -> None:
        """What has to be finished must be readable before we claim: else nothing is changed."""
        journal, state = self._journal, self.fold.state
        numbers = [number for number in state.undone if state.open_parts(number)]

        def read_one(number: int) -> None:
            known = journal.require(number, state.undone[number].sha256)
            load_content(journal, self.fold, known)

        self._around.do_all([partial(read_one, number) for number in numbers])

    def _let_go_what_may_go(self) -> None:
        """Datasets that were stopped wait for a person, unless they would not be stopped now."""
        for dataset in list(self.fold.state.stopped):
            if self._rules.stops(dataset):
                continue
            try:
                append_marked(
                    self._journal, self.fold, Unpark(dataset, self._spec.owner), self.epoch
                )
            except EntryRefused:
                if dataset in self.fold.state.stopped:  # else a person was faster
                    raise

    def _show_what_was_let_go(self) -> None:
        """Fold decisions that came since the window began, and publish what waited for them."""
        self.notice_others()
        self.recover()

    def _poll(self) -> None:
        """While idle, every few seconds: one request tells whether anything was decided."""
        tick = self._around.tick()
        if tick - self._polled_at >= self._spec.poll_s:
            self._polled_at = tick
            if self._journal.has_more(self.fold):
                self._show_what_was_let_go()

    def notice_others(self) -> None:
        """Take up what commands have decided, and stop if another process owns this."""
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

    def _finisher(self, *, with_source: bool = True) -> Finisher:
        stage = self._intake.stage if with_source else None
        publish_all = self._spec.publish_all if with_source else from_here
        mine = Ownership(self._spec.owner, self.troubles, stage, self._config, publish_all)
        return Finisher(self._journal, self.fold, self._around, self.epoch, mine)

    def _hold_starts(self, available: Available) -> None:
        """A partition gets its first offset written down before anything is read from it."""
        state = self.fold.state
        starts = new_starts(state.topics, state.watermarks(), available, self._rules.first_offset)
        if starts:
            append_marked(self._journal, self.fold, Start(starts), self.epoch)
            self._check_source(available)  # a first offset may have expired: that is a gap

    def _abandon(self, order: StageOrder, body: AnyBody | None = None) -> None:
        """Remove what this window staged; it is ours alone and was not decided.

        What cannot be removed now goes with the next tidying, or when a newer owner cleans.
        """
        journal, layout = self._journal, self._journal.layout
        try:
            discard_windows(journal.store, layout.staging, layout.data_prefixes, {order.window})
            if body is not None:
                journal.forget(body)
        except (StoreUnavailable, OutcomeUnknown) as error:
            why = f"what window {order.window} has staged is removed later: {error}"
            journal.notices.append(why)

    def _settle_windows(self) -> None:
        """Note which of our windows still need what they have staged, while we are at none."""
        kept = self._doubtful | {each.window for each in self.fold.state.undone.values()}
        self.own_windows = OwnWindows(self.epoch, self._sequence, frozenset(kept))

    def _order_tidying(self) -> None:
        """Now and then hand out what has to be tidied. That is not a part of any window."""
        state = self.fold.state
        self._settle_windows()
        if state.number - self.fold.checkpoint < self._spec.checkpoint_every:
            return
        order = TidyOrder(self.own_windows, seal_checkpoint(self._journal.book, state))
        if self._hand_out is not None:
            self._hand_out(order)
        elif not self._tidy(order):
            return
        self.fold.checkpoint = state.number

    def _tidy(self, order: TidyOrder) -> bool:
        """Tidy here and now; False when it has to be tried again after the next window."""
        journal = self._journal
        try:
            tidy(journal.store, journal.layout, order, self._around.sleep)
        except (StoreUnavailable, OutcomeUnknown) as error:
            journal.notices.append(f"tidying up is tried again after the next window: {error}")
            return False
        return True
