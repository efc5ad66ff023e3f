"""Which values did not fit: counted of the records that become rows, with a position of one."""

import msgspec

from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.read_ways import Conflict
from penstock.model.spec import FeedSpec
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
