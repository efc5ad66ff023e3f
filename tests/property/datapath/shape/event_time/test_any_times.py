"""Times in any form are read at once as they are read one by one."""

from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.shape.event_time.any_times import any_times
from penstock.datapath.shape.event_time.single_time import Unreadable, micros_of
from penstock.model.arrow_types import FIRST_US, LAST_US

TEXTS = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.datetimes().map(lambda moment: f"{moment.isoformat(timespec='seconds')}Z"),
    st.dates().map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "yesterday", "2026-13-01", "2026-11-15T07:05+25:00", "9999-12-31"]),
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**22), 10**22),
    st.floats(allow_nan=False),
    TEXTS,
    st.just([1]),
)


@given(st.lists(VALUES, max_size=20), st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kolkata"]))
def test_a_column_has_what_single_values_give(values: list[object], zone: str) -> None:
    micros, is_time = any_times(values, ZoneInfo(zone))
    for value, found, good in zip(values, micros.tolist(), is_time.tolist(), strict=True):
        wanted = Unreadable("") if value is None else micros_of(value, "auto", ZoneInfo(zone))
        if isinstance(wanted, Unreadable) or not FIRST_US <= wanted <= LAST_US:
            assert not good
        else:
            assert (good, found) == (True, wanted)
