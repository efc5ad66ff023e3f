"""`penstock cost`: what feeds have cost. Reads only the lake; needs no running feed, no JVM."""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from penstock.cli.common import (
    chosen_feeds,
    configured,
    print_rows,
    reading_journal,
    surroundings,
)
from penstock.cli.output_streams import telling, unless_cut_off
from penstock.cli.pricing import pricing
from penstock.errors import PenstockError
from penstock.model.exit_codes import worst
from penstock.model.plural import number_of
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.status.cost_lines import (
    By,
    CostLine,
    Spending,
    cost_lines,
    spending,
    spending_since,
)

MB = 1_000_000
_NAMES: dict[By, tuple[str, ...]] = {
    "feed": ("feed",),
    "topic": ("feed", "topic"),
    "dataset": ("feed", "dataset"),
    "team": ("team",),
}


def run(chosen: argparse.Namespace) -> int:
    """Print a line per feed, topic, dataset or team. A feed that cannot be read stops no other."""
    spec = configured(chosen)
    feeds = chosen_feeds(spec, chosen.feeds)
    amount = pricing(spec.prices)
    codes: list[int] = []
    found = list(_spendings(spec, feeds, chosen.since, telling(codes)))
    lines = cost_lines(chosen.by, found, feeds, amount, spec.prices.currency)
    with unless_cut_off(codes):
        if chosen.output == "json":
            for line in lines:
                print(json.dumps(msgspec.to_builtins(line)))
        else:
            _print_text(chosen.by, lines, spec.prices.currency)
            for each in found:
                _print_unknown(each)
    return worst(codes)


def _spendings(
    spec: LakeSpec,
    feeds: Iterable[FeedSpec],
    since_s: float | None,
    tell: Callable[[str, PenstockError], None],
) -> Iterator[Spending]:
    for feed in feeds:
        try:
            journal = reading_journal(spec, feed.name)
            state = journal.open().state
            if since_s is None:
                yield spending(feed.name, state)
            else:
                search = EntrySearch(journal, state.number, surroundings().do_all)
                yield spending_since(feed.name, search, since_s)
        except PenstockError as error:
            tell(feed.name, error)


def _print_text(by: By, lines: Sequence[CostLine], currency: str) -> None:
    names = _NAMES[by]
    priced = any(line.amount is not None for line in lines)
    print_rows([_row(line, names, currency if priced else "") for line in lines], "text")
    if priced and len(lines) > 1:
        total = sum(line.amount or 0.0 for line in lines)
        print(f"total: {total:,.4f} {currency}")


def _row(line: CostLine, names: Sequence[str], currency: str) -> dict[str, object]:
    windows = {} if line.windows is None else {"windows": f"{line.windows:,}"}
    row: dict[str, object] = {
        **{name: getattr(line, name) for name in names},
        **windows,
        "records": _number(line.records),
        "task s": None if line.task_s is None else f"{line.task_s:,.1f}",
        "read MB": _megabytes(line.read_bytes),
        "written MB": _megabytes(line.written_bytes),
        "files": _number(line.files),
        "requests": _number(line.requests),
    }
    if currency:
        row[currency] = None if line.amount is None else f"{line.amount:,.4f}"
    return row


def _number(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"


def _megabytes(value: int | None) -> str | None:
    return None if value is None else f"{value / MB:,.1f}"


def _print_unknown(found: Spending) -> None:
    if found.unknown:
        windows = number_of(found.unknown, "window")
        print(f"{found.feed}: the cost of {windows} is unknown; they recorded none")
