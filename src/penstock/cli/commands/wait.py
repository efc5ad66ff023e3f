"""`penstock wait`: until a day, or an hour, is complete."""

import argparse
import json
import sys
from collections.abc import Callable

from penstock.audit.errors import DatasetUnknown
from penstock.cli.common import dataset_among, feed_named, surroundings
from penstock.cli.errors import NotCompleteYet, UsageMistake
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import FeedState, datasets_with_days
from penstock.runtime.surroundings import Surroundings
from penstock.status.completeness_text import before, incomplete

POLL_S = 10.0


def run(chosen: argparse.Namespace) -> int:
    """End with 0 once it is complete; raises `NotCompleteYet` when the time is over."""
    name, slash, word = chosen.what.partition("/")
    _, feed, journal = feed_named(chosen, name)
    fold = journal.open()
    dataset = _dataset(name, word, fold.state) if slash else ""
    _check_asked_for(feed, fold.state, chosen.complete)

    def left() -> list[str]:
        return incomplete(fold.state, chosen.complete, dataset)

    until_complete(journal, fold, left, surroundings(), chosen.timeout)
    waiting = left()
    if waiting or not datasets_with_days(fold.state):
        raise NotCompleteYet(
            chosen.what, chosen.complete, chosen.timeout, _why(fold.state, waiting)
        )
    if chosen.output == "json":
        row = {"feed": name, "dataset": dataset or None, "complete": chosen.complete}
        print(json.dumps(row))
    else:
        print(f"{chosen.what}: {chosen.complete} is complete", file=sys.stderr)
    return 0


def until_complete(
    journal: FeedJournal,
    fold: FeedFold,
    left: Callable[[], list[str]],
    around: Surroundings,
    timeout_s: float,
) -> None:
    """Fold what is decided until nothing is left to wait for, or the time is over."""
    end = around.tick() + timeout_s
    while left() or not datasets_with_days(fold.state):
        rest_s = end - around.tick()
        if rest_s <= 0:
            return
        around.sleep(min(POLL_S, rest_s))
        journal.fold_on(fold)


def _dataset(feed: str, word: str, state: FeedState) -> str:
    known = datasets_with_days(state)
    dataset = dataset_among(word, known)
    if dataset is None:
        raise DatasetUnknown(feed, word, known)
    return dataset


def _check_asked_for(feed: FeedSpec, state: FeedState, label: str) -> None:
    """Whoever waits for what nobody declares would wait for ever."""
    spec = feed.finalize
    if spec is None and not state.final:
        raise UsageMistake(
            f"Nothing declares days of feed {feed.name!r} complete.",
            "Set `finalize: {day: true}` in the feed, or use `penstock finalize`.",
        )
    if spec is not None and "T" in label and not spec.hour:
        raise UsageMistake(
            f"Nothing declares hours of feed {feed.name!r} complete.",
            "Set `finalize: {hour: true}` in the feed, or wait for the day.",
        )


def _why(state: FeedState, waiting: list[str]) -> str:
    """Which datasets are not so far, and how far they are."""
    few = waiting[:5]
    named = [
        f"{name} has {before(state.final[name]) if name in state.final else 'nothing'} complete"
        for name in few
    ]
    parked = [name for name in few if name in state.parked_datasets]
    return "; ".join(
        [
            *(named or ["no dataset has directories of days yet"]),
            *([f"and {len(waiting) - len(few)} more"] if len(waiting) > len(few) else []),
            *([f"parked: {', '.join(parked)}"] if parked else []),
        ]
    )
