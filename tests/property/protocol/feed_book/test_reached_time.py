"""Which days and hours are complete: compared with a model that asks about each of them."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.final_days import Frontier, Level
from penstock.model.spec import FinalizeSpec
from penstock.protocol.feed_book.feed_lease import Note
from penstock.protocol.feed_book.reached_time import frontier_at, reached_s
from penstock.protocol.feed_book.state import FeedState, PartitionState

NOW_S = 1_792_800_000.0  # 2026-10-24: some days before clocks are put back in Europe
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Tehran", "Pacific/Apia"]
offsets = st.integers(0, 5)
times_ms = st.integers(-1, 12 * 86_400_000).map(lambda ms: ms if ms < 0 else int(NOW_S * 1000) + ms)


@st.composite
def partitions(draw: st.DrawFn) -> PartitionState:
    """A partition that was read to some offset, with some largest timestamp."""
    return PartitionState("t", draw(offsets), 0, largest_timestamp_ms=draw(times_ms))


@given(
    st.dictionaries(st.integers(0, 2), partitions(), max_size=3),
    st.none() | st.dictionaries(st.integers(0, 2), offsets, max_size=3),
    st.integers(0, 12 * 86_400),
    st.integers(0, 12 * 86_400),
)
def test_a_time_is_reached_when_every_partition_has_passed_it(
    known: dict[int, PartitionState], latest: dict[int, int] | None, looked: int, now: int
) -> None:
    """Method: a partition has passed what it has shown, or the look if it was read to its end."""
    state = FeedState(topics={"t": "id"}, partitions={"id": known})
    looked_at = NOW_S + looked
    at = datetime.fromtimestamp(looked_at, UTC).isoformat()
    seen = None if latest is None else Note(latest={"t": latest}, looked_at=at)
    passed: dict[int, float | None] = {}
    for number, each in known.items():
        shown = [each.largest_timestamp_ms / 1000] if each.largest_timestamp_ms >= 0 else []
        if latest is not None and number in latest and each.watermark >= latest[number]:
            shown.append(looked_at)
        passed[number] = min(max(shown), NOW_S + now) if shown else None
    for number in latest or {}:
        passed.setdefault(number, None)
    wanted = None
    if passed and all(each is not None for each in passed.values()):
        wanted = min(each for each in passed.values() if each is not None)
    assert reached_s(state, seen, NOW_S + now) == wanted


def test_a_topic_that_is_gone_holds_nothing_back() -> None:
    state = FeedState(
        topics={"t": "id", "gone": "id-2"},
        partitions={
            "id": {0: PartitionState("t", 3, 0)},
            "id-2": {0: PartitionState("gone", 1, 0)},
        },
    )
    at = datetime.fromtimestamp(NOW_S, UTC).isoformat()
    assert reached_s(state, Note(latest={"t": {0: 3}}, looked_at=at), NOW_S + 9) == NOW_S
    assert reached_s(state, Note(latest={"t": {0: 3}, "gone": {}}, looked_at=at), NOW_S) is None
    assert reached_s(state, Note(looked_at="yesterday"), NOW_S) is None


@given(
    st.integers(0, 40 * 86_400),
    st.sampled_from([0.0, 600.0, 7_200.0]),
    st.sampled_from(ZONES),
    st.booleans(),
)
def test_a_day_is_complete_when_the_delay_after_its_end_is_over(
    after: int, delay_s: float, zone: str, hour: bool
) -> None:
    """Method: ask the calendar when each day and each hour ends, also where clocks are put back."""
    reached = NOW_S + after
    frontier = frontier_at(reached, FinalizeSpec(True, hour, delay_s), zone)
    begin = datetime.fromtimestamp(reached, UTC).astimezone(ZoneInfo(zone)).date()
    for days in range(-3, 3):
        day = begin + timedelta(days=days)
        is_over = ends_s(day, zone) <= reached - delay_s
        assert frontier.holds(Level(day.isoformat(), "")) == is_over
    assert bool(frontier.hours_before) == hour


def ends_s(day: date, zone: str) -> float:
    """The first moment of the next day on the clocks of a zone."""
    after = day + timedelta(days=1)
    midnight = datetime(after.year, after.month, after.day, tzinfo=ZoneInfo(zone))
    return midnight.timestamp()


@given(st.integers(0, 40 * 86_400), st.sampled_from(ZONES))
def test_hours_go_on_one_after_the_other_also_when_clocks_are_put_back(
    after: int, zone: str
) -> None:
    spec = FinalizeSpec(True, True, 0.0)
    frontiers = [frontier_at(NOW_S + after + 900 * each, spec, zone) for each in range(30)]
    for earlier, later in pairwise(frontiers):
        assert earlier.hours_before <= later.hours_before
        assert earlier.days_before <= later.days_before
        assert later.hours_before.startswith(later.days_before)
        assert later.is_in_form
        assert earlier.furthest(later) == later
    assert Frontier().furthest(frontiers[0]) == frontiers[0]
