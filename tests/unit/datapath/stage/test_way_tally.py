"""Which values did not fit: counted of the records that become rows, with a position of one."""

import msgspec

from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.read_ways import Conflict
from penstock.model.spec import DecodeSpec, FeedSpec
from tests.helpers.shredding import BY_TYPE, TOPIC, an_event, learned, shred

KNOWN = learned(an_event("order", id=1, n=1))


def conflicts(feed: FeedSpec, *events: bytes) -> tuple[int, tuple[Conflict, ...]]:
    """Rows with a `_rest`, and the conflicts."""
    [ways] = shred(feed, events, KNOWN, file_schemas=KNOWN if feed.convert else {}).report.ways
    return ways.rest, ways.conflicts


def test_quarantined_records_are_not_counted_as_conflicts() -> None:
    """Goal: as many records are told as rows have a `_rest`, and the first of them is one."""
    events = [
        an_event("order", id=f"C-{number}", at=None if number % 2 else "never")
        if number < 2 or number % 2
        else an_event("order", id=f"C-{number}")
        for number in range(8)
    ]
    wanted = (3, (Conflict("id", "int64", "string", 3, TOPIC, 0, 2),))
    assert conflicts(BY_TYPE, *events) == wanted


def test_a_window_without_one_row_has_no_conflict() -> None:
    assert conflicts(BY_TYPE, an_event("order", id="C-1", at="never")) == (0, ())


def test_filtered_records_are_not_counted_as_conflicts() -> None:
    step = ConvertSpec("filter", conditions=(Condition("n", least=5),))
    feed: FeedSpec = msgspec.structs.replace(BY_TYPE, convert=(step,))
    events = [an_event("order", id=f"C-{number}", n=number) for number in range(8)]
    assert conflicts(feed, *events) == (3, (Conflict("id", "int64", "string", 3, TOPIC, 0, 5),))


def rows_of(feed: FeedSpec, *events: bytes) -> tuple[int, int]:
    """Rows with a `_rest`, and all rows."""
    [ways] = shred(feed, events, KNOWN).report.ways
    return ways.rest, ways.rows


def test_rows_are_counted_and_not_the_records_that_went_to_the_quarantine() -> None:
    kept = [an_event("order", id=f"C-{number}") for number in range(3)]
    broken = [an_event("order", id="C-9", at="never") for _ in range(2)]
    assert rows_of(BY_TYPE, *kept, *broken, an_event("order", id=7)) == (3, 4)


def test_every_row_of_a_record_with_several_is_counted() -> None:
    spread = msgspec.structs.replace(BY_TYPE, decode=DecodeSpec(spread=True))
    bad = an_event("order", id="C-1")
    good = an_event("order", id=7)
    several = b"[" + b",".join([bad, good, bad]) + b"]"
    assert rows_of(spread, several, good) == (2, 4)
