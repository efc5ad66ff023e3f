"""`penstock audit`: proves what was delivered. Reads the lake; no Kafka, no JVM."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import msgspec

from penstock.audit.audit import audit
from penstock.audit.errors import AuditDifference
from penstock.audit.receipt import Difference, GivenUp, PartitionReceipt, Pending, Receipt
from penstock.cli.common import (
    chosen_feeds,
    configured,
    print_rows,
    reading_journal,
    with_config,
    with_output,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.printable import printable
from penstock.engine.run import worst
from penstock.errors import PenstockError
from penstock.model.spec import LakeSpec

PATIENCE_S = 1.0  # who waits longer than this is told how far it is
TOTALS = ("read", "written", "quarantined", "filtered", "empty", "given_up")


def add_to(commands: Any) -> None:
    """The words of this command."""
    command = commands.add_parser(
        "audit",
        help="prove what was delivered",
        description="Check the journal from its first entry, that every offset has exactly one "
        "fate, and that every file is there with the recorded size and no other. Prints a "
        "receipt per feed; exit code 4 if anything differs.",
        epilog="example: penstock audit events --output json",
    )
    command.add_argument("feeds", nargs="*", metavar="FEED")
    with_config(command)
    with_output(command)
    command.set_defaults(command=run)


def run(chosen: argparse.Namespace) -> int:
    """A receipt per feed; one that cannot be audited does not keep the others from it."""
    spec = configured(chosen)
    codes = []
    for feed in chosen_feeds(spec, chosen.feeds):
        try:
            audit_feed(spec, feed.name, chosen.output)
        except PenstockError as error:
            print(f"{feed.name}: {error}", file=sys.stderr)
            codes.append(error.exit_code)
    return worst(codes)


def audit_feed(spec: LakeSpec, feed: str, output: str) -> None:
    """Audit one feed and print its receipt; raises when something differs."""
    journal = reading_journal(spec, feed)
    ticker = Ticker(sys.stderr, time.monotonic)
    try:
        receipt = audit(journal, ticker)
    finally:
        ticker.close()
    if not receipt.entries:
        raise UsageMistake(f"Nothing was delivered by feed {feed!r} yet.", "Run `penstock run`.")
    if output == "json":
        print_rows([as_json(receipt)], "json")
    else:
        print("\n".join(as_text(receipt)))
    if receipt.differences:
        raise AuditDifference(feed, len(receipt.differences))


def totals(receipt: Receipt) -> dict[str, int]:
    """The fates of all partitions together."""
    return {name: sum(getattr(part, name) for part in receipt.partitions) for name in TOTALS}


def as_json(receipt: Receipt) -> dict[str, object]:
    """The receipt as one object: totals in front, lists behind."""
    found: dict[str, object] = msgspec.to_builtins(receipt)
    people = found.pop("given_up")
    return {"verdict": receipt.verdict, **found, **totals(receipt), "given_up_by": people}


def as_text(receipt: Receipt) -> Iterator[str]:
    """The receipt for people, one fact a line."""
    last = receipt.entries - 1
    yield f"feed       {receipt.feed}"
    yield f"entries    0..{last}, epoch {receipt.epoch}; the chain and the rules hold"
    yield f"windows    {receipt.windows}"
    for part in receipt.partitions:
        yield f"partition  {partition_line(part)}"
    sums = totals(receipt)
    yield "total      " + ", ".join(f"{name.replace('_', ' ')} {sums[name]}" for name in TOTALS)
    for given_up in receipt.given_up:
        yield f"given up   {given_up_line(given_up)}"
    if receipt.retired_rows:
        yield f"retired    {receipt.retired_rows} rows, by entries that name their files"
    yield f"files      {receipt.files}, {receipt.size_bytes} bytes"
    for pending in receipt.pending:
        yield f"pending    {pending_line(pending)}"
    for notice in receipt.notices:
        yield f"notice     {printable(notice)}"
    for difference in receipt.differences:
        yield f"DIFFERENT  {difference_line(difference)}"
    yield f"verdict    {verdict_line(receipt)}"


def partition_line(part: PartitionReceipt) -> str:
    """One partition: the range, and the fates of its offsets."""
    return (
        f"{printable(part.topic)}/{part.partition} {part.start}..{part.watermark}: "
        f"written {part.written}, quarantined {part.quarantined}, filtered {part.filtered}, "
        f"empty {part.empty}, given up {part.given_up}"
    )


def given_up_line(each: GivenUp) -> str:
    """What was given up, by whom and why."""
    what = f"{each.offsets} offsets of {printable(str(each.range))}, {each.kind} in entry"
    return f"{what} {each.entry} by {printable(each.author)}: {printable(each.reason)}"


def pending_line(each: Pending) -> str:
    """A group that waits to be published."""
    what = f"entry {each.entry}, {printable(each.dataset)}: {each.files} files, {each.rows} rows"
    parked = f"; parked: {printable(each.parked)}" if each.parked else ""
    return f"{what} decided, not yet visible{parked}"


def difference_line(each: Difference) -> str:
    """What differs, with the file's name, the entry and the offsets where there are any."""
    ranges = ", ".join(map(str, each.ranges))
    parts = [
        each.kind.replace("_", " "),
        each.file,
        each.found,
        f"entry {each.entry}" if each.entry >= 0 else "",
        f"offsets {ranges}" if ranges and ranges not in each.found else "",
    ]
    return printable("; ".join(part for part in parts if part))


def verdict_line(receipt: Receipt) -> str:
    """The last word."""
    if receipt.differences:
        return f"different: {len(receipt.differences)} differences, see above"
    if receipt.pending:
        return "ok: every offset has one fate; some of it is decided and not yet visible"
    return "ok: every offset has one fate, and every file is in its place"


class Ticker:
    """Tells how far an audit is: on a terminal only, and only those who have waited a while."""

    def __init__(self, out: TextIO, clock: Callable[[], float]) -> None:
        self._out = out
        self._clock = clock
        self._shows = out.isatty()
        self._next_s = clock() + PATIENCE_S
        self._shown = False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show one step, a few times a second at most."""
        if not self._shows or self._clock() < self._next_s:
            return
        self._next_s = self._clock() + 0.2
        self._shown = True
        self._out.write(f"\r\x1b[Kaudit: {what} {done} of {total}")
        self._out.flush()

    def close(self) -> None:
        """Leave the terminal on a clean line."""
        if self._shown:
            self._out.write("\r\x1b[K")
            self._out.flush()
