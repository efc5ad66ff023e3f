"""Records of several rows on their way back from the quarantine: each row once, or none of them."""

from typing import Any

import msgspec
import pytest

from penstock.datapath.stage.quarantine_rows import QuarantinePart
from penstock.datapath.stage.replay_task import wanted_batches
from penstock.model.convert_spec import Condition
from penstock.model.evidence import Evidence
from penstock.model.fork import FORK_ROWS, ForkSpec
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetSet
from penstock.model.schema import INT64, STRING, DatasetSchema, with_columns
from penstock.model.spec import DatasetSpec, DecodeSpec, FeedSpec, TimeSpec
from tests.helpers.forked_numbers import EVEN, FEED, SCHEMAS, SPREAD, THIRD, an_array, found, number
from tests.helpers.replayed_tasks import again, delivered
from tests.helpers.shredding import shred

STRICT = with_columns([("type", STRING, True), ("at", INT64, True), ("n", INT64, False)], top=True)
DECLARED = (DatasetSpec("number"),)
TIMELESS = TimeSpec(field="at", unit="ms", missing="kafka")


def with_keys(feed: FeedSpec, **changes: Any) -> FeedSpec:
    return msgspec.structs.replace(feed, **changes)


def test_what_had_no_dataset_is_asked_by_forks_when_it_has_one() -> None:
    feed = with_keys(FEED, unknown="quarantine", datasets=DECLARED)
    before = shred(feed, [number(2), number(2, "text"), number(3, "text")], SCHEMAS)
    assert found(before, "even") == [(0, FORK_ROWS, 2)]
    done, rows = again(before, FEED)
    assert delivered(done) == {("", 0): ((1, 3),)}
    assert found(rows, "text") == [(1, 0, 2), (2, 0, 3)]
    assert found(rows, "even") == [(1, FORK_ROWS, 2)]
    assert found(rows, "third") == [(2, 3 * FORK_ROWS, 3)]
    assert done.evidence.extra.count == 3  # and odd


