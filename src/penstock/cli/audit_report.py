"""The receipt of an audit, for people and for programs."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from penstock.audit.receipt import (
    KAFKA_SIDE,
    Corrected,
    DeepReceipt,
    Difference,
    GivenUp,
    KafkaReceipt,
    Offsets,
    Pending,
    Receipt,
    Unchecked,
)
from penstock.cli.printable import printable
from penstock.model.plural import number_of

TOTALS = ("read", "written", "quarantined", "filtered", "empty", "given_up", "extra")
FATES = TOTALS[1:]
UNUSUAL = {"extra": "additional rows"}  # shown only if there are any
COLUMNS = 80
MARGIN = 11
MOST_DATASETS = 20
MOST_UNCHECKED = 20


def totals(receipt: Receipt) -> dict[str, int]:
    """The totals of all partitions."""
    return {name: sum(getattr(part, name) for part in receipt.partitions) for name in TOTALS}


def offsets_of(receipt: Receipt) -> int:
    """How many offsets are accounted for."""
    return sum(part.watermark - part.start for part in receipt.partitions)


def as_json(receipt: Receipt) -> dict[str, object]:
    """The receipt as one object."""
    found: dict[str, object] = msgspec.to_builtins(receipt)
    people = found.pop("given_up")
    sums = {"offsets": offsets_of(receipt), **totals(receipt)}
    return {"verdict": receipt.verdict, **found, **sums, "given_up_by": people}


def as_text(receipt: Receipt) -> Iterator[str]:
    """The receipt as text: lines with a label and a fact."""
    for about, words in facts(receipt):
        yield from wrapped(about, words)


def wrapped(about: str, words: str) -> list[str]:
    """One fact, wrapped to several lines; names are never broken."""
    return textwrap.wrap(
        printable(words),
        COLUMNS,
        initial_indent=about.ljust(MARGIN),
        subsequent_indent=" " * MARGIN,
        break_long_words=False,
        break_on_hyphens=False,
    )


def facts(receipt: Receipt) -> Iterator[tuple[str, str]]:
    """All facts of the receipt with their labels, in order."""
    yield "feed", receipt.feed
    is_broken = any(each.kind == "journal" for each in receipt.differences)
    holds = "the journal is damaged, see below" if is_broken else "the chain and the rules hold"
    entries = f"0..{receipt.entries - 1}" if receipt.entries else "none"
    yield "entries", f"{entries}, epoch {receipt.epoch}; {holds}"
    yield "windows", f"{receipt.windows:,}"
    for part in receipt.partitions:
        yield "partition", f"{part.topic}/{part.partition} {part.start}..{part.watermark}"
        yield "", fates({name: getattr(part, name) for name in FATES}, FATES)
        if receipt.deep is not None and part.datasets:
            yield "", f"to {counted(part.datasets)}"
    yield "total", fates(totals(receipt), TOTALS)
    if receipt.deep is not None and len(receipt.partitions) > 1 and receipt.datasets:
        yield "", f"to {counted(receipt.datasets)}"
    for given_up in receipt.given_up:
        yield "given up", given_up_words(given_up)
    for corrected in receipt.corrected:
        yield "corrected", corrected_words(corrected)
    if receipt.retired_rows:
        yield (
            "retired",
            f"{number_of(receipt.retired_rows, 'row')}, by entries that name their files",
        )
    yield "files", f"{receipt.files:,}, together {number_of(receipt.size_bytes, 'byte')}"
    for pending in receipt.pending:
        yield "pending", pending_words(pending)
    if receipt.deep is not None:
        yield from deep_facts(receipt.deep)
    for notice in receipt.notices:
        yield "notice", notice
    for difference in receipt.differences:
        yield from difference_facts(difference)
    yield "verdict", verdict_words(receipt)


def fates(counts: Mapping[str, int], names: Iterable[str]) -> str:
    """`written 3, quarantined 1, ...`."""
    told = [name for name in names if name not in UNUSUAL or counts[name]]
    return ", ".join(f"{UNUSUAL.get(n, n.replace('_', ' '))} {counts[n]:,}" for n in told)


def counted(datasets: Mapping[str, int]) -> str:
    """`click 400, order 392`: the largest datasets, and how many more there are."""
    largest = sorted(datasets.items(), key=lambda each: (-each[1], each[0]))
    words = ", ".join(f"{name} {rows:,}" for name, rows in largest[:MOST_DATASETS])
    more = len(largest) - MOST_DATASETS
    return f"{words} and {number_of(more, 'more dataset')}" if more > 0 else words


def given_up_words(each: GivenUp) -> str:
    """The text for offsets that were given up: by whom and why."""
    what = f"{number_of(each.offsets, 'offset')} of {each.range}, {each.kind} in entry {each.entry}"
    return f"{what} by {each.author}: {each.reason}"


def corrected_words(each: Corrected) -> str:
    """The text for records that were delivered with corrected contents: by whom and why."""
    what = f"{each.records:,} record{'' if each.records == 1 else 's'} corrected by {each.author}"
    return f"{what} in entry {each.entry}: {each.reason}"


def pending_words(each: Pending) -> str:
    """The text for a group that is not published yet."""
    files, rows = number_of(each.files, "file"), number_of(each.rows, "row")
    what = f"entry {each.entry}, {each.dataset}: {files}, {rows}"
    parked = f"; parked: {each.parked}" if each.parked else ""
    return f"{what} decided, not yet visible{parked}"


def deep_facts(deep: DeepReceipt) -> Iterator[tuple[str, str]]:
    """The facts about the files that were read, and about Kafka."""
    limits = [f"of dataset {deep.dataset}"] if deep.dataset else []
    limits += [f"decided since {deep.since}"] if deep.since else []
    only = f", only {' and '.join(limits)}" if limits else ""
    files, rows = number_of(deep.files, "file"), number_of(deep.rows, "row")
    what = f"{files}, {rows}, {number_of(deep.size_bytes, 'byte')}"
    yield "read", f"{what}, in {deep.seconds:.1f} s{only}"
    yield ("Kafka" if deep.kafka.source == KAFKA_SIDE else "source"), kafka_words(deep.kafka)
    if not deep.kafka.skipped:
        for each in deep.kafka.unchecked[:MOST_UNCHECKED]:
            yield "unchecked", unchecked_words(each)
        more = len(deep.kafka.unchecked) - MOST_UNCHECKED
        if more > 0:
            yield "unchecked", f"and {number_of(more, 'more range')}; --output json has all of them"


def kafka_words(kafka: KafkaReceipt) -> str:
    """The text for the comparison with Kafka."""
    if kafka.skipped:
        return f"not compared: {kafka.skipped}"
    left = sum(each.end - each.start for each in kafka.unchecked)
    agreed = f"{kafka.agreed:,} offset{' agrees' if kafka.agreed == 1 else 's agree'}"
    words = f"{number_of(kafka.records, 'record')} read again; {agreed}"
    return f"{words}; {left:,} could not be checked" if left else words


def unchecked_words(each: Unchecked) -> str:
    """The text for a range that could not be compared with Kafka, and why."""
    return f"{each.topic}/{each.partition} [{each.start}, {each.end}): {each.reason}"


def difference_facts(each: Difference) -> Iterator[tuple[str, str]]:
    """The facts of one difference: kind, file, finding, offsets, journal entry."""
    yield "DIFFERENT", each.kind.replace("_", " ")
    if each.file and each.file not in each.found:
        yield "", each.file
    yield "", each.found
    for offsets in each.offsets:
        yield "", offsets_words(offsets)
    ranges = ", ".join(map(str, each.ranges))
    if each.entry >= 0:
        yield "", f"entry {each.entry}{f', {ranges}' if ranges else ''}"
    elif ranges and ranges not in each.found:
        yield "", ranges


def offsets_words(each: Offsets) -> str:
    """`missing events/0: 17, [23, 26)`."""
    runs = [f"{a}" if b == a + 1 else f"[{a}, {b})" for a, b in each.runs]
    more = f" and {number_of(each.more_runs, 'more run')}" if each.more_runs else ""
    fate = each.fate.replace("_", " ")
    if each.among:
        fate = f"{fate}: at least {each.count:,}, among"
    return f"{fate} {each.topic}/{each.partition}: {', '.join(runs)}{more}"


def verdict_words(receipt: Receipt) -> str:
    """The verdict as text."""
    if receipt.differences:
        return f"different: {number_of(len(receipt.differences), 'difference')}, see above"
    if receipt.deep is not None:
        return deep_verdict(receipt, receipt.deep)
    if receipt.pending:
        return "ok: every offset is accounted for; some files are decided, not yet visible"
    return "ok: every offset is accounted for, and every file is in its place"


def deep_verdict(receipt: Receipt, deep: DeepReceipt) -> str:
    """The verdict of a deep audit: offsets, rows, Kafka."""
    rows = "every row read"
    if deep.dataset or deep.since:
        rows = f"{number_of(deep.rows, 'row')} read, as asked"
    parts = [f"{number_of(offsets_of(receipt), 'offset')}, every one accounted for", rows]
    if receipt.pending:
        parts.append("some files are decided, not yet visible")
    kafka = deep.kafka
    if kafka.skipped:
        parts.append(f"{kafka.source} not compared")
    elif kafka.unchecked:
        parts.append(f"{kafka.source} agrees with {kafka.agreed:,}, the rest could not be checked")
    else:
        parts.append(f"{kafka.source} agrees with all of it")
    return f"ok: {'; '.join(parts)}"
