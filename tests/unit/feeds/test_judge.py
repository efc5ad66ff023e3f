"""When a window stops because too much of it is broken: by feed, and by dataset."""

import pytest

from penstock.feeds.configured_rules import judge, stops
from penstock.feeds.errors import QuarantineTooFull, TooManyTypes
from penstock.model.broken_groups import BrokenGroup
from penstock.model.entries import Counts
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE, Content, ManifestFile, RecordSet
from penstock.model.ranges import OffsetSet
from penstock.model.record_position import Position
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec, QuarantineSpec
from penstock.model.staged import StagedHandle
from penstock.protocol.loop.prove import Findings, counts_by_dataset

HANDLE = StagedHandle("local", "s", "f", 1, "c")
STRICT = FeedSpec(
    name="events",
    quarantine=QuarantineSpec(max_ratio=0.5, min_records=10),
    datasets=(
        DatasetSpec("pay/ment", quarantine=QuarantineSpec(max_ratio=0.0, min_records=5)),
        DatasetSpec("click"),
    ),
)


def counts(read: int, quarantined: int) -> Counts:
    return Counts(read, read - quarantined, quarantined, 0)


def test_a_feed_stops_above_its_ratio_and_not_before_it_has_enough_records() -> None:
    judge(STRICT, Findings(counts(9, 9)))
    judge(STRICT, Findings(counts(10, 5)))
    with pytest.raises(QuarantineTooFull, match="6 of 10 records of the next window"):
        judge(STRICT, Findings(counts(10, 6), reasons={"NOT_JSON": 6}))


def test_where_records_become_several_rows_a_feed_is_judged_by_its_rows() -> None:
    """The parts must be of the same kind as the whole: what is quarantined are rows."""
    arrays = Counts(read=5, written=10, quarantined=10, extra=15)
    judge(STRICT, Findings(arrays))
    few = Counts(read=4, written=4, quarantined=5, extra=5)
    judge(STRICT, Findings(few))
    enough = Counts(read=4, written=4, quarantined=6, extra=6)
    with pytest.raises(QuarantineTooFull, match="6 of 10 rows of the next window"):
        judge(STRICT, Findings(enough))


def test_a_dataset_with_a_limit_of_its_own_stops_the_window_alone() -> None:
    few, enough = counts(4, 1), counts(5, 1)
    judge(STRICT, Findings(counts(100, 1), {"pay%2Fment": few}))
    judge(STRICT, Findings(counts(100, 1), {"pay%2Fment": counts(5, 0), "click": counts(50, 49)}))
    with pytest.raises(QuarantineTooFull, match="1 of 5 records of dataset 'pay/ment'"):
        judge(STRICT, Findings(counts(100, 1), {"pay%2Fment": enough}))


STOPPING = FeedSpec(
    name="events",
    decode=DecodeSpec("avro", incompatible="stop"),
    quarantine=QuarantineSpec(max_ratio=0.5, min_records=10),
    datasets=(
        DatasetSpec("pay/ment", quarantine=QuarantineSpec(max_ratio=0.0, min_records=5)),
        DatasetSpec("click", incompatible="quarantine"),
    ),
)


def test_a_dataset_stops_as_it_says_itself_and_else_as_its_feed_says() -> None:
    assert stops(STOPPING, "pay%2Fment")
    assert stops(STOPPING, "undeclared")
    assert not stops(STOPPING, "click")
    loose = FeedSpec(name="events", datasets=(DatasetSpec("click", incompatible="stop"),))
    assert stops(loose, "click")
    assert not stops(loose, "undeclared")


def test_records_that_stop_their_dataset_do_not_count_against_the_others() -> None:
    reasons = {"SCHEMA_INCOMPATIBLE": 8, "NOT_JSON": 1}
    datasets = {"pay%2Fment": counts(10, 8)}
    found = Findings(counts(11, 9), datasets, reasons, {"pay%2Fment": 8})
    judge(STOPPING, found)
    with pytest.raises(QuarantineTooFull, match="9 of 11 records of the next window"):
        judge(STRICT, found)
    one_more = Findings(counts(11, 9), {"pay%2Fment": counts(13, 9)}, reasons, {"pay%2Fment": 8})
    with pytest.raises(QuarantineTooFull, match="1 of 5 records of dataset 'pay/ment'"):
        judge(STOPPING, one_more)


def test_records_that_do_not_stop_their_dataset_count_as_any_broken_ones() -> None:
    found = Findings(counts(11, 9), {}, {"SCHEMA_INCOMPATIBLE": 9}, {"click": 9})
    with pytest.raises(QuarantineTooFull, match="SCHEMA_INCOMPATIBLE 9"):
        judge(STOPPING, found)