def test_rows_of_arrays_come_back_after_arrays_are_switched_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: one file takes rows with numbers and without. Method: a split for every record."""
    monkeypatch.setattr("penstock.datapath.stage.split_rows.ENOUGH_ROWS", 1)
    array = an_array(*(number(n, at=None) for n in (1, 2, 3)))
    before = shred(SPREAD, [number(4, at=None), array, number(5, at=None)], SCHEMAS)
    _, rows = again(before, with_keys(SPREAD, decode=DecodeSpec(), time=TIMELESS))
    assert found(rows, "number") == [(0, 0, 4), (1, 0, 1), (1, 1, 2), (1, 2, 3), (2, 0, 5)]


def test_only_the_rows_that_failed_are_delivered() -> None:
    feed = with_keys(FEED, forks=(EVEN, THIRD))
    before = shred(feed, [number(6, at=None), number(6)], SCHEMAS)
    assert {(part.dataset, part.row) for part in before.report.quarantined} == {
        ("number", 0),
        ("even", FORK_ROWS),
        ("third", 2 * FORK_ROWS),
    }
    done, rows = again(before, with_keys(feed, time=TIMELESS))
    assert done.evidence.extra == Evidence()
    assert (found(rows, "number"), found(rows, "even")) == ([(0, 0, 6)], [(0, FORK_ROWS, 6)])
    assert found(rows, "third") == [(0, 2 * FORK_ROWS, 6)]


def test_a_row_of_a_fork_goes_where_it_was_meant_to_whatever_the_forks_are_now() -> None:
    feed = with_keys(FEED, forks=(EVEN, THIRD))
    before = shred(feed, [number(6, at=None)], SCHEMAS)
    done, rows = again(before, with_keys(feed, time=TIMELESS, forks=()))
    assert sorted(delivered(done)) == [
        ("even", FORK_ROWS),
        ("number", 0),
        ("third", 2 * FORK_ROWS),
    ]
    assert found(rows, "third") == [(0, 2 * FORK_ROWS, 6)]


def test_a_record_of_which_one_row_is_broken_stays_whole() -> None:
    feed = with_keys(FEED, unknown="quarantine", datasets=DECLARED)
    before = shred(feed, [number(n, "text") for n in (2, None, 4)], SCHEMAS)
    mended = with_keys(FEED, forks=(ForkSpec("even", (Condition("type", one_of=("text",)),)),))
    schemas = {**SCHEMAS, "even": DatasetSchema("even", 1, True, STRICT)}
    done, rows = again(before, mended, schemas)
    assert delivered(done) == {("", 0): ((0, 1), (2, 3))}
    assert (done.tried, sum(done.reasons.values())) == (3, 1)
    assert found(rows, "text") == [(0, 0, 2), (2, 0, 4)]
    assert found(rows, "even") == [(0, FORK_ROWS, 2), (2, FORK_ROWS, 4)]


def test_arrays_are_spread_when_the_feed_says_so_at_last() -> None:
    plain = with_keys(SPREAD, decode=DecodeSpec(), forks=(EVEN,))
    whole, torn = an_array(number(1), number(2)), an_array(number(1), number(2, at="never"))
    before = shred(plain, [whole, torn, number(4), an_array()], SCHEMAS)
    assert len(before.refused()) == 3
    done, rows = again(before, with_keys(SPREAD, forks=(EVEN,)))
    assert delivered(done) == {("", 0): ((0, 1),)}
    assert found(rows, "number") == [(0, 0, 1), (0, 1, 2)]
    assert found(rows, "even") == [(0, 1 + FORK_ROWS, 2)]
    assert done.reasons["FILTERED"] == 1


def test_the_elements_of_an_array_come_back_together() -> None:
    """Goal: a long array takes no batch per element. The rows of a fork are for themselves."""
    feed = with_keys(SPREAD, forks=(EVEN,))
    values = [number(0, at=None), an_array(*(number(n, at=None) for n in range(50)))]
    before = shred(feed, values, SCHEMAS)
    before.refused()
    files = tuple(f.handle.final for f in before.report.files if f.dataset == QUARANTINE)
    part = QuarantinePart(before.report.evidence.range, files, before.report.quarantined)
    batches = [(dataset, batch.num_rows) for dataset, batch in wanted_batches(before.store, part)]
    assert sorted(batches) == [("even", 26), ("number", 51)]
    done, rows = again(before, with_keys(feed, time=TIMELESS))
    assert (done.tried, done.reasons) == (77, {})
    assert found(rows, "number") == [(0, 0, 0), *((1, n, n) for n in range(50))]
    even = [(1, n + FORK_ROWS, n) for n in range(0, 50, 2)]
    assert found(rows, "even") == [(0, FORK_ROWS, 0), *even]


def test_of_an_array_only_the_wanted_elements_are_taken() -> None:
    before = shred(SPREAD, [an_array(*(number(n, at=None) for n in range(5)))] * 3, SCHEMAS)
    before.refused()
    files = tuple(f.handle.final for f in before.report.files if f.dataset == QUARANTINE)
    wanted = tuple(
        msgspec.structs.replace(each, offsets=OffsetSet.of([each.row % 3, 2]))
        for each in before.report.quarantined
        if each.row != 4
    )
    part = QuarantinePart(before.report.evidence.range, files, wanted)
    [(dataset, batch)] = wanted_batches(before.store, part)
    taken = list(zip(batch["offset"].to_pylist(), batch["row"].to_pylist(), strict=True))
    assert dataset == "number"
    assert taken == [(0, 0), (0, 3), (1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]


@pytest.mark.parametrize("forks", [(), (EVEN,)])
def test_elements_are_mended_one_by_one(forks: tuple[ForkSpec, ...]) -> None:
    feed = with_keys(SPREAD, forks=forks, unknown="quarantine", datasets=DECLARED)
    elements = [number(2, "text"), number(1), number(4, "text"), number(6, "text", at="never")]
    before = shred(feed, [an_array(*elements)], SCHEMAS)
    assert [row["_row"] for row in before.refused()] == [0, 2, 3]
    done, rows = again(before, with_keys(feed, unknown="create"))
    assert delivered(done) == {("", 0): ((0, 1),), ("", 2): ((0, 1),)}
    assert found(rows, "text") == [(0, 0, 2), (0, 2, 4)]
    wanted = [(0, FORK_ROWS, 2), (0, 2 + FORK_ROWS, 4)] if forks else []
    assert found(rows, "even") == wanted


def test_a_dataset_that_is_met_only_now_is_learned_first() -> None:
    feed = with_keys(FEED, unknown="quarantine", datasets=DECLARED)
    before = shred(feed, [number(2, "text")], SCHEMAS)
    done, _ = again(before, FEED, {"number": SCHEMAS["number"]})
    assert {sample.dataset for sample in done.samples} == {"text", "even"}
    assert done.files == ()
