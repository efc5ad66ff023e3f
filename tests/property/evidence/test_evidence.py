"""Evidence adds up, does not depend on order, and tells different sets of rows apart."""

from collections import Counter

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.model.evidence import Evidence, RangeEvidence, mix64, position_hash
from penstock.model.ranges import OffsetRange, OffsetSet

OFFSETS = st.integers(0, 2**63 - 1)
POSITIONS = st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 2))
EVIDENCE = st.builds(Evidence, st.integers(0, 2**40), st.integers(0, 2**64 - 1))

Position = tuple[int, int, int]


def of(positions: list[Position]) -> Evidence:
    """The evidence of rows at these positions."""
    return Evidence.of_hashes(position_hash("events", *position) for position in positions)


@given(st.lists(POSITIONS), st.lists(POSITIONS))
def test_the_evidence_of_parts_adds_up_to_the_evidence_of_the_whole(
    one: list[Position], other: list[Position]
) -> None:
    assert of(one) + of(other) == of(one + other) == Evidence.total([of(one), of(other)])


@given(st.lists(POSITIONS).flatmap(lambda found: st.tuples(st.just(found), st.permutations(found))))
def test_the_order_of_rows_does_not_matter(pair: tuple[list[Position], list[Position]]) -> None:
    assert of(pair[0]) == of(pair[1])


@given(EVIDENCE, EVIDENCE, EVIDENCE)
def test_addition_is_associative_and_commutative_and_nothing_adds_nothing(
    a: Evidence, b: Evidence, c: Evidence
) -> None:
    assert (a + b) + c == a + (b + c) == Evidence.total([c, a, b])
    assert a + b == b + a
    assert a + Evidence() == a


@given(st.lists(POSITIONS, max_size=12), st.lists(POSITIONS, max_size=12))
def test_different_rows_give_different_evidence_although_they_are_as_many(
    one: list[Position], other: list[Position]
) -> None:
    size = min(len(one), len(other))
    one, other = one[:size], other[:size]
    assert (of(one) == of(other)) == (Counter(one) == Counter(other))


@st.composite
def cancelling(draw: st.DrawFn) -> tuple[int, int, int, int]:
    """x, y lost and u, v doubled, with the same sum and the same xor: a bit moves from x to y."""
    bit = 1 << draw(st.integers(0, 9))
    x = draw(st.integers(0, 1023)) | bit
    y = draw(st.integers(0, 1023)) & ~bit
    u, v = x ^ bit, y ^ bit
    assume(u != y)
    return x, y, u, v


@given(cancelling())
def test_two_lost_and_two_doubled_are_noticed_where_sums_and_xors_are_blind(
    found: tuple[int, int, int, int],
) -> None:
    x, y, u, v = found
    assert x + y == u + v
    assert x ^ y == u ^ v
    whole = list(range(1024))
    broken = [offset for offset in whole if offset not in (x, y)] + [u, v]
    assert len(broken) == len(whole)
    assert sum(broken) == sum(whole)
    assert Evidence.of_positions("events", 0, broken) != Evidence.of_positions("events", 0, whole)


def test_the_textbook_case_is_noticed() -> None:
    """3 and 6 lost, 4 and 5 doubled: the plain sums agree, the evidence does not."""
    right, wrong = [3, 4, 5, 6], [4, 4, 5, 5]
    assert sum(right) == sum(wrong)
    assert Evidence.of_positions("events", 0, right) != Evidence.of_positions("events", 0, wrong)


@given(OFFSETS, st.integers(0, 1000), st.integers(0, 1000))
def test_partition_and_row_are_part_of_a_position(offset: int, one: int, other: int) -> None:
    assume(one != other)
    assert position_hash("events", one, offset) != position_hash("events", other, offset)
    assert position_hash("events", 0, offset, one) != position_hash("events", 0, offset, other)
    assert position_hash("events", one, offset, other) != position_hash(
        "events", other, offset, one
    )


