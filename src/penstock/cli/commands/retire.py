"""`penstock retire`: the days of datasets that are past retention, and their removal."""

import argparse
import sys
from collections.abc import Mapping, Sequence

from penstock.api.store import KeepsWhatIsDeleted
from penstock.audit.errors import DatasetUnknown
from penstock.care.done_files import inventory_of
from penstock.care.retire import OldDay, days_in, retire_days, size_of, without_days
from penstock.cli.approval import approval_of
from penstock.cli.common import (
    dataset_among,
    feed_named,
    print_rows,
    surroundings,
)
from penstock.cli.errors import UsageMistake
from penstock.model.day_directories import day_in
from penstock.model.manifest import QUARANTINE
from penstock.model.plural import number_of
from penstock.model.retired import Retired
from penstock.ports.store.split_store import lake_of
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.shard_names import of_days_before
from penstock.protocol.feed_book.state import FeedState

Row = dict[str, object]


def run(chosen: argparse.Namespace) -> int:
    """Print a row per dataset and day; remove them with --execute."""
    approval = approval_of(chosen)
    name, slash, word = chosen.what.partition("/")
    journal = feed_named(chosen, name)[2]
    fold = journal.open_partial(of_days_before(chosen.before))
    dataset = _dataset(name, word, fold) if slash else ""
    _check_days(fold.state, dataset)
    days = days_in(fold, dataset)
    sizes = [size_of(journal.store, day) for day in days]
    retired: list[Retired] = []
    try:
        if approval is not None:
            for each in retire_days(journal, surroundings(), days, approval):
                retired.append(each)
    finally:
        entries = _entries(retired)
        rows = [_row(name, *each, entries) for each in zip(days, sizes, strict=True)]
        print_rows(rows, chosen.output)
    _tell(chosen, days, sizes, retired)
    _tell_what_stays(journal, days)
    return 0


def _dataset(feed: str, word: str, fold: FeedFold) -> str:
    known = {*fold.state.schemas, *fold.state.directories, *inventory_of(fold).datasets()}
    known.discard(QUARANTINE)
    dataset = dataset_among(word, known)
    if dataset is None:
        raise DatasetUnknown(feed, word, known)
    return dataset


def _check_days(state: FeedState, dataset: str) -> None:
    """Retention goes by day: datasets whose directories tell none are refused, or left out."""
    recorded = recorded_directories(state)
    named = {name: keys for name, keys in recorded.items() if dataset in ("", name)}
    odd = without_days(named)
    if not odd:
        return
    which = f"{', '.join(odd)}: {'its' if len(odd) == 1 else 'their'} directories have no day"
    if len(odd) == len(named):
        raise UsageMistake(
            f"Nothing tells how old the files are of {which}.",
            "Nothing was changed. Retention goes by the directories `day=...`, so only datasets "
            "with `day` in their `partition` can be retired.",
        )
    print(f"left out, since nothing tells how old the files are of {which}", file=sys.stderr)


def recorded_directories(state: FeedState) -> dict[str, tuple[str, ...]]:
    """The directory keys of the datasets; those that only older versions delivered have none."""
    return state.directories


def _entries(retired: Sequence[Retired]) -> dict[tuple[str, str], int]:
    """The last entry that removed files of a dataset's day."""
    return {(each.dataset, day_in(final)): each.entry for each in retired for final in each.files}


def _row(feed: str, day: OldDay, size: int, entries: Mapping[tuple[str, str], int]) -> Row:
    return {
        "feed": feed,
        "dataset": day.dataset,
        "day": day.day,
        "files": len(day.files),
        "rows": day.rows,
        "bytes": size,
        "waiting": day.waiting,
        "entry": entries.get((day.dataset, day.day)),
    }


def _tell(
    chosen: argparse.Namespace,
    days: Sequence[OldDay],
    sizes: Sequence[int],
    retired: Sequence[Retired],
) -> None:
    """The result, on stderr, so that stdout has only data."""
    waiting = sum(day.waiting for day in days)
    if chosen.execute:
        files, rows = sum(len(r.files) for r in retired), sum(r.rows for r in retired)
        what = f"{number_of(files, 'file')} with {number_of(rows, 'row')}"
        print(f"done: {what} removed, by {number_of(len(retired), 'entry', 'entries')}"
              if files else "nothing to remove", file=sys.stderr)  # fmt: skip
    else:
        files, rows = sum(len(day.files) for day in days), sum(day.rows for day in days)
        what = f"{number_of(files, 'file')} with {number_of(rows, 'row')}, {sum(sizes):,} bytes"
        wanted = "--execute" if chosen.reason.strip() else "--reason and --execute"
        how = f"{what}. Add {wanted} to remove them" if files else "nothing is older"
        print(f"dry run, nothing was changed: {how}.", file=sys.stderr)
    if waiting:
        print(
            f"{number_of(waiting, 'file')} cannot go yet: decided and not visible, because a "
            "dataset is parked or a window is being published",
            file=sys.stderr,
        )


def _tell_what_stays(journal: FeedJournal, days: Sequence[OldDay]) -> None:
    """A bucket that keeps versions keeps these files, too, until a rule removes them."""
    store = lake_of(journal.store)
    if any(day.files for day in days) and isinstance(store, KeepsWhatIsDeleted):
        for sentence in store.deleted_stays():
            print(sentence, file=sys.stderr)
