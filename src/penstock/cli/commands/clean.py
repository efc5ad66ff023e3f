"""`penstock clean`: staged files that dead runs have left, and their removal."""

import argparse
from collections import Counter
from typing import Any

from penstock.care.clean import clean, garbage
from penstock.cli.common import feed_named, print_rows, with_config, with_output


def add_to(commands: Any) -> None:
    """Add this command to the parser."""
    command = commands.add_parser(
        "clean",
        help="show or remove what dead runs have staged",
        description="Staged files of runs that died are invisible and never needed again. A run "
        "removes them by itself, after it has claimed a feed and once an hour. This command shows "
        "them, and removes them with --execute. It may run at any time, also beside a run.",
        epilog="example: penstock clean events --execute",
    )
    command.add_argument("feed", metavar="FEED")
    command.add_argument("--execute", action="store_true", help="remove them")
    with_config(command)
    with_output(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """Print what is garbage, by window; remove it if asked to."""
    _, _, journal = feed_named(chosen, chosen.feed)
    found = Counter(ref.window for ref in garbage(journal))
    removed = clean(journal) if chosen.execute else 0
    if chosen.output == "json":
        row = {"feed": chosen.feed, "windows": dict(found), "removed": removed}
        print_rows([row], "json")
        return 0
    print_rows(({"window": window, "files": count} for window, count in found.items()), "text")
    if chosen.execute:
        print(f"{removed} staged files of dead runs removed")
    elif found:
        print(f"{found.total()} staged files of dead runs; --execute removes them")
    else:
        print("no staged files of dead runs")
    return 0
