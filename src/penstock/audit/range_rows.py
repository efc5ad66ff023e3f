"""Compares the rows that files hold of each range with what was read of it. Pure.

An entry proves the files of a file group together. Whoever has read the files knows which rows are
of which partition, and so can prove every range by itself.
"""

from collections import Counter
from collections.abc import Iterator

from penstock.audit.check_file import FileFinding, FileOrder
from penstock.audit.ledger import Ledger
from penstock.audit.receipt import Difference
from penstock.model.evidence import Evidence, RangeEvidence
from penstock.model.manifest import QUARANTINE

_Place = tuple[str, int]


def range_differences(
    ledger: Ledger, orders: list[FileOrder], findings: list[FileFinding]
) -> Iterator[Difference]:
    """The ranges of which the files of their window hold other rows than were read.

    Only where every file that the window wrote was read and is as recorded: other files are
    reported elsewhere, and the rows of rewritten ones belong to several windows.
    """
    by_name = {finding.final: finding for finding in findings}
    rows: dict[int, dict[_Place, Evidence]] = {}
    counts: Counter[int] = Counter()
    for order in orders:
        seen = by_name[order.final]
        if order.dataset == QUARANTINE or not order.window or not seen.is_as(order):
            continue
        counts[order.number] += seen.rows.count
        mine = rows.setdefault(order.number, {})
        for each in seen.places:
            place = (each.topic, each.partition)
            mine[place] = mine.get(place, Evidence()) + each.rows
    written: Counter[int] = Counter()
    for number, read in ledger.reads:
        written[number] += read.written
    for number, read in ledger.reads:
        if counts[number] == written[number] and number in rows:
            yield from _difference(number, read, rows[number])


def _difference(
    number: int, read: RangeEvidence, rows: dict[_Place, Evidence]
) -> Iterator[Difference]:
    found = rows.get((read.range.topic, read.range.partition), Evidence())
    if found + read.filtered + read.quarantined != read.all_rows:
        words = (
            f"{read.range}: {read.written} rows were written, and the files of its window hold "
            f"{found.count} of it, or others"
        )
        yield Difference("offsets", words, ranges=(read.range,), entry=number)
