"""When a window stops because too much of it is broken: by feed, and by dataset."""

import pytest

from penstock.engine.errors import QuarantineTooFull, SchemasIncompatible
from penstock.engine.feed import judge
from penstock.engine.prove import counts_by_dataset
from penstock.model.entries import Counts
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE, Content, ManifestFile, RecordSet
from penstock.model.ranges import OffsetSet
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec, QuarantineSpec
from penstock.model.staged import StagedHandle

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
    judge(STRICT, counts(9, 9), {}, {})
    judge(STRICT, counts(10, 5), {}, {})
    with pytest.raises(QuarantineTooFull, match="6 of 10 records of the next window"):
        judge(STRICT, counts(10, 6), {"NOT_JSON": 6}, {})


def test_where_records_become_several_rows_a_feed_is_judged_by_its_rows() -> None:
    """The parts must be of the same kind as the whole: what is quarantined are rows."""
    arrays = Counts(read=5, written=10, quarantined=10, extra=15)
    judge(STRICT, arrays, {}, {})
    few = Counts(read=4, written=4, quarantined=5, extra=5)
    judge(STRICT, few, {}, {})
    enough = Counts(read=4, written=4, quarantined=6, extra=6)
    with pytest.raises(QuarantineTooFull, match="6 of 10 rows of the next window"):
        judge(STRICT, enough, {}, {})


def test_a_dataset_with_a_limit_of_its_own_stops_the_window_alone() -> None:
    few, enough = counts(4, 1), counts(5, 1)
    judge(STRICT, counts(100, 1), {}, {"pay%2Fment": few})
    judge(STRICT, counts(100, 1), {}, {"pay%2Fment": counts(5, 0), "click": counts(50, 49)})
    with pytest.raises(QuarantineTooFull, match="1 of 5 records of dataset 'pay/ment'"):
        judge(STRICT, counts(100, 1), {}, {"pay%2Fment": enough})


def test_incompatible_schemas_stop_where_they_shall() -> None:
    reasons = {"SCHEMA_INCOMPATIBLE": 3}
    judge(FeedSpec(name="events"), counts(9, 3), reasons, {})
    with pytest.raises(SchemasIncompatible, match="3 records"):
        judge(
            FeedSpec(name="events", decode=DecodeSpec("avro", incompatible="stop")),
            counts(9, 3),
            reasons,
            {},
        )


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
