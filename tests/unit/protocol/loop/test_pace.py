"""When a window is cut: at once at the start, when full, or when what waits is old enough."""

import pytest

from penstock.protocol.loop.pace import Pace
from penstock.protocol.loop.window_plan import FIRST_RECORDS, WindowPolicy


class Clock:
    def __init__(self) -> None:
        self.tick_s = 5.0

    def __call__(self) -> float:
        return self.tick_s


def test_what_is_there_at_the_start_goes_at_once() -> None:
    assert Pace(60.0, Clock()).is_due(1, 100)


def test_nothing_is_never_due() -> None:
    assert not Pace(60.0, Clock()).is_due(0, 100)
    assert not Pace(60.0, Clock(), eager=True).is_due(0, 100)


def test_s7_a_few_records_of_a_quiet_topic_go_after_their_age() -> None:
    clock = Clock()
    pace = Pace(60.0, clock)
    assert not pace.is_due(0, 100)
    assert not pace.is_due(3, 100)
    clock.tick_s += 59
    assert not pace.is_due(3, 100)
    clock.tick_s += 1
    assert pace.is_due(3, 100)
    assert pace.is_due(3, 100)  # a window that failed stays due
    pace.delivered(3)
    assert not pace.is_due(2, 100)


def test_all_that_is_there_at_the_start_goes_at_once_in_as_many_windows_as_it_takes() -> None:
    pace = Pace(60.0, Clock())
    assert pace.is_due(250, 100)
    pace.delivered(100)
    assert pace.is_due(150, 100)
    pace.delivered(100)
    assert pace.is_due(50, 100)
    pace.delivered(50)
    assert not pace.is_due(50, 100)


def test_what_did_not_fit_into_a_window_does_not_wait_from_its_end_on() -> None:
    """Goal: `every` is the longest time that records wait, also behind a full window."""
    clock = Clock()
    pace = Pace(60.0, clock)
    assert not pace.is_due(0, 100)
    assert not pace.is_due(90, 100)
    clock.tick_s += 50
    assert pace.is_due(130, 100)
    pace.delivered(100)
    assert not pace.is_due(30, 100)
    clock.tick_s += 10
    assert pace.is_due(30, 100)
    pace.delivered(30)
    assert not pace.is_due(1, 100)


def test_s6_a_full_window_does_not_wait_for_its_age() -> None:
    pace = Pace(60.0, Clock())
    pace.delivered(0)
    assert not pace.is_due(99, 100)
    assert pace.is_due(100, 100)


def test_once_does_not_wait() -> None:
    pace = Pace(60.0, Clock(), eager=True)
    pace.delivered(0)
    assert pace.is_due(1, 100)


@pytest.mark.parametrize(
    ("record_bytes", "cap"),
    [(0.0, FIRST_RECORDS), (100.0, 2_000_000), (1000.0, 1_000_000), (1e7, 100), (1e12, 1)],
)
def test_s6_bytes_cap_a_window_by_the_size_of_the_records_seen(
    record_bytes: float, cap: int
) -> None:
    assert WindowPolicy(2_000_000, 1_000_000_000).cap(record_bytes) == cap
