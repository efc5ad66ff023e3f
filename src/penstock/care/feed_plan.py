"""What of a feed is worth compacting now: its live files, by the sizes that the lake lists."""

from collections.abc import Iterable, Iterator

from penstock.api.doors import FORMATS
from penstock.api.find import find
from penstock.api.store import Store
from penstock.care.compaction_plan import (
    CompactionPolicy,
    FileSize,
    PlannedDirectory,
    debt_of,
    plan_directories,
    policy_of,
)
from penstock.care.done_files import done_files
from penstock.datapath.rewrite.errors import RewriteRefused
from penstock.model.debt import Debt
from penstock.model.lanes import dataset_of
from penstock.model.manifest import QUARANTINE
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.shard_names import of_dataset


def has_positions(fold: FeedFold) -> bool:
    """Whether the files of a feed say where rows come from: without that nothing can be proven."""
    return find(FORMATS, fold.state.files).traits.has_positions


def require_positions(feed: str, fold: FeedFold) -> None:
    """Raise `RewriteRefused` for a feed of which nothing can be compacted, ever."""
    if not has_positions(fold):
        why = f"files of the format {fold.state.files} do not say where rows come from"
        raise RewriteRefused(f"feed {feed!r}", why)


def debt_of_feed(journal: FeedJournal, feed: FeedSpec) -> Debt:
    """What a compaction of now would rewrite of a feed. Reads only."""
    fold = journal.open_partial(of_dataset(""))
    return debt_of(planned(journal, fold, policy_of(feed)))


def planned(
    journal: FeedJournal, fold: FeedFold, policy: CompactionPolicy, dataset: str = "", day: str = ""
) -> Iterator[PlannedDirectory]:
    """What is worth rewriting of the files that are visible now, dataset by dataset.

    Sizes come from a listing of the lake, because the inventory has none. Parked datasets are left
    out: what would be decided of them could not become visible. So are files without positions.
    """
    if fold.inventory is None:
        raise ValueError("a plan needs an inventory")
    if not has_positions(fold):
        return
    parked = {dataset_of(part) for part in fold.state.parked}
    known = fold.inventory.datasets() - {QUARANTINE} - parked
    for each in sorted(known & {dataset} if dataset else known):
        live = fold.inventory.files_of(each, day)
        done = done_files(fold, each, day)
        sizes = _sizes(journal.store, f"{journal.layout.data}/{each}", done, narrow=bool(day))
        found = (FileSize(final, live[final].number, size) for final, size in sizes.items())
        yield from plan_directories(found, policy)


def _sizes(store: Store, below: str, wanted: Iterable[str], *, narrow: bool) -> dict[str, int]:
    """The sizes of files; those that are gone are left out. `narrow`: not all of the dataset."""
    names = set(wanted)
    directories = {final.rpartition("/")[0] for final in names} if narrow else {below}
    return {
        each.key: each.size_bytes
        for directory in sorted(directories)
        for each in (store.list_objects(directory) if names else ())
        if each.key in names
    }
