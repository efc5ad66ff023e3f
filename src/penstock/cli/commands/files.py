"""`penstock files`: the files that are decided and visible."""

import argparse
from collections.abc import Mapping

from penstock.api.store import Store
from penstock.audit.errors import DatasetUnknown
from penstock.cli.common import (
    feed_named,
    print_rows,
)
from penstock.model.manifest import QUARANTINE
from penstock.protocol.feed_book.inventory import Inventory, LiveFile
from penstock.protocol.feed_book.shard_names import of_dataset
from penstock.protocol.feed_book.state import FeedState, is_pending


def run(chosen: argparse.Namespace) -> int:
    """Print the files."""
    name, slash, dataset = chosen.what.partition("/")
    journal = feed_named(chosen, name)[2]
    fold = journal.open_partial(of_dataset(dataset, chosen.day or ""))
    inventory = fold.inventory or Inventory()
    known = inventory.datasets() | fold.state.schemas.keys() | fold.state.directories.keys()
    if slash and dataset not in known - {QUARANTINE}:
        raise DatasetUnknown(name, dataset, known - {QUARANTINE})
    for each in sorted(known - {QUARANTINE}):
        if dataset in ("", each):
            rows = _rows(journal.store, fold.state, inventory.files_of(each, chosen.day or ""))
            _show(rows, chosen.output, chosen.column)
            inventory.forget(each)  # all files of all datasets may be more than fit the memory
    return 0


def _rows(store: Store, state: FeedState, live: Mapping[str, LiveFile]) -> list[dict[str, object]]:
    """The visible ones of a dataset's files, in name order."""
    return [
        {
            "file": final,
            "uri": store.uri(final),
            "rows": file.evidence.count,
            "entry": file.number,
        }
        for final, file in sorted(live.items())
        if not is_pending(state, file.number, file.dataset)
    ]


def _show(rows: list[dict[str, object]], output: str, column: str) -> None:
    if output == "json":
        print_rows(rows, "json")
        return
    for row in rows:
        print(row[column])
