"""docs/audit.md names every field of the receipt, every kind of difference and every fate."""

import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from penstock.audit.receipt import (
    DeepReceipt,
    Difference,
    DifferenceKind,
    Fate,
    GivenUp,
    GivenUpKind,
    KafkaReceipt,
    Offsets,
    PartitionReceipt,
    Pending,
    Receipt,
    Unchecked,
)
from penstock.cli.audit_report import as_json
from penstock.model.ranges import OffsetRange

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text()
JSON = PAGE.partition("## The receipt as JSON\n")[2]
TICKED = re.compile(r"`([a-z_.]+)`")
DEEP = DeepReceipt(files=0, rows=0, size_bytes=0, seconds=0.0, kafka=KafkaReceipt())
RECEIPT = Receipt(
    feed="f",
    entries=1,
    epoch=1,
    windows=0,
    partitions=(),
    given_up=(),
    files=0,
    size_bytes=0,
    retired_rows=0,
    pending=(),
    differences=(),
    deep=DEEP,
)


def rows(text: str) -> dict[str, str]:
    """The fields of the first table in a text, each with what is said about it."""
    found: dict[str, str] = {}
    table = re.search(r"\| field \|.*?\n\|-.*?\n((?:\|.*\n?)+)", text)
    assert table is not None
    for line in table[1].splitlines():
        names, _, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        found.update(dict.fromkeys(TICKED.findall(names), meaning))
    return found


def fields(kind: type[msgspec.Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(kind)}


TOP = rows(JSON)
DIFFERENCES = rows(JSON.partition("**`differences`**")[2])
OF_DEEP = rows(JSON.partition("**`deep`**")[2])


def test_the_receipt_has_the_fields_of_the_page_and_no_others() -> None:
    assert set(TOP) == set(as_json(RECEIPT))


def test_a_difference_has_the_fields_of_the_page_and_no_others() -> None:
    assert set(DIFFERENCES) == fields(Difference)
    assert set(TICKED.findall(DIFFERENCES["kind"])) == set(get_args(DifferenceKind))


def test_the_deep_part_has_the_fields_of_the_page_and_no_others() -> None:
    kafka = {f"kafka.{name}" for name in fields(KafkaReceipt)}
    assert set(OF_DEEP) == fields(DeepReceipt) - {"kafka"} | kafka


def test_a_partition_and_a_range_have_the_fields_of_the_page_and_no_others() -> None:
    said = JSON.partition("**`partitions`**:")[2].partition("\n\n")[0]
    assert set(TICKED.findall(said)) == fields(PartitionReceipt)
    said = JSON.partition("A range is an object with ")[2].partition(";")[0]
    assert set(TICKED.findall(said)) == fields(OffsetRange)


@pytest.mark.parametrize(
    ("words", "kind", "more"),
    [
        (TOP["pending"], Pending, ()),
        (TOP["given_up_by"], GivenUp, get_args(GivenUpKind)),
        (DIFFERENCES["offsets"], Offsets, get_args(Fate)),
        (OF_DEEP["kafka.unchecked"], Unchecked, ()),
    ],
)
def test_what_lists_hold_has_the_fields_of_the_page_and_no_others(
    words: str, kind: type[msgspec.Struct], more: tuple[str, ...]
) -> None:
    assert set(TICKED.findall(words)) == fields(kind) | set(more)
