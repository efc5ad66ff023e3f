"""`penstock files`: the exact snapshot a reader may trust."""

import argparse
from typing import Any

from penstock.audit.files import is_pending
from penstock.cli.common import (
    feed_named,
    print_rows,
    with_config,
    with_output,
)
from penstock.model.manifest import QUARANTINE


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "files",
        help="list the committed files of a feed",
        description="The files that are decided and visible, one per line.",
        epilog="example: penstock files events/page_view",
    )
    command.add_argument("what", metavar="FEED[/DATASET]")
    with_config(command)
    with_output(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Print them."""
    name, _, dataset = chosen.what.partition("/")
    fold = feed_named(chosen, name)[2].open(deep=True)
    inventory = fold.inventory
    live = inventory.files.items() if inventory is not None else ()
    rows = [
        {"file": final, "rows": file.evidence.count, "entry": file.number}
        for final, file in sorted(live)
        if file.dataset != QUARANTINE
        and (not dataset or file.dataset == dataset)
        and not is_pending(fold.state, file.number, file.dataset)
    ]
    if chosen.output == "json":
        print_rows(rows, "json")
    else:
        print("\n".join(str(row["file"]) for row in rows))
    return 0
