"""`penstock compact`: small files become large ones, beside a run or without one."""

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from penstock.audit.errors import DatasetUnknown
from penstock.care.compact_feed import (
    CompactedDirectory,
    CompactionTools,
    compact_directories,
)
from penstock.care.compaction_plan import PlannedDirectory, policy_of
from penstock.care.feed_plan import planned, require_positions
from penstock.cli.audit_progress import Ticker
from penstock.cli.commands.errors_list import tell
from penstock.cli.commands.run import starting_session
from penstock.cli.common import author_of, dataset_among, feed_named, print_rows, surroundings
from penstock.model.exit_codes import worst
from penstock.model.manifest import QUARANTINE
from penstock.model.plural import number_of, size_in_words
from penstock.model.spec import LakeSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.state import is_pending
from penstock.runtime.parallel import ParallelMap
from penstock.spark.parallel_map import SparkParallelMap

FILES_OF_JOB = 64  # so that every core has some of them


def run(chosen: argparse.Namespace) -> int:
    """Rewrite what is worth it, and print a line for each directory."""
    name, slash, dataset = chosen.what.partition("/")
    author = author_of(chosen)
    spec, feed, journal = feed_named(chosen, name)
    fold = journal.open(deep=True)
    if slash:
        dataset = _dataset(name, dataset, fold)
    require_positions(name, fold)
    _tell_parked(fold, dataset)
    policy = policy_of(feed)
    plans = list(planned(journal, fold, policy, dataset, chosen.day or ""))
    if chosen.dry_run:
        _show_plans(chosen.output, name, plans)
        return 0

    opened = partial(parallel_on_spark, spec)
    tools = CompactionTools(
        feed, surroundings(), author, policy, opened, FILES_OF_JOB, chosen.reason
    )
    return _show_done(chosen.output, name, journal, fold, plans, tools)


@contextmanager
def parallel_on_spark(spec: LakeSpec) -> Iterator[ParallelMap]:
    """Spark, for the time of the compaction."""
    session = starting_session(spec, "compact")
    try:
        yield SparkParallelMap(session.get, Ticker(sys.stderr, time.monotonic, "compact"))
    finally:
        session.stop()


def _dataset(feed: str, word: str, fold: FeedFold) -> str:
    """The dataset that is meant, by its own name or by its directory."""
    inventory = fold.inventory or Inventory()
    known = inventory.datasets() | fold.state.schemas.keys() | fold.state.directories.keys()
    known -= {QUARANTINE}
    dataset = dataset_among(word, known)
    if dataset is None:
        raise DatasetUnknown(feed, word, known)
    return dataset


def _tell_parked(fold: FeedFold, dataset: str) -> None:
    """Parked datasets are in no plan; without a word it would look as if all was done."""
    for each in sorted(fold.state.parked_datasets):
        if dataset in ("", each):
            tell(f"{each} is parked and left out: no new files of it can become visible")


def _show_plans(output: str, feed: str, plans: list[PlannedDirectory]) -> None:
    """What would be done."""
    if output == "json":
        print_rows([_row(feed, CompactedDirectory(each)) for each in plans], "json")
        return
    for each in plans:
        print(f"{_of(each)} would become {len(each.files)}")
    if not plans:
        print(f"nothing of {feed} is worth compacting")
    else:
        tell("nothing was changed; without --dry-run they are rewritten")


def _show_done(
    output: str,
    feed: str,
    journal: FeedJournal,
    fold: FeedFold,
    plans: list[PlannedDirectory],
    tools: CompactionTools,
) -> int:
    """Do it, and say so directory by directory; the worst exit code."""
    codes = [0]
    for each in compact_directories(journal, fold, plans, tools):
        if each.refused is not None:
            codes.append(each.refused.exit_code)
            tell(f"{each.plan.directory}: {each.refused}")
            continue
        _show_one(output, feed, each)
        dataset = each.plan.dataset
        if each.entry is not None and is_pending(fold.state, each.entry, dataset):
            tell(f"{dataset} is parked: its new files become visible when it goes on")
    if not plans and output != "json":
        print(f"nothing of {feed} is worth compacting")
    return worst(codes)


def _show_one(output: str, feed: str, done: CompactedDirectory) -> None:
    """One directory that was rewritten."""
    if output == "json":
        print_rows([_row(feed, done)], "json")
        return
    print(
        f"{_of(done.plan)} became {done.files} of {size_in_words(done.size_bytes)}, "
        f"{number_of(done.rows, 'row')}, by entry {done.entry}"
    )


def _row(feed: str, done: CompactedDirectory) -> dict[str, object]:
    """A directory for programs; without an entry nothing was done."""
    plan = done.plan
    return {
        "feed": feed,
        "dataset": plan.dataset,
        "directory": plan.directory,
        "files": len(plan.inputs),
        "bytes": plan.size_bytes,
        "into": len(plan.files),
        "bytes_after": done.size_bytes if done.entry is not None else None,
        "rows": done.rows if done.entry is not None else None,
        "entry": done.entry,
    }


def _of(plan: PlannedDirectory) -> str:
    files = number_of(len(plan.inputs), "file")
    return f"{plan.directory}: {files} of {size_in_words(plan.size_bytes)}"
