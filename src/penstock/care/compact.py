"""Compaction: rewrites files of done windows into fewer files with the same rows."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from penstock.care.command_entries import decide_for_command, discard_staged
from penstock.care.done_files import done_files, inventory_of
from penstock.errors import EntryRefused, PenstockError
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


class Rewritten(Value, frozen=True):
    """The files that were made; the sums of all values in them and in their inputs, if taken."""

    files: tuple[ManifestFile, ...]
    value_sum: int | None = None
    input_sum: int | None = None


Rewrite = Callable[[RewriteOrder], tuple[ManifestFile, ...]]
Choose = Callable[[tuple[str, ...]], tuple[str, ...]]


def all_of_them(files: tuple[str, ...]) -> tuple[str, ...]:
    """Every file that could be rewritten."""
    return files


@dataclass(frozen=True, slots=True)
class Compaction:
    """One entry that rewrites files of a dataset: who asked for it, which files, and how.

    `choose` is given the files that can be rewritten, perhaps of one day only, and picks some.
    Both functions are called again when the owner changes meanwhile. `window` is the id under which
    something was staged already.
    """

    dataset: str
    rewrite: Callable[[RewriteOrder], Rewritten]
    choose: Choose = all_of_them
    author: str = ""
    reason: str = ""
    day: str = ""
    window: str = ""


def compact(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    rewrite: Rewrite,
    choose: Choose = all_of_them,
) -> SealedEntry:
    """Rewrite live files of a dataset's done windows. Refused if there are fewer than two."""
    wanted = Compaction(dataset, lambda order: Rewritten(rewrite(order)), choose)
    return decide_compaction(journal, around, wanted)


def decide_compaction(
    journal: FeedJournal,
    around: Surroundings,
    wanted: Compaction,
    known: FeedFold | None = None,
) -> SealedEntry:
    """Rewrite files and decide it, beside an owner or without one. Refused if there are too few.

    A window that is decided meanwhile is no obstacle. If another entry has taken an input first,
    this one is refused, and what was staged is removed.
    """
    build = partial(_built, journal, wanted)
    return decide_for_command(journal, around, build, known, window=wanted.window)


def _built(journal: FeedJournal, wanted: Compaction, fold: FeedFold, window: str) -> AnyBody:
    dataset = wanted.dataset
    inputs = wanted.choose(done_files(fold, dataset, wanted.day))
    if len(inputs) < 2:
        raise EntryRefused("compaction", f"{dataset} has {len(inputs)} files to compact")
    try:
        done = wanted.rewrite(RewriteOrder(dataset, window, journal.layout.staging, inputs))
    except PenstockError:
        with suppress(PenstockError):
            discard_staged(journal, window)  # nothing of it can be decided any more
        raise
    taken = tuple(Input(dataset, final) for final in inputs)
    content = Content(files=done.files, inputs=taken)
    body = Compact(
        window=window,
        groups=groups_of(content, REWRITE),
        content=content,
        consumes=inventory_of(fold).groups_of(taken),
        author=wanted.author,
        reason=wanted.reason,
        value_sum=done.value_sum,
        input_sum=done.input_sum,
    )
    return journal.with_content(body, content)
