"""Finishing decided entries: publish their groups, derive lost files again, park what fails."""

from collections.abc import Callable

from penstock.errors import (
    DecidedDataLost,
    EntryRefused,
    Fenced,
    ForeignFile,
    StagedGone,
    StoreUnavailable,
)
from penstock.model.entries import Park, Replace, SealedEntry, Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import Content, ManifestFile, groups_of
from penstock.model.staged import StagedRef
from penstock.model.steps import DELIVER
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.journal.markers import mark_done
from penstock.protocol.publish.acts import (
    GroupWork,
    StepTools,
    publish_at_once,
    publish_group,
)
from penstock.protocol.publish.groups import leave_tail_mark, load_content, works_of
from penstock.runtime.surroundings import Surroundings

LOSSES = 3  # how often the staged files of one group may vanish under our hands

Stage = Callable[[StageOrder], StagedWindow]


class Finisher:
    """Does the steps of undone entries, in journal order. Repeating any of it is harmless.

    An owner hands in its epoch and its `stage`, so that lost files can be derived again and a
    dataset that keeps failing can be parked. Commands have neither, and leave both to the owner.
    """

    def __init__(
        self,
        journal: FeedJournal,
        fold: FeedFold,
        around: Surroundings,
        epoch: int,
        stage: Stage | None = None,
        park_after: int = 5,
    ) -> None:
        self._journal = journal
        self._fold = fold
        self._around = around
        self._epoch = epoch
        self._stage = stage
        self._park_after = park_after
        self._tools = StepTools(journal.store, around.do_all)

    def finish_all(self) -> None:
        """Finish every undone entry, oldest first."""
        for number in sorted(self._fold.state.undone):
            if self._fold.state.open_groups(number):
                sealed = self._journal.require(number)
                self._finish(sealed, load_content(self._journal, self._fold, sealed))

    def finish_fresh(self, sealed: SealedEntry, content: Content) -> None:
        """Finish an entry that was decided a moment ago, by us; older ones go first, if any."""
        if any(self._fold.state.open_groups(n) for n in self._older_than(sealed.number)):
            self.finish_all()
        self._finish(sealed, content)

    def _older_than(self, number: int) -> list[int]:
        """Undone entries that came before: an unpark may have opened their groups meanwhile."""
        return [older for older in self._fold.state.undone if older < number]

    def _finish(self, sealed: SealedEntry, content: Content) -> None:
        """Do the steps of all open groups together, then finish by itself what is left of them."""
        leave_tail_mark(self._journal, sealed.number, sealed.sha256)
        works = works_of(sealed, content, self._fold.state.open_groups(sealed.number))
        done = publish_at_once(self._tools, works)
        proven = tuple(
            work.dataset for work in works if work.dataset in done or self._group_done(work)
        )
        self._mark(sealed.number, proven)

    def _mark(self, number: int, proven: tuple[str, ...]) -> None:
        """Leave the marker. Parked groups stay undone and get markers of their own later."""
        undone = self._fold.state.undone.get(number)
        if undone is None or not proven:
            return
        mark_done(self._journal.store, self._journal.layout, undone, proven)
        undone.groups = [name for name in undone.groups if name not in proven]
        if not undone.groups:
            del self._fold.state.undone[number]

    def _group_done(self, work: GroupWork) -> bool:
        """Do a group's steps; False when another process did, or when it is parked now."""
        for attempt in range(self._park_after):
            try:
                return self._publish(work)
            except (ForeignFile, StoreUnavailable) as error:
                if attempt + 1 == self._park_after:
                    self._park(work, error)
                    return False
                self._around.sleep(min(2.0**attempt, 30.0))
                work = self._current(work)
        return False

    def _publish(self, work: GroupWork) -> bool:
        """Do the steps, deriving again what was lost; False when another process did it all."""
        for _ in range(LOSSES):
            try:
                publish_group(self._tools, work)
            except StagedGone as gone:
                if not self._look_again(work, gone):
                    return False
                work = self._current(work)
            else:
                return True
        raise DecidedDataLost(
            _window_of(work.sealed), "its files vanish as fast as they are derived"
        )

    def _current(self, work: GroupWork) -> GroupWork:
        """The same group with the files that it has now: lost ones may have been replaced."""
        content = load_content(self._journal, self._fold, work.sealed)
        (current,) = works_of(work.sealed, content, {work.dataset})
        return current

    def _look_again(self, work: GroupWork, gone: StagedGone) -> bool:
        """Neither staged nor final: done meanwhile (False), replaced meanwhile, or really lost."""
        journal, fold, number = self._journal, self._fold, work.sealed.number
        known = list(self._replaced_by(number))
        journal.fold_on(fold)
        journal.see_done(fold.state)
        if work.dataset not in fold.state.open_groups(number):
            return False
        if fold.state.epoch > self._epoch:
            raise Fenced(journal.layout.feed, self._epoch, fold.state.epoch, fold.state.owner)
        if list(self._replaced_by(number)) == known:
            self._derive_again(work.sealed, gone)
        return True

    def _replaced_by(self, number: int) -> list[int]:
        undone = self._fold.state.undone.get(number)
        return undone.replaced_by if undone is not None else []

    def _derive_again(self, sealed: SealedEntry, gone: StagedGone) -> None:
        """Read the ranges again, insist on the same records, and put the new files in place."""
        body = sealed.body
        if not isinstance(body, Window) or self._stage is None:
            raise DecidedDataLost(_window_of(sealed), str(gone.found))
        content = load_content(self._journal, self._fold, sealed)
        lost = self._lost_files(content)
        if not lost:
            return  # it was between two places when we looked; the next try finds it
        layout = self._journal.layout
        order = StageOrder(
            layout.feed,
            body.window,
            layout.staging,
            body.ranges,
            body.generation,
            body.planned_s,  # the times that were believed then are believed again
            body.counts.largest_bytes,
            decided=True,
        )
        staged = self._stage(order)
        _check_same(body.window, content, staged)
        self._decide_replace(body, sealed.number, self._keep_only(lost, body.window, staged))

    def _lost_files(self, content: Content) -> set[str]:
        """Final names of which nothing is left; the others keep their identity."""
        store = self._journal.store
        return {file.handle.final for file in content.files if store.look(file.handle).is_lost}

    def _keep_only(self, lost: set[str], window: str, staged: StagedWindow) -> Content:
        for file in staged.files:
            if file.handle.final not in lost:
                self._journal.store.discard(StagedRef(file.handle.staged, window))
        return Content(files=tuple(file for file in staged.files if file.handle.final in lost))

    def _decide_replace(self, body: Window, number: int, content: Content) -> None:
        replace = Replace(
            window=body.window,
            groups=groups_of(content, DELIVER),
            content=content,
            number=number,
        )
        replacing = self._journal.with_content(replace, content)
        try:
            replaced = self._journal.append(self._fold, replacing, self._epoch)
        except EntryRefused as error:
            self._journal.forget(replacing)
            raise DecidedDataLost(body.window, error.why) from error
        leave_tail_mark(self._journal, replaced.number, replaced.sha256)

    def _park(self, work: GroupWork, error: Exception) -> None:
        """Give up on a dataset for now, by name and with the reason; the others go on."""
        if self._stage is None:
            raise error
        park = Park(work.dataset, work.sealed.number, str(error))
        if work.dataset not in self._fold.state.parked:
            parked = self._journal.append(self._fold, park, self._epoch)
            leave_tail_mark(self._journal, parked.number, parked.sha256)


def _window_of(sealed: SealedEntry) -> str:
    return getattr(sealed.body, "window", str(sealed.number))


def _check_same(window: str, lost: Content, staged: StagedWindow) -> None:
    """Derived files must hold the same rows under the same names; their bytes may differ."""

    def rows(files: tuple[ManifestFile, ...]) -> dict[str, tuple[str, Evidence]]:
        return {file.handle.final: (file.dataset, file.evidence) for file in files}

    if rows(lost.files) != rows(staged.files):
        raise DecidedDataLost(window, "the source gives other records for these ranges now")
    if {seen.range: seen.content_sum for seen in lost.evidence if seen.read.count} != {
        seen.range: seen.content_sum for seen in staged.evidence if seen.read.count
    }:
        raise DecidedDataLost(window, "the source gives other contents for these offsets now")