def test_of_reasons_only_those_are_told_that_were_judged() -> None:
    reasons = {"SCHEMA_INCOMPATIBLE": 10, "NOT_JSON": 10}
    found = Findings(counts(22, 20), {}, reasons, {"order": 10})
    with pytest.raises(QuarantineTooFull, match=r"10 of 12 .* \(NOT_JSON 10\)"):
        judge(STOPPING, found)


def test_records_are_counted_by_the_dataset_they_are_in_or_were_meant_for() -> None:
    def file(dataset: str, rows: int) -> ManifestFile:
        return ManifestFile(dataset, HANDLE, Evidence(rows, 0), ())

    def refused(dataset: str, *offsets: int) -> RecordSet:
        return RecordSet("t", "id", 0, dataset, OffsetSet.of(offsets))

    content = Content(
        files=(file("a", 3), file("a", 4), file("b", 1), file(QUARANTINE, 9)),
        quarantined=(refused("a", 1, 2), refused("c", 5), refused("", 7)),
    )
    assert counts_by_dataset(content) == {
        "a": Counts(9, 7, 2, 0),
        "b": Counts(1, 1, 0, 0),
        "c": Counts(1, 0, 1, 0),
    }


LOOSE = FeedSpec(name="events", quarantine=QuarantineSpec(max_ratio=0.05, min_records=1_000))


def test_a_first_window_of_which_nothing_can_be_delivered_is_judged_although_it_is_small() -> None:
    judge(LOOSE, Findings(counts(19, 19)), is_first=True)
    judge(LOOSE, Findings(counts(450, 449)), is_first=True)
    judge(LOOSE, Findings(counts(450, 450)))
    with pytest.raises(QuarantineTooFull, match="20 of 20 records") as caught:
        judge(LOOSE, Findings(counts(20, 20)), is_first=True)
    assert "fewer records than min_records (1000), because it is the first" in str(caught.value)


def test_what_is_filtered_does_not_make_an_all_broken_first_window_pass() -> None:
    found = Findings(Counts(read=450, written=0, quarantined=449, filtered=1))
    with pytest.raises(QuarantineTooFull):
        judge(LOOSE, found, is_first=True)


def test_a_feed_whose_records_may_all_be_broken_passes_its_first_window() -> None:
    any_ratio = FeedSpec(name="events", quarantine=QuarantineSpec(max_ratio=1.0))
    judge(any_ratio, Findings(counts(50, 50)), is_first=True)


def a_group(reason: str, *datasets: str, offset: int = 7) -> BrokenGroup:
    at = Position("t", 0, offset)
    return BrokenGroup("f" + reason, reason, datasets or ("",), 6, at, at)


def test_the_sentence_has_one_position_and_its_reason() -> None:
    found = Findings(counts(10, 6), reasons={"NOT_JSON": 6}, broken=(a_group("NOT_JSON"),))
    with pytest.raises(QuarantineTooFull, match="for example NOT_JSON at t/0/7") as caught:
        judge(STRICT, found)
    assert caught.value.broken == found.broken
    assert caught.value.reasons == {"NOT_JSON": 6}


def test_of_a_dataset_that_halts_its_own_groups_are_told() -> None:
    broken = (a_group("NOT_JSON"), a_group("WRONG_TYPE", "pay%2Fment", offset=9))
    reasons = {"NOT_JSON": 1, "WRONG_TYPE": 1}
    found = Findings(counts(100, 2), {"pay%2Fment": counts(5, 1)}, reasons, broken=broken)
    with pytest.raises(QuarantineTooFull, match="for example WRONG_TYPE at t/0/9") as caught:
        judge(STRICT, found)
    assert caught.value.broken == broken[1:]


def test_a_flood_of_types_is_told_with_the_limit_the_number_and_the_right_advice() -> None:
    feed = FeedSpec(name="events", max_new_types=1_000)
    found = Findings(counts(20_000, 10_000), reasons={"ROUTE_FLOOD": 10_000}, new_types=2_000)
    with pytest.raises(TooManyTypes) as caught:
        judge(feed, found)
    told = str(caught.value)
    assert "TOO_MANY_TYPES: 2,000 new types are in the next window of feed 'events'" in told
    assert "max_new_types allows 1,000" in told
    for advice in ("run again: every run learns as many more", "raise `max_new_types`", "an id"):
        assert advice in told
    assert "errors accept" not in told


def test_where_other_records_alone_would_halt_the_window_the_flood_is_not_the_cause() -> None:
    reasons = {"ROUTE_FLOOD": 5_000, "NOT_JSON": 5_000}
    found = Findings(counts(20_000, 10_000), reasons=reasons, new_types=2_000)
    with pytest.raises(QuarantineTooFull, match="NOT_JSON 5000, ROUTE_FLOOD 5000"):
        judge(FeedSpec(name="events"), found)
