"""The deep audit of one feed: every byte and row of the lake, and what Kafka still has.

The caller decides how the work on files is distributed: over Spark tasks, or in this process. It
only reads, also while an owner runs: files are listed before the journal is read, and a file that
looks wrong is reported only if it is still live in a newer fold.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import msgspec

from penstock.audit.check_file import FileFinding, FileOrder, check_file
from penstock.audit.corrections import correction_differences
from penstock.audit.errors import DatasetUnknown
from penstock.audit.explain import explain_area
from penstock.audit.file_findings import file_difference
from penstock.audit.kafka_compare import Comparison, KafkaSide, compare
from penstock.audit.lake_files import (
    file_differences,
    foreign_files,
    odd_differences,
)
from penstock.audit.ledger import Ledger, Progress, read_ledger
from penstock.audit.range_rows import range_differences
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
from penstock.datapath.formats.formats_by_ending import (
    format_of_file,
    format_of_recorded_file,
)
from penstock.errors import StoreUnavailable
from penstock.evidence.position_columns import records_evidence
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, is_pending
from penstock.runtime.parallel import ParallelMap

MOST_FOREIGN = 100  # how many foreign files are read; all of them are named


class DeepSpec(Value, frozen=True):
    """The limits of an audit: files and ranges decided since a time, or one dataset."""

    since_s: float | None = None
    dataset: str = ""

    @property
    def since(self) -> str:
        """The time as text; empty without a limit."""
        if self.since_s is None:
            return ""
        return datetime.fromtimestamp(self.since_s, UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class DeepTools:
    """The tools of a deep audit. Without `kafka` nothing is compared with Kafka."""

    parallel: ParallelMap
    kafka: KafkaSide | None
    tick: Callable[[], float]
    progress: Progress = lambda _what, _done, _of: None


def deep_audit(journal: FeedJournal, spec: DeepSpec, tools: DeepTools) -> Receipt:
    """Compare a feed's journal with itself, with the rows of every file, and with Kafka."""
    began = tools.tick()
    sight = look(journal, tools.progress, keeps_reading=True)
    opened = sight.opened
    if not opened.is_whole or opened.state.is_new:
        return receipt_of(journal, opened, damage_of(sight))
    check_dataset(journal.layout.feed, opened.ledger, spec.dataset)
    orders = chosen_files(journal, sight, spec)
    findings = tools.parallel(
        "files", partial(check_file, journal.store), orders, lambda order: order.size_bytes
    )
    compared = compare_kafka(sight, spec, tools)
    found = [
        *journal_differences(journal, sight),
        *rows_differences(journal, sight, orders, findings, tools),
        *range_differences(opened.ledger, orders, findings),
        *other_files(journal, sight, orders, tools.progress),
        *lost_files(journal, opened.state, sight.odd),
        *odd_differences(opened.ledger, sight.odd),
        *strangers(journal, sight),
        *correction_differences(journal.store, opened.ledger, deep=True),
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
    """Raise if the feed never delivered to the dataset."""
    known = {live.dataset for live in ledger.files.values()}
    known |= {name for coverage in ledger.coverage.values() for name in coverage.datasets}
    known |= ledger.gathered.keys()
    if dataset and dataset not in known:
        raise DatasetUnknown(feed, dataset, known)


def is_since(ledger: Ledger, number: int, spec: DeepSpec) -> bool:
    """True for entries that were decided at or after the given time."""
    if spec.since_s is None:
        return True
    try:
        return datetime.fromisoformat(ledger.decided[number]).timestamp() >= spec.since_s
    except ValueError:
        return True  # an entry with an unreadable time is not left out


def chosen_files(journal: FeedJournal, sight: Sight, spec: DeepSpec) -> list[FileOrder]:
    """The live files to read, including visible files of pending groups.

    A lost or forged done marker must not prevent a check.
    """
    ledger = sight.opened.ledger
    return [
        order
        for order in orders_of(journal.layout.feed, sight)
        if is_since(ledger, order.number, spec) and spec.dataset in ("", order.dataset)
    ]


def orders_of(feed: str, sight: Sight) -> Iterator[FileOrder]:
    """The work orders for live files, from the journal. Raises `PluginError`."""
    ledger, files = sight.opened.ledger, sight.opened.state.files
    for final, live in sorted(ledger.files.items()):
        recorded = ledger.recorded[final]
        yield FileOrder(
            final=final,
            format=format_of_recorded_file(final, files),
            number=live.number,
            dataset=live.dataset,
            feed=feed,
            window=recorded.window,
            size_bytes=recorded.size_bytes,
            checksum=recorded.checksum,
            evidence=live.evidence,
            ranges=recorded.ranges,
            instead=sight.odd.at(final),
        )


def rows_differences(
    journal: FeedJournal,
    sight: Sight,
    orders: list[FileOrder],
    findings: list[FileFinding],
    tools: DeepTools,
) -> Iterator[Difference]:
    """Differences for changed files, with the offsets that are missing or additional."""
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
        told = explained(journal, list(orders_of(feed, sight)), ledger, wrong, tools)
        owners = by_checksum(ledger)
        for offsets in told.together:
            yield Difference("offsets", "missing from the files below, as a group", offsets=offsets)
        for order in suspects:
            seen, twin = by_name[order.final], owners.get(by_name[order.final].checksum, "")
            why_not = told.left_out.get(order.final, "")
            yield file_difference(order, seen, told.offsets.get(order.final, ()), twin, why_not)
    yield from refused_differences(sight.opened.ledger, orders, by_name)


def is_awaited(state: FeedState, order: FileOrder, seen: FileFinding) -> bool:
    """True for a file that need not be visible yet; `lost_files` checks it."""
    return seen.is_gone and not order.instead and is_pending(state, order.number, order.dataset)


@dataclass(frozen=True, slots=True)
class Explained:
    """The offsets of files with wrong rows; `together`, those of several files as a group.

    `left_out` has the files whose offsets were not worked out, and why.
    """

    offsets: dict[str, tuple[Offsets, ...]]
    together: list[tuple[Offsets, ...]]
    left_out: dict[str, str]


def explained(
    journal: FeedJournal, files: list[FileOrder], ledger: Ledger, wrong: set[str], tools: DeepTools
) -> Explained:
    """Work out what happened to the rows of the files that are wrong."""
    areas = areas_of(files, (seen for _, seen in ledger.reads), ledger.replayed, wrong)
    work = partial(explain_area, journal.store)
    found = Explained({}, [], areas.left_out)
    for answer in tools.parallel("offsets", work, areas.orders, lambda area: area.size_bytes):
        for each in answer:
            if each.final:
                found.offsets[each.final] = each.offsets
            else:
                found.together.append(each.offsets)
    return found


def by_checksum(ledger: Ledger) -> dict[str, str]:
    """The live files by their recorded checksum."""
    return {known.checksum: final for final, known in ledger.recorded.items()}


def refused_differences(
    ledger: Ledger, orders: list[FileOrder], findings: dict[str, FileFinding]
) -> Iterator[Difference]:
    """Differences between the quarantine's records and those that each window names, by dataset.

    Changed files are reported elsewhere; their windows are skipped here.
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
    journal: FeedJournal, sight: Sight, orders: list[FileOrder], progress: Progress
) -> Iterator[Difference]:
    """Differences for files outside the limits: they must be there, with their size."""
    read = {order.final for order in orders}
    opened = sight.opened
    if len(read) == len(opened.ledger.files):
        return
    found = file_differences(journal, opened, sight.listed, sight.odd, progress)
    suspects = [each for each in found if each.file not in read]
    if suspects:
        yield from still_live(journal, opened.ledger, suspects)


def strangers(journal: FeedJournal, sight: Sight) -> Iterator[Difference]:
    """Differences for foreign files; the first ones are compared with what was written."""
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
    """Compare the audited windows with Kafka."""
    ledger = sight.opened.ledger
    if spec.dataset:
        return Comparison(skipped="the audit was limited to one dataset")
    if tools.kafka is None:
        return Comparison(skipped="Kafka was not available to this audit")
    reads = [(number, seen) for number, seen in ledger.reads if is_since(ledger, number, spec)]
    return compare(tools.kafka, sight.opened.state.cluster_id, reads)
