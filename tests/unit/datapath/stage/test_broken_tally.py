"""The broken records that a task reports: counted by group, and sampled within bounds."""

from penstock.datapath.shape.route.distinct_names import count_of
from penstock.datapath.stage.quarantine_writer import fingerprint
from penstock.model.broken_groups import (
    MOST_GROUPS,
    MOST_SAMPLES,
    RANGE_BYTES,
    SAMPLE_BYTES,
    WINDOW_BYTES,
    BrokenGroup,
    BrokenRecord,
    merged,
    range_bytes,
)
from penstock.model.record_position import Position
from penstock.model.spec import FeedSpec, RouteSpec, TimeSpec
from tests.helpers.shredding import TOPIC, an_event, learned, shred

BY_TYPE = FeedSpec(name="f", route=RouteSpec("field", "type"), time=TimeSpec(field="at"))
GOOD, UNTIMED, TORN = an_event("a", n=1), b'{"type": "a", "n": 1}', b"{"


def test_a_report_has_the_broken_records_by_group_with_their_first_and_last() -> None:
    values = [TORN, GOOD, UNTIMED, TORN, *[UNTIMED] * 10, TORN]
    assert shred(BY_TYPE, values, {}).report.broken == (), "it is read again"
    report = shred(BY_TYPE, values, learned(GOOD), batch_rows=4).report
    groups = {group.reason: group for group in report.broken}
    assert {reason: group.count for reason, group in groups.items()} == report.reasons
    timeless = groups["TIME_MISSING"]
    assert (timeless.first, timeless.last) == (Position(TOPIC, 0, 2), Position(TOPIC, 0, 13))
    assert timeless.datasets == ("a",)
    assert [each.position.offset for each in timeless.samples] == [2, 4, 5, 6, 7]
    assert {each.key for each in timeless.samples} == {b"key"}
    torn = groups["NOT_JSON"]
    assert [each.value for each in torn.samples] == [TORN] * 3
    assert torn.fingerprint == fingerprint("NOT_JSON", torn.samples[0].detail, "json")


def test_samples_of_large_records_are_cut_and_stay_within_the_bytes_of_a_range() -> None:
    values = [b'{"type": "' + b"x" * 1_000_000] * 3 + [b"[" * 200_000] * 100
    report = shred(BY_TYPE, values, learned(GOOD)).report
    samples = [each for group in report.broken for each in group.samples]
    assert {each.value_bytes for each in samples} == {1_000_010, 200_000}
    assert {len(each.value or b"") for each in samples} == {SAMPLE_BYTES}
    assert sum(each.size_bytes for each in samples) <= range_bytes(1)


def test_a_flood_is_counted_by_the_names_that_had_no_room() -> None:
    values = [an_event(f"t{number % 300}") for number in range(900)]
    known = learned(*values[:20])
    report = shred(BY_TYPE, values, known, max_new=0).report
    assert count_of(report.refused_names) == 280


def a_group(name: str, count: int, *offsets: int, size: int = 10) -> BrokenGroup:
    """A group with samples of some size at these offsets."""
    samples = tuple(
        BrokenRecord(Position("t", 0, at), 0, "", "", None, b"x" * size, None, size)
        for at in offsets
    )
    first, last = Position("t", 0, offsets[0]), Position("t", 0, offsets[-1])
    return BrokenGroup(name, "R", ("a",), count, first, last, samples)


def test_groups_of_several_ranges_are_added_up_and_the_largest_comes_first() -> None:
    found = merged([a_group("x", 3, 7, 9), a_group("y", 4, 2), a_group("x", 2, 1, 4, 5, 6)])
    assert [(group.fingerprint, group.count) for group in found] == [("x", 5), ("y", 4)]
    assert (found[0].first.offset, found[0].last.offset) == (1, 9)
    assert [each.position.offset for each in found[0].samples] == [1, 4, 5, 6, 7]


def test_of_too_many_groups_and_bytes_the_most_important_are_kept() -> None:
    many = [a_group(f"g{n}", n + 1, n) for n in range(2 * MOST_GROUPS)]
    assert [group.count for group in merged(many)] == list(range(200, 100, -1))
    large = [a_group(f"g{n}", 1, *range(9 * n, 9 * n + 5), size=SAMPLE_BYTES) for n in range(40)]
    found = merged(large)
    samples = [len(group.samples) for group in found]
    assert min(samples) >= 1, "every group has one before any has a second"
    assert max(samples) < MOST_SAMPLES
    assert sum(samples) * SAMPLE_BYTES <= WINDOW_BYTES


def test_the_ranges_of_a_window_share_its_bytes() -> None:
    assert range_bytes(1) == WINDOW_BYTES
    assert range_bytes(100) == WINDOW_BYTES // 100
    assert range_bytes(10_000) == RANGE_BYTES
