"""A batch of times is read as its rows are read one by one, whatever is in it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock.datapath.shape.event_time.event_time import BadTime, event_time_of, event_times
from penstock.datapath.shape.event_time.single_time import micros_of
from penstock.datapath.shape.event_time.zones import (
    EARLIEST,
    LATEST,
    Micros,
    utc_to_wall,
    wall_to_utc,
)
from penstock.model.bad_records import BadRecord
from penstock.model.spec import TimeSpec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
NOW_S = 1_794_700_800.0

ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Berlin",
        "Europe/Amsterdam",
        "America/New_York",
        "America/St_Johns",
        "Australia/Lord_Howe",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "Asia/Kathmandu",
        "Africa/Monrovia",
    ]
)
# All of history, and more often what matters: clocks that change, New Year, leap days, the ends.
EDGES = [
    datetime(2026, 3, 29, 1),
    datetime(2026, 3, 29, 2, 30),
    datetime(2026, 10, 25, 2, 30),
    datetime(2026, 11, 1, 1, 30),
    datetime(2026, 10, 4, 2, 15),
    datetime(2026, 4, 5, 1, 45),
    datetime(2011, 12, 30, 12),
    datetime(1937, 7, 1, 0, 0, 20),
    datetime(1883, 11, 18, 12, 3, 58),
    datetime(1972, 1, 7, 0, 44, 30),
    datetime(2025, 12, 31, 23, 59, 59, 999_999),
    datetime(2024, 2, 29),
    datetime(2000, 2, 29, 23, 59),
    datetime(1900, 3, 1),
    datetime(1, 1, 1),
    datetime(9999, 12, 31, 23, 59, 59, 999_999),
]
WALLS = st.datetimes() | st.sampled_from(EDGES)
OFFSETS = st.sampled_from(["", "Z", "z", "+00:00", "-00:00", "+05:30", "-0330", "+14", "-23:59"])
UNITS = st.sampled_from(
    [
        "auto",
        "s",
        "ms",
        "us",
        "ns",
        "iso8601",
        "%Y-%m-%d %H:%M:%S",
        "%Y-%m-%dT%H:%M:%S.%f%z",
        "%Y%m%d%H%M",
        "%f%m%Y%d",
        "%d/%b/%Y",
        "%a %b %d %H:%M:%S %z %Y",
    ]
)


@st.composite
def iso_texts(draw: st.DrawFn) -> str:
    """ISO 8601 in one of its layouts, and sometimes with a character that does not belong."""
    wall = draw(WALLS)
    digits = draw(st.sampled_from([0, 3, 6]))
    timespec = draw(st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]))
    text = wall.isoformat(draw(st.sampled_from("T t")), timespec=timespec)
    if timespec == "microseconds":
        text += "0123456789"[:digits]
    text = draw(st.sampled_from([text, text, text[:10]])) + draw(OFFSETS)
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(text) - 1))
        text = text[:place] + draw(st.sampled_from("x9:-\0é\ud800")) + text[place + 1 :]
    return text


def pattern_texts(unit: str) -> st.SearchStrategy[str]:
    """Texts that fit a pattern."""
    aware = WALLS.map(lambda wall: wall.replace(tzinfo=UTC) if "%z" in unit else wall)
    return aware.map(lambda wall: wall.strftime(unit))


NUMBERS = (
    st.integers(-(10**20), 10**20)
    | st.sampled_from(
        [0, -1, 10**11, -(10**11), 10**14 - 1, 10**17, 10**19, -(2**63), 2**63, 2**80]
    )
    | st.integers(10**9, 4 * 10**9).flatmap(
        lambda second: st.sampled_from([10**0, 10**3, 10**6, 10**9]).map(lambda by: second * by)
    )
)
FLOATS = (
    st.floats()
    | st.integers(-(10**16), 10**16).map(lambda micros: micros / 10**6)
    | st.integers(-(10**16), 10**16).map(lambda micros: micros / 10**3)
    | st.sampled_from([-0.0, 1e11, 99_999_999_999.999_98, 1e19, 2.0**52, 2.0**53 + 2, 5e-324])
)
ODD = st.sampled_from(
    [None, None, True, False, "", "1.5", "-7", "+7", "x", "\ud800", [1], {"a": 1}, b"1"]
)
BELIEFS = st.sampled_from(
    [("2015-01-01", 172_800.0), ("0001-01-01", float("inf")), ("1969-12-31T23:59:59Z", 3.2e9)]
)

POLICIES = st.sampled_from(["quarantine", "kafka", "1970-01-01", "2020-03-29"])


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[object | None], TimeSpec]:
    """A batch that is mostly of one kind, as batches are, and a spec to read it with."""
    unit = draw(UNITS)
    texts = pattern_texts(unit) if "%" in unit else iso_texts()
    kinds: list[st.SearchStrategy[object | None]] = [NUMBERS, FLOATS, iso_texts(), texts]
    kinds += [NUMBERS.map(str), ODD]
    kind = draw(st.sampled_from(kinds))
    values = draw(st.lists(kind | kind | kind | st.one_of(kinds), max_size=20) | st.lists(kind))
    not_before, not_after_s = draw(BELIEFS)
    missing, unreadable, outside = draw(POLICIES), draw(POLICIES), draw(POLICIES)
    zone = draw(ZONES)
    spec = TimeSpec("at", unit, missing, not_before, not_after_s, zone, unreadable, outside)
    return values, spec


KAFKA_MS = st.sampled_from([-1, 0, 1_794_000_000_000, -(2**63), 2**63 - 1]) | st.integers(
    -(2**63), 2**63 - 1
)


@given(batches(), KAFKA_MS)
@example((["2026-10-25T02:30:00"] * 3, TimeSpec("at", zone="Europe/Berlin")), -1)
@example(([2**63, 5, -(2**63)], TimeSpec("at", "ns", "kafka", "0001-01-01", 1e12)), -1)
def test_a_batch_is_read_as_its_rows_are(
    batch: tuple[list[object | None], TimeSpec], kafka_ms: int
) -> None:
    raw, spec = batch
    times = event_times(raw, np.full(len(raw), kafka_ms, np.int64), spec, NOW_S)
    said = [event_time_of(value, kafka_ms, spec, NOW_S) for value in raw]
    assert times.micros.tolist() == [0 if isinstance(a, BadTime) else a for a in said]
    assert times.bad == [
        BadRecord(row, answer.reason, answer.detail)
        for row, answer in enumerate(said)
        if isinstance(answer, BadTime)
    ]


@given(st.lists(st.none() | KAFKA_MS), batches(), KAFKA_MS)
def test_a_column_of_whole_numbers_is_read_as_a_list_of_them(
    numbers: list[int | None], batch: tuple[list[object | None], TimeSpec], kafka_ms: int
) -> None:
    _, spec = batch
    stamps = np.full(len(numbers), kafka_ms, np.int64)
    listed = event_times(numbers, stamps, spec, NOW_S)
    column = event_times(pa.array(numbers, pa.int64()), stamps, spec, NOW_S)
    assert column.micros.tolist() == listed.micros.tolist()
    assert column.bad == listed.bad


@given(st.lists(KAFKA_MS), BELIEFS, POLICIES)
def test_a_batch_of_kafka_times_is_read_as_its_rows_are(
    stamps: list[int], belief: tuple[str, float], outside: str
) -> None:
    spec = TimeSpec(not_before=belief[0], not_after_s=belief[1], outside=outside)
    times = event_times(None, np.array(stamps, np.int64), spec, NOW_S)
    said = [event_time_of(None, stamp, spec, NOW_S) for stamp in stamps]
    assert times.micros.tolist() == [0 if isinstance(a, BadTime) else a for a in said]
    assert [bad.index for bad in times.bad] == [
        row for row, answer in enumerate(said) if isinstance(answer, BadTime)
    ]


@given(st.datetimes(timezones=st.just(UTC)), ZONES)
def test_a_written_time_is_the_time_that_was_meant(moment: datetime, zone: str) -> None:
    """Numbers in each unit and ISO text say the same, whatever the configured zone is."""
    micros = (moment - EPOCH) // MICROSECOND
    here = ZoneInfo(zone)
    assert micros_of(moment.isoformat(), "iso8601", here) == micros
    assert micros_of(micros, "us", here) == micros
    assert micros_of(micros * 1000 + 999, "ns", here) == micros
    assert micros_of(str(micros // 1000), "ms", here) == micros // 1000 * 1000
    assert micros_of(micros // 10**6, "s", here) == micros // 10**6 * 10**6


@given(st.datetimes(datetime(2001, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))
def test_between_2001_and_2100_a_number_shows_its_unit(moment: datetime) -> None:
    micros = (moment - EPOCH) // MICROSECOND
    utc = ZoneInfo("UTC")
    assert micros_of(micros // 10**6, "auto", utc) == micros // 10**6 * 10**6
    assert micros_of(micros // 10**3, "auto", utc) == micros // 10**3 * 10**3
    assert micros_of(micros, "auto", utc) == micros
    assert micros_of(micros * 10**3, "auto", utc) == micros
    assert micros_of(micros / 10**6, "auto", utc) == micros


MOMENTS = st.integers(EARLIEST, LATEST) | st.sampled_from(EDGES).flatmap(
    lambda edge: st.integers(-7200 * 10**6, 7200 * 10**6).map(
        lambda away: (edge.replace(tzinfo=UTC) - EPOCH) // MICROSECOND + away
    )
).filter(lambda micros: EARLIEST <= micros <= LATEST)


@given(st.lists(MOMENTS), ZONES)
def test_clocks_of_a_zone_show_what_the_standard_library_says(
    moments: list[int], zone: str
) -> None:
    here = ZoneInfo(zone)
    walls = utc_to_wall(np.array(moments, np.int64), here)
    for micros, wall in zip(moments, walls.tolist(), strict=True):
        shown = (EPOCH + timedelta(microseconds=micros)).astimezone(here).replace(tzinfo=UTC)
        assert wall == (shown - EPOCH) // MICROSECOND


@given(st.lists(MOMENTS, min_size=1), ZONES)
def test_a_shown_time_leads_back_unless_it_was_shown_twice(moments: list[int], zone: str) -> None:
    here = ZoneInfo(zone)
    utc: Micros = np.array(moments, np.int64)
    back = wall_to_utc(utc_to_wall(utc, here), here)
    assert (back <= utc).all()
    assert (utc_to_wall(back, here) == utc_to_wall(utc, here)).all()


@given(st.lists(iso_texts(), min_size=1), st.data())
def test_the_order_of_rows_does_not_matter(texts: list[str], data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(texts))))
    assume(order != sorted(order))
    spec = TimeSpec("at", not_before="0001-01-01", zone="Europe/Berlin")
    kafka_ms = np.zeros(len(texts), np.int64)
    straight = event_times(texts, kafka_ms, spec, NOW_S)
    shuffled = event_times([texts[row] for row in order], kafka_ms, spec, NOW_S)
    assert shuffled.micros.tolist() == straight.micros[list(order)].tolist()
