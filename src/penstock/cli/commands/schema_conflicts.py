"""`penstock schema conflicts`: the fields whose values did not fit, and what would cure it."""

import argparse
import json
from collections.abc import Iterator

from penstock.audit.rest_samples import sample_of
from penstock.cli.common import feed_named, print_rows
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import CUT, printable
from penstock.model.field_conflicts import FieldConflict, all_conflicts
from penstock.model.names import decode_component, encode_component
from penstock.protocol.feed_book.feed_journal import FeedFold
from penstock.protocol.feed_book.shard_names import of_dataset
from penstock.protocol.feed_book.state import is_pending

LONGEST_SAMPLE = 60
MOST_SHOWN = 100
FEW_FIELDS = 5
LATER = "A field that has no column yet gets its type with the next window."
ELSEWHERE = (
    "These fields have columns of other types, which they keep: the types are for a feed of "
    "another name that reads the same topics. In this feed, `run` and `check` refuse them."
)


def run_conflicts(chosen: argparse.Namespace) -> int:
    """Print the fields of a feed or a dataset, those of the most records first."""
    name, slash, dataset = chosen.what.partition("/")
    _, _, journal = feed_named(chosen, name)
    fold = journal.open_partial(of_dataset(encode_component(dataset) if slash else ""))
    directory = encode_component(dataset) if slash else ""
    known = sorted(fold.state.schemas)
    if directory and directory not in known:
        shown = ", ".join(known) or "none yet"
        raise UsageMistake(f"Feed {name!r} has no dataset {dataset!r}.", f"It has: {shown}.")
    ways = [each for each in fold.state.ways.values() if directory in ("", each.dataset)]
    found = [each for each in all_conflicts(ways) if not each.is_new][:MOST_SHOWN]
    samples = [sample_of(journal.store, _files(fold, each.dataset), each) for each in found]
    rows = [_row(each, sample) for each, sample in zip(found, samples, strict=True)]
    if chosen.output == "json":
        print_rows(rows, "json")
        return 0
    if not found:
        print(_nothing(sum(each.rest for each in ways)))
        return 0
    print_rows([{key: row[key] for key in row if key not in _ONLY_JSON} for row in rows], "text")
    for line in (*_causes(found), *_cures(found)):
        print(printable(line))
    return 0


def _nothing(rest: int) -> str:
    """What is said when no field is in conflict, while so many rows have a `_rest`."""
    if not rest:
        return "all values fit their columns"
    rows = "1 row has" if rest == 1 else f"{rest:,} rows have"
    return f"no field is in conflict; {rows} a `_rest` with fields that were new at the time"


def _files(fold: FeedFold, dataset: str) -> list[str]:
    """The visible files of a dataset."""
    live = fold.inventory.files_of(dataset) if fold.inventory is not None else {}
    return [
        final
        for final, file in sorted(live.items())
        if not is_pending(fold.state, file.number, dataset)
    ]


_ONLY_JSON = ("topic", "partition", "offset", "cause", "cure")


def _row(conflict: FieldConflict, sample: str | None) -> dict[str, object]:
    if sample is not None and len(sample) > LONGEST_SAMPLE:
        sample = sample[: LONGEST_SAMPLE - len(CUT)] + CUT
    return {
        "dataset": conflict.dataset,
        "field": conflict.path,
        "type": conflict.wanted or None,
        "found": ", ".join(conflict.found),
        "records": conflict.records,
        "first": f"{conflict.topic}/{conflict.partition}/{conflict.offset}",
        "sample": sample,
        "topic": conflict.topic,
        "partition": conflict.partition,
        "offset": conflict.offset,
        "cause": conflict.why,
        "cure": conflict.cure or None,
    }


def _causes(found: list[FieldConflict]) -> Iterator[str]:
    """Why fields have no column, a line per cause and dataset."""
    by_cause: dict[tuple[str, str], list[str]] = {}
    for each in found:
        if not each.wanted:
            by_cause.setdefault((each.dataset, each.why), []).append(each.path)
    for (dataset, why), paths in by_cause.items():
        more = f" and {len(paths) - FEW_FIELDS} more" if len(paths) > FEW_FIELDS else ""
        yield f"no column for {', '.join(paths[:FEW_FIELDS])}{more} of {dataset}: {why}"


def _cures(found: list[FieldConflict]) -> Iterator[str]:
    """The configuration that would give fields one column, and in which feed it can be used."""
    curable = [each for each in found if each.cure]
    yield from _types([each for each in curable if not each.wanted], LATER)
    yield from _types([each for each in curable if each.wanted], ELSEWHERE)


def _types(found: list[FieldConflict], remark: str) -> Iterator[str]:
    """The types by dataset: other datasets may do without. Nothing, if no field is given."""
    by_dataset: dict[str, list[FieldConflict]] = {}
    for each in found:
        by_dataset.setdefault(each.dataset, []).append(each)
    if not by_dataset:
        return
    yield "datasets:"
    for dataset, some in by_dataset.items():
        route = decode_component(dataset) or dataset
        yield f"  {_quoted(route)}: {{types: {{{', '.join(map(_pair, some))}}}}}"
    yield remark


def _pair(conflict: FieldConflict) -> str:
    return f"{_quoted(conflict.path)}: {conflict.cure}"


def _quoted(text: str) -> str:
    """A text as YAML and JSON write it, whatever it has."""
    return json.dumps(text, ensure_ascii=False)
