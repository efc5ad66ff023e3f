"""`penstock schema conflicts`: the fields whose values did not fit, and what would cure it."""

import argparse

from penstock.audit.rest_samples import sample_of
from penstock.cli.common import feed_named, print_rows
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import CUT, printable
from penstock.model.field_conflicts import FieldConflict, all_conflicts
from penstock.model.names import encode_component
from penstock.protocol.feed_book.state import is_pending

LONGEST_SAMPLE = 60
MOST_SHOWN = 100
LATER = (
    "Files that are there keep their columns. A field that has no column yet gets its type with "
    "the next window; for another type of a column, read the topics with a feed of another name."
)


def run_conflicts(chosen: argparse.Namespace) -> int:
    """Print the fields of a feed or a dataset, those of the most records first."""
    name, slash, dataset = chosen.what.partition("/")
    _, _, journal = feed_named(chosen, name)
    fold = journal.open(deep=True)
    directory = encode_component(dataset) if slash else ""
    known = sorted(fold.state.schemas)
    if directory and directory not in known:
        shown = ", ".join(known) or "none yet"
        raise UsageMistake(f"Feed {name!r} has no dataset {dataset!r}.", f"It has: {shown}.")
    ways = [each for each in fold.state.ways.values() if directory in ("", each.dataset)]
    found = [each for each in all_conflicts(ways) if not each.is_new][:MOST_SHOWN]
    live = fold.inventory.files if fold.inventory is not None else {}
    files: dict[str, list[str]] = {}
    for final, file in sorted(live.items()):
        if not is_pending(fold.state, file.number, file.dataset):
            files.setdefault(file.dataset, []).append(final)
    samples = [sample_of(journal.store, files.get(each.dataset, []), each) for each in found]
    rows = [_row(each, sample) for each, sample in zip(found, samples, strict=True)]
    if chosen.output == "json":
        print_rows(rows, "json")
        return 0
    if not found:
        print("all values fit their columns")
        return 0
    print_rows([{key: row[key] for key in row if key not in _ONLY_JSON} for row in rows], "text")
    for line in _cures(found):
        print(printable(line))
    print(LATER)
    return 0


_ONLY_JSON = ("topic", "partition", "offset", "cure")


def _row(conflict: FieldConflict, sample: str | None) -> dict[str, object]:
    if sample is not None and len(sample) > LONGEST_SAMPLE:
        sample = sample[: LONGEST_SAMPLE - len(CUT)] + CUT
    return {
        "dataset": conflict.dataset,
        "field": conflict.path,
        "column": conflict.wanted or None,
        "found": ", ".join(conflict.found),
        "records": conflict.records,
        "first": f"{conflict.topic}/{conflict.partition}/{conflict.offset}",
        "sample": sample,
        "topic": conflict.topic,
        "partition": conflict.partition,
        "offset": conflict.offset,
        "cure": conflict.cure,
    }


def _cures(found: list[FieldConflict]) -> list[str]:
    """The lines of configuration that would give each field one column, by dataset."""
    by_dataset: dict[str, list[FieldConflict]] = {}
    for each in found:
        by_dataset.setdefault(each.dataset, []).append(each)
    return [
        f"{dataset}: decode: {{types: {{{', '.join(map(_pair, some))}}}}}"
        for dataset, some in by_dataset.items()
    ]


def _pair(conflict: FieldConflict) -> str:
    escaped = conflict.path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}": {conflict.cure}'
