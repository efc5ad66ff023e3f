"""Compaction: rewrites files of done windows into fewer files with the same rows."""

from collections.abc import Callable

from penstock.care.command_entries import decide_for_command
from penstock.errors import EntryRefused
from penstock.model.entries import AnyBody, Compact, Retire, SealedEntry
from penstock.model.manifest import Content, Group, Input, ManifestFile, groups_of
from penstock.model.steps import REMOVE, REWRITE
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import is_pending
from penstock.runtime.surroundings import Surroundings


class RewriteOrder(Value, frozen=True):
    """What to rewrite: these live files, staged under this window."""

    dataset: str
    window: str
    staging: str
    inputs: tuple[str, ...]


Rewrite = Callable[[RewriteOrder], tuple[ManifestFile, ...]]
Choose = Callable[[tuple[str, ...]], tuple[str, ...]]


def all_of_them(files: tuple[str, ...]) -> tuple[str, ...]:
    """Every file that could be rewritten."""
    return files


def compact(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    rewrite: Rewrite,
    choose: Choose = all_of_them,
) -> SealedEntry:
    """Rewrite live files of a dataset's done windows. Refused if there are fewer than two."""

    def build(fold: FeedFold, window: str) -> AnyBody:
        inputs = choose(done_files(fold, dataset))
        if len(inputs) < 2:
            raise EntryRefused("compaction", f"{dataset} has {len(inputs)} files to compact")
        order = RewriteOrder(dataset, window, journal.layout.staging, inputs)
        taken = tuple(Input(dataset, final) for final in inputs)
        content = Content(files=rewrite(order), inputs=taken)
        body = Compact(
            window=window,
            groups=groups_of(content, REWRITE),
            content=content,
            consumes=_inventory(fold).groups_of(taken),
        )
        return journal.with_content(body, content)

    return decide_for_command(journal, around, build)


def retire(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    inputs: tuple[str, ...],
    author: str,
    reason: str,
) -> SealedEntry:
    """Remove the named files of done windows, for retention."""

    def build(fold: FeedFold, window: str) -> AnyBody:
        taken = tuple(Input(dataset, final) for final in inputs)
        content = Content(inputs=taken)
        body = Retire(
            window=window,
            groups=(Group(dataset, 0, 0, 0, REMOVE),),
            content=content,
            consumes=_inventory(fold).groups_of(taken),
            author=author,
            reason=reason,
        )
        return journal.with_content(body, content)

    return decide_for_command(journal, around, build)


def done_files(fold: FeedFold, dataset: str) -> tuple[str, ...]:
    """The live files of a dataset whose groups are done, in name order."""
    return tuple(
        sorted(
            final
            for final, live in _inventory(fold).files_of(dataset).items()
            if not is_pending(fold.state, live.number, dataset)
        )
    )


def _inventory(fold: FeedFold) -> Inventory:
    if fold.inventory is None:
        raise ValueError("compaction and retention need a deep fold")
    return fold.inventory
