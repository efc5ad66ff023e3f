"""Compacts a feed by a plan: one entry for each directory, one task for each new file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial

from penstock.api.store import Store
from penstock.care.command_entries import discard_staged, new_window
from penstock.care.compact import Compaction, RewriteOrder, Rewritten, decide_compaction
from penstock.care.compaction_plan import (
    MOST_OF_ENTRY,
    WORDS_BYTES,
    CompactionPolicy,
    PlannedDirectory,
    hull,
    joined_ranges,
    name_of,
)
from penstock.care.recorded_files import RecordedFiles
from penstock.datapath.formats.formats_by_ending import format_of_recorded_file
from penstock.datapath.rewrite.errors import InputChanged, RewriteRefused, RowsDiffer
from penstock.datapath.rewrite.merge_files import MergedFile, MergeOrder, merge_files
from penstock.datapath.stage.task import new_attempt
from penstock.errors import EntryRefused, PenstockError
from penstock.evidence.value_columns import MASK
from penstock.model.file_groups import ranges_as_words
from penstock.model.manifest import ManifestFile
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.loop.owner import check_format
from penstock.runtime.parallel import ParallelMap
from penstock.runtime.surroundings import Surroundings

OF_ONE_DIRECTORY = (EntryRefused, InputChanged, RewriteRefused, RowsDiffer)


@dataclass(frozen=True, slots=True)
class CompactionTools:
    """The tools of a compaction. `open_parallel` is slow, and is called only if there is work.

    One job makes at most `files_of_job` new files, unless one directory has more; with 1 each
    directory has a job of its own.
    """

    feed: FeedSpec
    around: Surroundings
    author: str
    policy: CompactionPolicy
    open_parallel: Callable[[], AbstractContextManager[ParallelMap]]
    files_of_job: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CompactedDirectory:
    """What one entry did in a directory; without an entry, why nothing was decided.

    Another entry took an input first (`EntryRefused`), or these files cannot be rewritten.
    """

    plan: PlannedDirectory
    entry: int | None = None
    files: int = 0
    rows: int = 0
    size_bytes: int = 0
    refused: PenstockError | None = None


def compact_directories(
    journal: FeedJournal,
    fold: FeedFold,
    plans: Iterable[PlannedDirectory],
    tools: CompactionTools,
) -> Iterator[CompactedDirectory]:
    """Decide one entry for each planned directory; the fold is kept up to date.

    May run while an owner runs. Where another entry has taken an input meanwhile, or files cannot
    be rewritten, that directory alone stays as it is; any other error ends all of it.
    """
    waiting = list(plans)
    if not waiting:
        return
    check_format(tools.feed.name, tools.feed.format, fold.state)
    with tools.open_parallel() as parallel:
        recorded = RecordedFiles(journal, tools.around)
        for plans_of_job in _jobs(waiting, tools.files_of_job):
            some = [
                _Rewriting(journal, fold, plan, tools, parallel, recorded) for plan in plans_of_job
            ]
            try:
                if len(some) > 1:
                    _stage_together(some)
                for each in some:
                    yield each.decided()
            finally:
                for each in some:
                    each.forget_staged()


def _jobs(plans: Iterable[PlannedDirectory], most: int) -> Iterator[list[PlannedDirectory]]:
    """Directories that one job rewrites: so many new files, and inputs of one entry at most."""
    some: list[PlannedDirectory] = []
    for plan in plans:
        files = sum(len(each.files) for each in (*some, plan))
        inputs = sum(len(each.inputs) for each in (*some, plan))
        if some and (files > most or inputs > MOST_OF_ENTRY):
            yield some
            some = []
        some.append(plan)
    if some:
        yield some


@dataclass(slots=True)
class _Rewriting:
    """The rewrite of one directory. Used by one thread of the driver.

    `window` is the id under which all of it was staged together with other directories.
    """

    journal: FeedJournal
    fold: FeedFold
    plan: PlannedDirectory
    tools: CompactionTools
    parallel: ParallelMap
    recorded: RecordedFiles
    window: str = ""
    staged: tuple[MergedFile, ...] = ()

    def decided(self) -> CompactedDirectory:
        """Rewrite it and decide that."""
        wanted = Compaction(
            self.plan.dataset,
            self._rewrite,
            self._choose,
            author=self.tools.author,
            reason=self.tools.reason,
            window=self.window,
        )
        try:
            sealed = decide_compaction(self.journal, self.tools.around, wanted, self.fold)
        except OF_ONE_DIRECTORY as error:
            return CompactedDirectory(self.plan, refused=error)
        finally:
            self.forget_staged()
        files = self.journal.content_of(sealed.body).files
        return CompactedDirectory(
            self.plan,
            sealed.number,
            len(files),
            sum(each.evidence.count for each in files),
            sum(each.handle.size_bytes for each in files),
        )

    def forget_staged(self) -> None:
        """Remove what was staged ahead, unless it was taken for an entry."""
        if self.staged:
            self.staged = ()
            discard_staged(self.journal, self.window)

    def _choose(self, live: tuple[str, ...]) -> tuple[str, ...]:
        """The planned files, if all of them can still be rewritten; else none."""
        mine = tuple(each.final for each in self.plan.inputs)
        return mine if set(mine) <= set(live) else ()

    def _rewrite(self, order: RewriteOrder) -> Rewritten:
        """Make the new files, each by a task of its own, unless they are staged already."""
        if order.window == self.window and self.staged:
            staged, self.staged = self.staged, ()
            return _rewritten(staged)
        numbers, last = self._numbers(), self.fold.state.number
        files = self.recorded.of(numbers, last)
        try:
            merged = self._merged(order, files)
        except InputChanged:
            again = self.recorded.derived_again(numbers, last)
            if all(files.get(final) == file for final, file in again.items()):
                raise
            merged = self._merged(order, files | again)
        return _rewritten(merged)

    def _merged(
        self, order: RewriteOrder, files: Mapping[str, ManifestFile]
    ) -> tuple[MergedFile, ...]:
        work = partial(_merge, self.journal.store)
        return tuple(self.parallel("small files", work, list(self._orders(order, files)), _weight))

    def orders_ahead(self, window: str) -> list[MergeOrder]:
        """What tasks make of it if it is staged together with other directories."""
        self.window = window
        files = self.recorded.of(self._numbers(), self.fold.state.number)
        staging = self.journal.layout.staging
        order = RewriteOrder(self.plan.dataset, window, staging, tuple(self._numbers()))
        return list(self._orders(order, files))

    def _numbers(self) -> dict[str, int]:
        return {each.final: each.number for each in self.plan.inputs}

    def _orders(
        self, order: RewriteOrder, files: Mapping[str, ManifestFile]
    ) -> Iterator[MergeOrder]:
        """What each task makes."""
        feed, taken = self.tools.feed, set[str]()
        for number, planned_file in enumerate(self.plan.files):
            finals = [each.final for each in planned_file.inputs]
            form = format_of_recorded_file(finals[0], self.fold.state.files)
            if form is None or not form.traits.has_positions:
                why = f"files of the format {self.fold.state.files} do not say where rows come from"
                raise RewriteRefused(self.plan.directory, why)
            inputs = _recorded(finals, files)
            suffix = form.suffixes[feed.compression]
            name = name_of(finals, number, order.window, suffix, taken)
            taken.add(str(name))
            ranges = joined_ranges(part for each in inputs for part in each.ranges)
            is_short = len(ranges_as_words(ranges).encode()) <= WORDS_BYTES
            yield MergeOrder(
                feed=feed.name,
                window=order.window,
                staging=order.staging,
                generation=name.generation,
                dataset=order.dataset,
                final=f"{self.plan.directory}/{name}",
                inputs=inputs,
                ranges=ranges,
                words=ranges_as_words(ranges if is_short else hull(ranges)),
                format=form,
                compression=feed.compression,
            )


def _stage_together(some: list[_Rewriting]) -> None:
    """Make the new files of several directories by one job; what fails is left to each alone.

    An owner that changes meanwhile makes all of this void, and each directory is rewritten again.
    """
    first = some[0]
    epoch, orders = first.fold.state.epoch, list[MergeOrder]()
    try:
        for each in some:
            orders += each.orders_ahead(new_window(epoch, first.tools.around))
        work = partial(_merge, first.journal.store)
        found = {
            merged.file.handle.final: merged
            for merged in first.parallel("small files", work, orders, _weight)
        }
    except PenstockError as error:
        with suppress(PenstockError):
            for each in some:
                discard_staged(first.journal, each.window)
        if isinstance(error, OF_ONE_DIRECTORY):
            return
        raise
    for each in some:
        each.staged = tuple(found[o.final] for o in orders if o.window == each.window)


def _rewritten(merged: Iterable[MergedFile]) -> Rewritten:
    in_order = sorted(merged, key=lambda each: each.file.handle.final)
    return Rewritten(
        tuple(each.file for each in in_order),
        value_sum=sum(each.value_sum for each in in_order) & MASK,
        input_sum=sum(each.input_sum for each in in_order) & MASK,
    )


def _recorded(finals: Iterable[str], files: Mapping[str, ManifestFile]) -> tuple[ManifestFile, ...]:
    """The inputs, newest schema first: its columns come first."""
    found = []
    for final in finals:
        if final not in files:
            raise InputChanged(final, "the entry that delivered it does not name it")
        found.append(files[final])
    return tuple(sorted(found, key=lambda each: -each.schema))


def _merge(store: Store, order: MergeOrder) -> MergedFile:
    return merge_files(store, new_attempt(), order)


def _weight(order: MergeOrder) -> int:
    return order.size_bytes
