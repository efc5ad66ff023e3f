"""Compaction: rewrites files of done windows into fewer files with the same rows."""

from collections.abc import Callable

from penstock.care.command_entries import decide_for_command
from penstock.care.done_files import done_files, inventory_of
from penstock.errors import EntryRefused
from penstock.model.entries import AnyBody, Compact, SealedEntry
from penstock.model.manifest import Content, Input, ManifestFile, groups_of
from penstock.model.steps import REWRITE
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
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
            consumes=inventory_of(fold).groups_of(taken),
        )
        return journal.with_content(body, content)

    return decide_for_command(journal, around, build)
