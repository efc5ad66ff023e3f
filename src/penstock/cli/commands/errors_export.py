"""`penstock errors export`: the raw records of the quarantine as a file that can be edited."""

import argparse

from penstock.care.export_records import export_lines, waiting_parts
from penstock.care.new_file import write_new_file
from penstock.cli.commands.errors_list import (
    no_such_record,
    require_started,
    tell_empty,
    tell_waiting,
)
from penstock.cli.common import feed_named, print_rows
from penstock.cli.quarantine_arguments import datasets_named, named_records, require_words
from penstock.model.plural import are, number_of
from penstock.protocol.feed_book.shard_names import of_quarantine


def run_export(chosen: argparse.Namespace) -> int:
    """Write the file, and print how many records it has."""
    require_words(chosen, "export")
    _, _, journal = feed_named(chosen, chosen.feed)
    fold = journal.open_partial(of_quarantine)
    require_started(fold.state, chosen.feed)
    parts = waiting_parts(fold, datasets_named(chosen.dataset), chosen.fingerprint or "")
    lines = export_lines(journal.store, parts)
    first = next(lines, None)
    if first is None:
        if fold.inventory is not None:
            tell_waiting(fold.state, fold.inventory)
        if named_records(chosen):
            raise no_such_record(chosen.feed, named_records(chosen))
        tell_empty(chosen.feed)
        return 0
    count = write_new_file(chosen.to, (line for part in ([first], lines) for line in part))
    if chosen.output == "json":
        print_rows([{"feed": chosen.feed, "exported": count, "file": chosen.to}], "json")
    else:
        print(f"{number_of(count, 'record')} of {chosen.feed} {are(count)} in {chosen.to}")
    return 0
