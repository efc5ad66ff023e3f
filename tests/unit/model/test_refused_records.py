"""Counts of quarantined records by dataset and reason: exact sums, and bounded."""

from penstock.model.refused_records import (
    MOST_REASONS,
    OTHER_REASONS,
    Refused,
    add_refused,
    all_refused,
)


def test_parts_are_added_by_dataset_and_reason_in_order() -> None:
    found = all_refused([{"b": {"Y": 1, "X": 2}}, {"": {"Z": 1}}, {"b": {"X": 3}}])
    assert found == {"": {"Z": 1}, "b": {"X": 5, "Y": 1}}
    assert list(found) == ["", "b"]
    assert list(found["b"]) == ["X", "Y"]


def test_reasons_beyond_the_bound_are_counted_together_and_known_ones_stay() -> None:
    sums: Refused = {}
    add_refused(sums, {"a": {f"R{number:03}": 1 for number in range(MOST_REASONS)}})
    for number in range(1000):
        add_refused(sums, {"a": {f"value {number}": 2, "R000": 1}})
    assert len(sums["a"]) == MOST_REASONS + 1
    assert sums["a"][OTHER_REASONS] == 2000
    assert sums["a"]["R000"] == 1001
