"""`penstock clean`: staged files that dead runs have left, and their removal."""

import argparse
from collections import Counter

from penstock.care.clean import clean, garbage
from penstock.cli.common import feed_named, print_rows
from penstock.model.plural import number_of


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
        print(f"{number_of(removed, 'staged file')} of dead runs removed")
    elif found:
        print(f"{number_of(found.total(), 'staged file')} of dead runs; --execute removes them")
    else:
        print("no staged files of dead runs")
    return 0
