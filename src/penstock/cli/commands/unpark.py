"""`penstock unpark`: try a parked dataset again now."""

import argparse

from penstock.care.seek import unpark
from penstock.cli.common import author_of, dataset_among, feed_named, print_rows, surroundings
from penstock.cli.errors import UsageMistake
from penstock.protocol.feed_book.state import FeedState


def run(chosen: argparse.Namespace) -> int:
    """Append the entry; the owner takes it up, now or when it starts."""
    journal = feed_named(chosen, chosen.feed)[2]
    state = journal.open().state
    dataset = parked_dataset(chosen, state)
    author, reason = author_of(chosen), chosen.reason
    sealed = unpark(journal, surroundings(), dataset, author, reason, stopped=False)
    if chosen.output == "json":
        row = {"feed": chosen.feed, "dataset": dataset, "entry": sealed.number}
        print_rows([row], "json")
    else:
        print(f"{chosen.dataset} is tried again: by the run that owns {chosen.feed}, or the next")
    return 0


def parked_dataset(chosen: argparse.Namespace, state: FeedState) -> str:
    """The dataset, named by its own name or by its directory; it must be parked, not stopped."""
    parked = state.parked_datasets
    dataset = dataset_among(chosen.dataset, parked)
    if dataset is None:
        which = ", ".join(sorted(parked)) or "none"
        raise UsageMistake(
            f"Dataset {chosen.dataset!r} of feed {chosen.feed!r} is not parked.",
            f"Nothing was changed. Parked datasets: {which}.",
        )
    if dataset in state.stopped:
        raise UsageMistake(
            f"Dataset {chosen.dataset!r} of feed {chosen.feed!r} is stopped, not parked.",
            "Nothing was changed. Records do not fit its schema: `penstock errors accept FEED "
            "--dataset NAME` lets it go on.",
        )
    return dataset
