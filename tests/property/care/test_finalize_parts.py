"""What one entry declares complete: bounded, oldest first, hours before their days, no hole."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.care import finalize as finalizing
from penstock.care.finalize import within
from penstock.model.final_days import Frontier, Level, newly_final

MOST = 3
files = st.lists(
    st.builds(
        "feed/a/day=2026-11-{:02}{}/x".format,
        st.integers(1, 6),
        st.sampled_from(["", "/hour=00", "/hour=07", "/hour=23"]),
    ),
    max_size=20,
)
frontiers = st.builds(
    lambda day, hour, has_hours: Frontier(
        f"2026-11-{day:02}", f"2026-11-{day:02}T{hour:02}" if has_hours else ""
    ),
    st.integers(1, 7),
    st.integers(0, 23),
    st.booleans(),
)


@given(files, frontiers, frontiers)
def test_entry_by_entry_everything_becomes_final_once_and_in_order(
    finals: list[str], begin: Frontier, end: Frontier
) -> None:
    """Method: go on as entries do, and compare with what is final by the last frontier."""
    most, finalizing.MOST_DIRECTORIES = finalizing.MOST_DIRECTORIES, MOST
    try:
        old, marked = begin, list[Level]()
        for _ in range(30):
            levels = {level for final in finals for level in newly_final(old, end, final)}
            some, reached = within(sorted(levels, key=Level.order), end)
            assert len(some) <= MOST or len({level.day for level in some}) == 1
            marked += some
            if old.furthest(reached) == old:
                break
            old = old.furthest(reached)
    finally:
        finalizing.MOST_DIRECTORIES = most
    assert marked == sorted(marked, key=Level.order)
    assert len({level.directory for level in marked}) == len(marked)
    wanted = {level for final in finals for level in newly_final(begin, end, final)}
    assert set(marked) == wanted
    for directory in {level.directory for level in marked}:
        assert directory in {d for final in finals for d in old.final_directories(final)}
