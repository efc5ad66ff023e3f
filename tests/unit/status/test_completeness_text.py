"""What status says of complete days and late rows."""

from penstock.model.final_days import Frontier
from penstock.protocol.feed_book.state import FeedState, LateRows, datasets_with_days
from penstock.status.completeness_text import (
    before,
    complete_lines,
    incomplete,
)

AT = "2026-11-16T01:02:03.456+00:00"
FAR, NEAR = Frontier("2026-11-16", "2026-11-16T07"), Frontier("2026-11-14", "2026-11-14T01")


def test_how_far_days_are_complete_and_who_is_behind() -> None:
    assert list(complete_lines({}, {})) == []
    [line] = complete_lines({"a": FAR, "b": FAR}, {})
    assert line == "complete: days before 2026-11-16 and hours before 2026-11-16T07"
    [line] = complete_lines({"a": FAR, "b": NEAR}, {})
    assert line.endswith(", but b only days before 2026-11-14 and hours before 2026-11-14T01")
    many = {f"d{number}": NEAR for number in range(8)} | {"a": FAR}
    [line] = complete_lines(many, {})
    assert line.endswith(" and 3 more")


def test_late_rows_are_told_the_newest_first_and_not_without_end() -> None:
    late = {
        f"d{number}": LateRows(
            number + 1, 1, number, f"1-{number}", "2026-11-16T01:02:03.456+00:00"
        )
        for number in range(7)
    }
    lines = list(complete_lines({}, late))
    assert lines[0] == (
        "7 rows of d6 came after their day or hour was complete, the last with window 1-6 at "
        "2026-11-16T01:02:03"
    )
    assert lines[-1] == "late rows of 2 more datasets: --output json has all"
    assert len(lines) == 6


def test_days_and_hours_are_complete_before_the_frontier_of_each_dataset() -> None:
    state = FeedState(
        directories={"a": ("day", "hour"), "b": ("by_x",), "c": ("day",)},
        final={"a": FAR, "old": NEAR},
    )
    assert datasets_with_days(state) == ["a", "c", "old"]
    assert incomplete(state, "2026-11-13") == ["c"]
    assert incomplete(state, "2026-11-15") == ["c", "old"]
    assert incomplete(state, "2026-11-15", "a") == []
    assert incomplete(state, "2026-11-16", "a") == ["a"]
    assert incomplete(state, "2026-11-16T06", "a") == []
    assert incomplete(state, "2026-11-16T07", "a") == ["a"]
    assert incomplete(state, "2026-11-15T23", "a") == [], "its whole day is"
    assert before(Frontier("2026-11-16")) == "days before 2026-11-16"
