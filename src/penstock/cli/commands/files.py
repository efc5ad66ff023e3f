"""`penstock files`: the files that are decided and visible."""

import argparse

from penstock.audit.errors import DatasetUnknown
from penstock.cli.common import (
    feed_named,
    print_rows,
)
from penstock.model.manifest import QUARANTINE
from penstock.protocol.feed_book.state import is_pending


def run(chosen: argparse.Namespace) -> int:
    """Print the files."""
    name, slash, dataset = chosen.what.partition("/")
    fold = feed_named(chosen, name)[2].open(deep=True)
    inventory = fold.inventory
    live = inventory.files if inventory is not None else {}
    known = {file.dataset for file in live.values()} | set(fold.state.schemas)
    if slash and dataset not in known - {QUARANTINE}:
        raise DatasetUnknown(name, dataset, known - {QUARANTINE})
    rows = [
        {"file": final, "rows": file.evidence.count, "entry": file.number}
        for final, file in sorted(live.items())
        if file.dataset != QUARANTINE
        and dataset in ("", file.dataset)
        and not is_pending(fold.state, file.number, file.dataset)
    ]
    if chosen.output == "json":
        print_rows(rows, "json")
        return 0
    for row in rows:
        print(row["file"])
    return 0
