"""Counts of ways and conflicts: sums, their order, and their bounds."""

from penstock.model.field_conflicts import all_conflicts, field_conflicts
from penstock.model.read_ways import (
    MOST_CONFLICTS,
    MOST_IN_WINDOW,
    Conflict,
    ReadCounts,
    ReadWays,
    WayReason,
    added_ways,
    window_ways,
)


def conflict(path: str, records: int, offset: int = 0, wanted: str = "int64") -> Conflict:
    return Conflict(path, wanted, "string", records, "t", 0, offset)


def test_parts_of_a_dataset_are_added_up_with_the_first_position() -> None:
    one = ReadWays("a", 5, 2, (WayReason("NO_COLUMN", 2, "x"),), 3, 2, (conflict("x", 2, 9),))
    two = ReadWays(
        "a", 1, 4, (WayReason("NO_COLUMN", 1, "y"), WayReason("NOT_JSON", 2)), 0, 1,
        (conflict("x", 1, 4), conflict("y", 7)),
    )  # fmt: skip
    [total, other] = added_ways([one, ReadWays("b", 1), two])
    assert (total.fast, total.reference, total.empty, total.rest) == (6, 6, 3, 3)
    assert total.reasons == (WayReason("NO_COLUMN", 3, "x"), WayReason("NOT_JSON", 2))
    assert total.conflicts == (conflict("y", 7), conflict("x", 3, 4))
    assert other == ReadWays("b", 1)
    assert added_ways([two, one])[0].conflicts == total.conflicts


def test_only_the_most_frequent_conflicts_are_kept() -> None:
    many = tuple(conflict(f"f{n:03}", n) for n in range(60))
    [ways] = added_ways([ReadWays("a", conflicts=many[:40]), ReadWays("a", conflicts=many[20:])])
    assert len(ways.conflicts) == MOST_CONFLICTS
    assert ways.conflicts[0].path == "f039"  # met in both parts
    datasets = [ReadWays(f"d{n:03}", 1, conflicts=many[:20]) for n in range(40)]
    kept = window_ways(datasets)
    assert len(kept) == 40
    assert sum(len(each.conflicts) for each in kept) == MOST_IN_WINDOW
    assert min(c.records for each in kept for c in each.conflicts) > 0


def test_numbers_of_records_move_with_their_batch() -> None:
    counts = ReadCounts(fast=1)
    counts.add_misfit(("a", "int64", "string"), 3)
    assert counts.moved(10).misfits == {("a", "int64", "string"): (1, 13)}


def test_a_field_has_one_conflict_and_a_cure() -> None:
    ways = ReadWays(
        "d",
        conflicts=(
            Conflict("id", "int64", "string", 5, "t", 0, 7),
            Conflict("id", "int64", "fraction", 2, "t", 0, 3),
            Conflict("id", "", "integer", 90, "t", 0, 1),
            Conflict("n", "int64", "fraction", 1, "t", 0, 2),
            Conflict("user", "string", "object", 4, "t", 1, 2),
            Conflict("new", "", "string", 3, "t", 1, 2),
            Conflict("mixed", "", "string", 2, "t", 1, 2),
            Conflict("mixed", "", "integer", 1, "t", 1, 1),
        ),
    )
    found = {each.path: each for each in field_conflicts(ways)}
    assert (found["id"].records, found["id"].offset) == (7, 3)
    assert found["id"].found == ("fraction", "string")
    cures = {path: each.cure for path, each in found.items() if not each.is_new}
    assert cures == {"id": "string", "n": "double", "user": "json", "mixed": "string"}
    assert [each.path for each in all_conflicts([ways])][:2] == ["id", "user"]
