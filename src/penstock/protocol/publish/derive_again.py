"""Deriving lost files again: read the ranges of a decided window once more, for one group.

Only the ranges of file groups with a lost file are read: all files of such a file group come out
again, with the same rows under the same names, and only those that were lost are kept.
"""

from collections.abc import Callable, Iterable

from penstock.errors import DecidedDataLost, EntryRefused
from penstock.model.entries import Replace, SealedEntry, Window
from penstock.model.evidence import Evidence
from penstock.model.manifest import Content, ManifestFile, groups_of
from penstock.model.row_config import RowConfig
from penstock.model.staged import StagedRef
from penstock.model.steps import DELIVER
from penstock.model.window import StagedWindow, StageOrder
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import is_pending
from penstock.protocol.publish.deriving import (
    check_same_config,
    groups_of_files,
    of_groups,
    order_again,
)
from penstock.protocol.publish.groups import append_marked, load_content

Stage = Callable[[StageOrder], StagedWindow]


class Deriver:
    """Puts files in place of lost ones, by a `replace` entry. Only an owner can do it."""

    def __init__(
        self,
        journal: FeedJournal,
        fold: FeedFold,
        epoch: int,
        stage: Stage,
        config: RowConfig | None = None,
    ) -> None:
        self._journal = journal
        self._fold = fold
        self._epoch = epoch
        self._stage = stage
        self._config = config

    def derive(self, sealed: SealedEntry, dataset: str, why: str) -> None:
        """Read the ranges again, insist on the same records, and decide the new files.

        What else was lost of the same file groups comes out of the same read, so it is decided
        too, each group of the entry by itself. Others are not touched: they may be done, or
        consumed already.
        """
        body = sealed.body
        if not isinstance(body, Window):
            raise DecidedDataLost(window_of(sealed), why)
        content = load_content(self._journal, self._fold, sealed)
        lost = self._lost_files(content, dataset)
        if not lost:
            return  # it was between two places when we looked; the next try finds it
        check_same_config(self._journal, body, self._config)
        gone = [file for file in content.files if file.handle.final in lost]
        groups = groups_of_files(body, gone)
        wanted = of_groups(content, groups)
        others = self._lost_besides(sealed.number, wanted, dataset)
        staged = self._stage(order_again(self._journal.layout, body, groups))
        check_same(body.window, wanted, staged, dataset)
        others = {name: each for name, each in others.items() if is_same(wanted, staged, name)}
        kept = self._keep_only(lost.union(*others.values()), body.window, staged)
        for each in (dataset, *others):
            files = tuple(file for file in kept.files if file.dataset == each)
            decide_replacement(self._journal, self._fold, self._epoch, sealed, files)

    def _lost_besides(self, number: int, content: Content, dataset: str) -> dict[str, set[str]]:
        """What is lost of other datasets whose files nothing proves to be visible yet."""
        names = sorted({file.dataset for file in content.files} - {dataset})
        pending = (name for name in names if is_pending(self._fold.state, number, name))
        found = {name: self._lost_files(content, name) for name in pending}
        return {name: lost for name, lost in found.items() if lost}

    def _lost_files(self, content: Content, dataset: str) -> set[str]:
        """Final names of which nothing is left; the others keep their identity."""
        store = self._journal.store
        mine = [file.handle for file in content.files if file.dataset == dataset]
        return {handle.final for handle in mine if store.look(handle).is_lost}

    def _keep_only(self, lost: set[str], window: str, staged: StagedWindow) -> Content:
        kept = tuple(file for file in staged.files if file.handle.final in lost)
        others = tuple(file for file in staged.files if file not in kept)
        discard_staged(self._journal, window, others)
        return Content(files=kept)


def discard_staged(journal: FeedJournal, window: str, files: Iterable[ManifestFile]) -> None:
    """Destroy what was staged for these files."""
    for file in files:
        handle = file.handle
        journal.store.discard(StagedRef(handle.staged, window, handle.proof))


def decide_replacement(
    journal: FeedJournal,
    fold: FeedFold,
    epoch: int,
    sealed: SealedEntry,
    files: tuple[ManifestFile, ...],
) -> None:
    """Decide that these files of one group take the place of those with the same names."""
    content = Content(files=files)
    window = window_of(sealed)
    replace = Replace(
        window=window,
        groups=groups_of(content, DELIVER),
        content=content,
        number=sealed.number,
    )
    replacing = journal.with_content(replace, content)
    try:
        append_marked(journal, fold, replacing, epoch)
    except EntryRefused as error:
        journal.forget(replacing)
        discard_staged(journal, window, files)
        if any(is_pending(fold.state, sealed.number, each.dataset) for each in replace.groups):
            raise DecidedDataLost(window, error.why) from error
        # Else they were consumed meanwhile, by a process that had read them before.


def window_of(sealed: SealedEntry) -> str:
    """The window of an entry, or its number if it has none."""
    return getattr(sealed.body, "window", str(sealed.number))


def is_same(lost: Content, staged: StagedWindow, dataset: str) -> bool:
    """True when the files of a dataset have the same rows under the same names again."""

    def rows(files: tuple[ManifestFile, ...]) -> dict[str, Evidence]:
        return {file.handle.final: file.evidence for file in files if file.dataset == dataset}

    return rows(lost.files) == rows(staged.files)


def check_same(window: str, lost: Content, staged: StagedWindow, dataset: str) -> None:
    """Derived files must hold the same rows under the same names; their bytes may differ."""

    if not is_same(lost, staged, dataset):
        raise DecidedDataLost(window, "the source gives other records for these ranges now")
    if {seen.range: seen.content_sum for seen in lost.evidence if seen.read.count} != {
        seen.range: seen.content_sum for seen in staged.evidence if seen.read.count
    }:
        raise DecidedDataLost(window, "the source gives other contents for these offsets now")