@given(st.lists(st.integers(0, 30), unique=True), st.integers(0, 30))
def test_the_evidence_of_two_neighbours_joins_to_that_of_the_whole(
    offsets: list[int], at: int
) -> None:
    whole = OffsetRange("t", "i", 2, 0, 31)
    left, right = whole.split(at)
    assert _seen(left, offsets).join(_seen(right, offsets)) == _seen(whole, offsets)


def test_ranges_that_are_no_neighbours_do_not_join() -> None:
    whole = OffsetRange("t", "i", 2, 0, 31)
    left, right = whole.split(9)
    with pytest.raises(ValueError, match="does not follow"):
        RangeEvidence.empty(right).join(RangeEvidence.empty(left))


def _seen(covered: OffsetRange, offsets: list[int]) -> RangeEvidence:
    """One in three is filtered, one in three is bad; the content hash is the offset squared."""
    here = [offset for offset in offsets if offset in covered]

    def part(rest: int) -> Evidence:
        return Evidence.of_positions(
            covered.topic, covered.partition, [o for o in here if o % 3 == rest]
        )

    return RangeEvidence(
        range=covered,
        offsets=OffsetSet.of(here),
        read=Evidence.of_positions(covered.topic, covered.partition, here),
        content_sum=sum(mix64(offset**2) for offset in here) % 2**64,
        filtered=part(1),
        quarantined=part(2),
    )


@pytest.mark.parametrize(("count", "hash_sum"), [(-1, 0), (0, -1), (0, 2**64)])
def test_what_is_no_evidence_is_refused(count: int, hash_sum: int) -> None:
    with pytest.raises(ValueError, match="not evidence"):
        Evidence(count, hash_sum)


@given(EVIDENCE)
def test_evidence_survives_the_journal(evidence: Evidence) -> None:
    assert msgspec.json.decode(msgspec.json.encode(evidence), type=Evidence) == evidence


# Format 1 of the journal is defined by these numbers. They may never change: every receipt ever
# given would be wrong. A better hash is a new format.
@pytest.mark.parametrize(
    ("value", "mixed"),
    [
        (0, 0),
        (1, 6238072747940578789),
        (2, 15839785061582574730),
        (2**63, 2720858781877447050),
        (2**64 - 1, 13029008266876403067),
    ],
)
def test_the_mixing_of_format_1_is_pinned(value: int, mixed: int) -> None:
    assert mix64(value) == mixed


@pytest.mark.parametrize(
    ("partition", "offset", "row", "wanted"),
    [
        (0, 0, 0, 10081697506668238248),
        (0, 1, 0, 15067636644674318630),
        (1, 0, 0, 5758088196520139050),
        (0, 0, 1, 17094104222809833505),
        (7, 123456789, 3, 11453376008122705904),
        (2**31 - 1, 2**63 - 1, 0, 6902974819197872043),
    ],
)
def test_the_position_hash_of_format_1_is_pinned(
    partition: int, offset: int, row: int, wanted: int
) -> None:
    assert position_hash("events", partition, offset, row) == wanted


def test_the_mixing_is_the_published_splitmix64() -> None:
    """The first outputs of the reference generator for seed 1234567."""
    step = 0x9E3779B97F4A7C15
    assert mix64(1234567 + step) == 6457827717110365317
    assert mix64(1234567 + 2 * step) == 3203168211198807973


def test_the_same_offset_of_another_topic_is_another_position() -> None:
    """Else a compaction of two topics could lose one row, double another, and balance."""
    assert position_hash("orders", 0, 0) != position_hash("events", 0, 0)
    lost_and_doubled = Evidence.of_positions("orders", 0, [5, 5])
    right = Evidence.of_positions("orders", 0, [5]) + Evidence.of_positions("events", 0, [5])
    assert lost_and_doubled != right


def test_the_evidence_of_format_1_is_pinned() -> None:
    assert Evidence.of_positions("events", 3, range(1000)) == Evidence(1000, 17661589377973712086)
