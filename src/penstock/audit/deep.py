"""The deep audit of one feed: every byte and row of the lake, and Kafka as far as it reaches back.

The work on files is spread by whoever runs it, over Spark tasks or over nothing at all. Reads
only, also beside a live owner: files are listed before the journal is read, and whatever looks
wrong must still be live in a newer fold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import msgspec

from penstock.audit.check_file import FileFinding, FileOrder, check_file
from penstock.audit.errors import DatasetUnknown
from penstock.audit.explain import explain_area
from penstock.audit.file_findings import file_difference
from penstock.audit.kafka_compare import Comparison, KafkaSide, compare
from penstock.audit.lake_files import (
    Odd,
    file_differences,
    foreign_files,
    is_pending,
    odd_differences,
)
from penstock.audit.ledger import Ledger, Progress, read_ledger
from penstock.audit.receipt import DeepReceipt, Difference, Offsets, Receipt
from penstock.audit.shallow import (
    Sight,
    damage_of,
    is_same,
    journal_differences,
    look,
    receipt_of,
    still_live,
)
from penstock.audit.suspect_areas import areas_of
from penstock.audit.waiting import lost_files
from penstock.datapath.formats.formats_by_ending import format_of_file
from penstock.errors import StoreUnavailable
from penstock.evidence.position_columns import records_evidence
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE
from penstock.model.value import Value
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.state import JournalState
from penstock.runtime.parallel import ParallelMap

MOST_FOREIGN = 100  # how many foreign files are looked into; all of them are named


class DeepSpec(Value, frozen=True):
    """What to look at: files and ranges decided since a time, or the files of one dataset."""

    since_s: float | None = None
    dataset: str = ""

    @property
    def since(self) -> str:
        """The time for people; empty for always."""
        if self.since_s is None:
            return ""
        return datetime.fromtimestamp(self.since_s, UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class DeepTools:
    """What a deep audit is given. Without `kafka` nothing is compared with it."""

    spread: ParallelMap
    kafka: KafkaSide | None
    tick: Callable[[], float]
    progress: Progress = lambda _what, _done, _of: None


def deep_audit(journal: Journal, spec: DeepSpec, tools: DeepTools) -> Receipt:
    """Hold a feed's journal against itself, every file's rows, and Kafka."""
    began = tools.tick()
    sight = look(journal, tools.progress, keeps_reading=True)
    opened = sight.opened
    if not opened.is_whole or opened.state.is_new:
        return receipt_of(journal, opened, damage_of(sight))
    check_dataset(journal.layout.feed, opened.ledger, spec.dataset)
    orders = chosen_files(journal, sight, spec)
    findings = tools.spread(
        "files", partial(check_file, journal.store), orders, lambda order: order.size_bytes
    )
    compared = compare_kafka(sight, spec, tools)
    found = [
        *journal_differences(journal, sight),
        *rows_differences(journal, sight, orders, findings, tools),
        *other_files(journal, sight, orders, tools.progress),
        *lost_files(journal, opened.state, sight.odd),
        *odd_differences(opened.ledger, sight.odd),
        *strangers(journal, sight),
        *compared.differences,
    ]
    deep = DeepReceipt(
        files=sum(not each.is_gone for each in findings),
        rows=sum(each.rows.count for each in findings),
        size_bytes=sum(max(each.size_bytes, 0) for each in findings),
        seconds=round(tools.tick() - began, 3),
        kafka=compared.receipt(),
        since=spec.since,
        dataset=spec.dataset,
    )
    return msgspec.structs.replace(receipt_of(journal, opened, found), deep=deep)


def check_dataset(feed: str, ledger: Ledger, dataset: str) -> None:
    """Only what was delivered to can be looked at."""
    known = {live.dataset for live in ledger.files.values()}
    known |= {name for coverage in ledger.coverage.values() for name in coverage.datasets}
    if dataset and dataset not in known:
        raise DatasetUnknown(feed, dataset, known)


def is_since(ledger: Ledger, number: int, spec: DeepSpec) -> bool:
    """True for entries that were decided at or after the time asked for."""
    if spec.since_s is None:
        return True
    try:
        return datetime.fromisoformat(ledger.decided[number]).timestamp() >= spec.since_s
    except ValueError:
        return True  # a time that nobody can read leaves nothing out


def chosen_files(journal: Journal, sight: Sight, spec: DeepSpec) -> list[FileOrder]:
    """The live files that are to be read; those of pending groups too, as far as they are there.

    A done marker that is lost or forged must not keep anybody from looking.
    """
    ledger = sight.opened.ledger
    return [
        order
        for order in orders_of(journal.layout.feed, ledger, sight.odd)
        if is_since(ledger, order.number, spec) and spec.dataset in ("", order.dataset)
    ]


def orders_of(feed: str, ledger: Ledger, odd: Odd) -> Iterator[FileOrder]:
    """Every live file as the journal describes it."""
    for final, live in sorted(ledger.files.items()):
        recorded = ledger.recorded[final]
        yield FileOrder(
            final=final,
            format=format_of_file(final),
            number=live.number,
            dataset=live.dataset,
            feed=feed,
            window=recorded.window,
            size_bytes=recorded.size_bytes,
            checksum=recorded.checksum,
            evidence=live.evidence,
            ranges=recorded.ranges,
            instead=odd.at(final),
        )


def rows_differences(
    journal: Journal,
    sight: Sight,
    orders: list[FileOrder],
    findings: list[FileFinding],
    tools: DeepTools,
) -> Iterator[Difference]:
    """Files that are not what was written, with the offsets that are missing or too many."""
    by_name = {finding.final: finding for finding in findings}
    for finding in findings:
        if finding.unanswered:
            raise StoreUnavailable("read", finding.final, finding.unanswered)
    suspects = [
        order
        for order in orders
        if not by_name[order.final].is_as(order)
        and not is_awaited(sight.opened.state, order, by_name[order.final])
    ]
    if suspects:
        now = read_ledger(journal, keeps_reading=True)
        feed, before = journal.layout.feed, sight.opened.ledger
        ledger = now.ledger if now.is_whole else before
        suspects = [order for order in suspects if is_same(before, ledger, order.final)]
        wrong = {o.final for o in suspects if not by_name[o.final].has_rows_of(o)}
        told = explained(journal, list(orders_of(feed, ledger, sight.odd)), ledger, wrong, tools)
        owners = by_checksum(ledger)
        for offsets in told.together:
            yield Difference("offsets", "missing from the files below together", offsets=offsets)
        for order in suspects:
            seen, twin = by_name[order.final], owners.get(by_name[order.final].checksum, "")
            why_not = told.left_out.get(order.final, "")
            yield file_difference(order, seen, told.offsets.get(order.final, ()), twin, why_not)
    yield from refused_differences(sight.opened.ledger, orders, by_name)


def is_awaited(state: JournalState, order: FileOrder, seen: FileFinding) -> bool:
    """True for a file that is not visible and need not be yet; `lost_files` looks for it."""
    return seen.is_gone and not order.instead and is_pending(state, order.number, order.dataset)


@dataclass(frozen=True, slots=True)
class Explained:
    """The offsets of files whose rows are wrong; `together`, those of several files.

    `left_out` says of which files they were not worked out, and why.
    """

    offsets: dict[str, tuple[Offsets, ...]]
    together: list[tuple[Offsets, ...]]
    left_out: dict[str, str]


def explained(
    journal: Journal, files: list[FileOrder], ledger: Ledger, wrong: set[str], tools: DeepTools
) -> Explained:
    """Work out what happened to the rows of the files that are wrong."""
    areas = areas_of(files, (seen for _, seen in ledger.reads), ledger.replayed, wrong)
    work = partial(explain_area, journal.store)
    found = Explained({}, [], areas.left_out)
    for answer in tools.spread("offsets", work, areas.orders, lambda area: area.size_bytes):
        for each in answer:
            if each.final:
                found.offsets[each.final] = each.offsets
            else:
                found.together.append(each.offsets)
    return found


def by_checksum(ledger: Ledger) -> dict[str, str]:
    """The live files by the contents they were written with."""
    return {known.checksum: final for final, known in ledger.recorded.items()}


def refused_differences(
    ledger: Ledger, orders: list[FileOrder], findings: dict[str, FileFinding]
) -> Iterator[Difference]:
    """The quarantine holds the records that each window names, by the dataset they were for.

    Files that are not as recorded were told already; their windows are passed over here.
    """
    files: dict[int, list[FileOrder]] = {}
    for order in orders:
        if order.dataset == QUARANTINE and order.window:
            files.setdefault(order.number, []).append(order)
    for number, mine in sorted(files.items()):
        if not all(findings[order.final].is_as(order) for order in mine):
            continue
        found: dict[str, Evidence] = {}
        for order in mine:
            seen = findings[order.final]
            name = seen.datasets[0] if len(seen.datasets) == 1 else "several datasets"
            found[name] = found.get(name, Evidence()) + seen.rows
        named = ledger.refused.get(number, ())
        for name in sorted({part.dataset for part in named} | set(found)):
            wanted = records_evidence(part for part in named if part.dataset == name)
            here = found.get(name, Evidence())
            if here != wanted:
                words = (
                    f"its window names {wanted.count} records for dataset {name or 'unknown'}, and "
                    f"the quarantine has {here.count}, or others"
                )
                yield Difference("file_rows", words, mine[0].final, mine[0].ranges, number)


def other_files(
    journal: Journal, sight: Sight, orders: list[FileOrder], progress: Progress
) -> Iterator[Difference]:
    """Files that were not to be read must at least be there, with their size."""
    read = {order.final for order in orders}
    opened = sight.opened
    if len(read) == len(opened.ledger.files):
        return
    suspects = [
        each
        for each in file_differences(journal, opened.state, opened.ledger, sight.odd, progress)
        if each.file not in read
    ]
    if suspects:
        yield from still_live(journal, opened.ledger, suspects)


def strangers(journal: Journal, sight: Sight) -> Iterator[Difference]:
    """Foreign files; and of the first ones, whether they are copies of what was written."""
    opened = sight.opened
    owners = by_checksum(opened.ledger)
    found = foreign_files(journal, opened.state, opened.ledger, sight.listed)
    for number, each in enumerate(found):
        if number >= MOST_FOREIGN:
            yield each
            continue
        seen = check_file(
            journal.store, FileOrder(final=each.file, format=format_of_file(each.file))
        )
        twin = owners.get(seen.checksum)
        words = f"{each.found}; it has the contents of {twin}" if twin else each.found
        yield msgspec.structs.replace(each, found=words)


def compare_kafka(sight: Sight, spec: DeepSpec, tools: DeepTools) -> Comparison:
    """Kafka, for the windows that are looked at."""
    ledger = sight.opened.ledger
    if spec.dataset:
        return Comparison(skipped="only one dataset was asked for")
    if tools.kafka is None:
        return Comparison(skipped="it was not asked")
    reads = [(number, seen) for number, seen in ledger.reads if is_since(ledger, number, spec)]
    return compare(tools.kafka, sight.opened.state.cluster_id, reads)
