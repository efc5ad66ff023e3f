"""`penstock audit`: prove what was delivered. Without `--deep` it needs no Kafka and no JVM."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

from penstock.api.later import Later
from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.errors import AuditDifference
from penstock.audit.receipt import Receipt
from penstock.audit.shallow import audit
from penstock.cli.audit_progress import Ticker
from penstock.cli.audit_report import as_json, as_text
from penstock.cli.common import (
    chosen_feeds,
    configured,
    print_rows,
    reading_journal,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.output_streams import telling, unless_cut_off
from penstock.errors import PenstockError
from penstock.model.exit_codes import worst
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal

# Only --deep needs Spark.
opened_tools: Callable[[LakeSpec, Ticker], AbstractContextManager[Callable[[str], DeepTools]]] = (
    Later("penstock.cli.deep_tools:opened_tools")
)


def run(chosen: argparse.Namespace) -> int:
    """Print a receipt per feed. A feed that cannot be audited does not stop the others."""
    if not chosen.deep and (chosen.since is not None or chosen.dataset):
        raise UsageMistake(
            "--since and --dataset limit which files are read, and only --deep reads files.",
            "Nothing was checked. Add --deep.",
        )
    spec = configured(chosen)
    ticker = Ticker(sys.stderr, time.monotonic)
    what = DeepSpec(chosen.since, chosen.dataset)
    codes: list[int] = []
    tell = telling(codes)
    journals = list(readable_journals(spec, chosen_feeds(spec, chosen.feeds), tell))
    is_deep = chosen.deep and journals  # without a journal there is no need for Spark
    with opened_tools(spec, ticker) if is_deep else nullcontext() as tools_of:
        for journal in journals:
            try:
                tools = None if tools_of is None else tools_of(journal.layout.feed)
                found = receipt(journal, what, tools, ticker)
                with unless_cut_off(codes):
                    show(found, chosen.output)
                judge(found)
            except PenstockError as error:
                tell(journal.layout.feed, error)
    return worst(codes)


def readable_journals(
    spec: LakeSpec, feeds: Iterable[FeedSpec], tell: Callable[[str, PenstockError], None]
) -> Iterator[FeedJournal]:
    """The journals of these feeds. A feed without one is reported."""
    for feed in feeds:
        try:
            yield reading_journal(spec, feed.name)
        except PenstockError as error:
            tell(feed.name, error)


def receipt(
    journal: FeedJournal, what: DeepSpec, tools: DeepTools | None, ticker: Ticker
) -> Receipt:
    """Run the shallow or the deep audit."""
    try:
        return audit(journal, ticker) if tools is None else deep_audit(journal, what, tools)
    finally:
        ticker.close()


def show(found: Receipt, output: str) -> None:
    """Print a receipt, unless it is empty."""
    if is_empty(found):
        return
    if output == "json":
        print_rows([as_json(found)], "json")
    else:
        print("\n".join(as_text(found)))


def judge(found: Receipt) -> None:
    """Raise when something differs, also when the receipt could not be printed."""
    feed = found.feed
    if is_empty(found):
        raise UsageMistake(
            f"Nothing was delivered by feed {feed!r} yet.", "Run `penstock run` first."
        )
    if found.differences:
        raise AuditDifference(feed, len(found.differences))


def is_empty(found: Receipt) -> bool:
    """True if there was nothing to audit."""
    return not found.entries and not found.differences
