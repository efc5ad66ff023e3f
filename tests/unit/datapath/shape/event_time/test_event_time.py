"""Event times: every way to write one, and what the policy says about those nobody believes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from penstock.datapath.shape.event_time.event_time import (
    TIME_MISSING,
    TIME_TOO_EARLY,
    TIME_TOO_LATE,
    TIME_UNREADABLE,
    BadTime,
    Times,
    event_time_of,
    event_times,
)
from penstock.datapath.shape.event_time.zones import EARLIEST, LATEST
from penstock.model.bad_records import BadRecord
from penstock.model.spec import TimeSpec

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def micros(*parts: int) -> int:
    """UTC microseconds of a date and time of day."""
    return (datetime(*parts, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)  # type: ignore[misc,arg-type]


MOMENT = micros(2026, 11, 15, 7, 5, 9, 123456)
NOW_S = micros(2026, 11, 16) / 1e6
KAFKA_MS = micros(2026, 11, 14, 12) // 1000
ANY_TIME: dict[str, Any] = {"not_before": "0001-01-01", "not_after_s": float("inf")}


def both_ways(raw: Sequence[object], spec: TimeSpec, kafka_ms: int = KAFKA_MS) -> Times:
    """The times of a batch, after a check that the specification says the same row by row."""
    times = event_times(raw, np.full(len(raw), kafka_ms, np.int64), spec, NOW_S)
    said = [event_time_of(value, kafka_ms, spec, NOW_S) for value in raw]
    bad = [
        BadRecord(row, answer.reason, answer.detail)
        for row, answer in enumerate(said)
        if isinstance(answer, BadTime)
    ]
    assert times.bad == bad
    assert times.micros.dtype == np.int64
    assert times.micros.tolist() == [0 if isinstance(a, BadTime) else a for a in said]
    return times


def time_of(value: object, kafka_ms: int = KAFKA_MS, **options: Any) -> int | str:
    """The time of one value in microseconds, or the reason why it has none."""
    times = both_ways([value], TimeSpec(**{"field": "at"} | options), kafka_ms)
    return times.bad[0].reason if times.bad else int(times.micros[0])


SECONDS = MOMENT // 10**6
MILLIS = MOMENT // 10**3


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (SECONDS, "auto", SECONDS * 10**6),
        (MILLIS, "auto", MILLIS * 10**3),
        (MOMENT, "auto", MOMENT),
        (MOMENT * 1000 + 789, "auto", MOMENT),
        (str(SECONDS), "auto", SECONDS * 10**6),
        (str(MOMENT * 1000 + 789), "auto", MOMENT),
        (f"{SECONDS}.123456", "auto", MOMENT),
        (MOMENT / 10**6, "auto", MOMENT),
        (MOMENT / 10**3, "auto", MOMENT),
        (float(MOMENT), "auto", MOMENT),
        (SECONDS, "s", SECONDS * 10**6),
        (MILLIS, "ms", MILLIS * 10**3),
        (MOMENT, "us", MOMENT),
        (MOMENT * 1000 + 999, "ns", MOMENT),
        (str(MOMENT * 1000 + 999), "ns", MOMENT),
        (f"+{MILLIS}", "ms", MILLIS * 10**3),
        (f"{MILLIS}.456", "ms", MOMENT),
        (MOMENT / 10**6, "s", MOMENT),
        (1_763_190_000.9999998, "s", 1_763_190_000_999_999),
        (MOMENT / 10**3, "ms", MOMENT),
        ("2026-11-15T07:05:09.123456Z", "auto", MOMENT),
        ("2026-11-15T07:05:09.123456789Z", "iso8601", MOMENT),
        ("2026-11-15T07:05:09,1234569Z", "iso8601", MOMENT),
        ("2026-11-15 07:05:09.123456", "iso8601", MOMENT),
        ("2026-11-15t07:05:09.123456z", "iso8601", MOMENT),
        ("2026-11-15T08:35:09.123456+01:30", "iso8601", MOMENT),
        ("2026-11-14T23:05:09.123456-0800", "iso8601", MOMENT),
        ("2026-11-15T09:05:09.123456+02", "iso8601", MOMENT),
        ("2026-11-15T07:05:09.123456-00:00", "iso8601", MOMENT),
        ("2026-11-15T07:05:09.1Z", "iso8601", micros(2026, 11, 15, 7, 5, 9, 100000)),
        ("2026-11-15T07:05:09Z", "iso8601", SECONDS * 10**6),
        ("2026-11-15T07:05Z", "iso8601", micros(2026, 11, 15, 7, 5)),
        ("2026-11-15T07:05+01:00", "iso8601", micros(2026, 11, 15, 6, 5)),
        ("2026-11-15", "iso8601", micros(2026, 11, 15)),
        ("2024-02-29T23:59:59Z", "iso8601", micros(2024, 2, 29, 23, 59, 59)),
        ("15/Nov/2026:07:05:09 +0000", "%d/%b/%Y:%H:%M:%S %z", SECONDS * 10**6),
        ("15.11.2026 07:05:09,123456", "%d.%m.%Y %H:%M:%S,%f", MOMENT),
        ("20261115", "%Y%m%d", micros(2026, 11, 15)),
        (20261115, "%Y%m%d", micros(2026, 11, 15)),
        ("2026-11-15T08:05:09.123456+0100", "%Y-%m-%dT%H:%M:%S.%f%z", MOMENT),
        ("2026-11-15T07:05:09.123456Z", "%Y-%m-%dT%H:%M:%S.%f%z", MOMENT),
        ("2026年11月15日", "%Y年%m月%d日", micros(2026, 11, 15)),
        ("100%15 11 2026", "100%%%d %m %Y", micros(2026, 11, 15)),
        # A trap: strptime gives the fraction five digits here, and the month one.
        ("1234112026", "%f%m%Y", micros(2026, 1, 1, 0, 0, 0, 123410)),
    ],
)
def test_a_time_is_read_in_each_way_to_write_one(value: object, unit: str, expected: int) -> None:
    assert time_of(value, unit=unit) == expected


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-11-15T07:05:09", "Europe/Berlin", micros(2026, 11, 15, 6, 5, 9)),
        ("2026-07-15T07:05:09", "Europe/Berlin", micros(2026, 7, 15, 5, 5, 9)),
        ("2026-11-15", "Asia/Kolkata", micros(2026, 11, 14, 18, 30)),
        ("2026-01-01T00:00:00", "Pacific/Kiritimati", micros(2025, 12, 31, 10)),
        ("2026-01-01T00:00:00", "America/Los_Angeles", micros(2026, 1, 1, 8)),
        # Clocks go forward from 02:00 to 03:00: what they skip lies just after the jump.
        ("2026-03-29T01:59:59", "Europe/Berlin", micros(2026, 3, 29, 0, 59, 59)),
        ("2026-03-29T02:30:00", "Europe/Berlin", micros(2026, 3, 29, 1, 30)),
        ("2026-03-29T03:00:00", "Europe/Berlin", micros(2026, 3, 29, 1)),
        # Clocks go back from 03:00 to 02:00: the first of the two is meant.
        ("2026-10-25T02:30:00", "Europe/Berlin", micros(2026, 10, 25, 0, 30)),
        ("2026-10-25T03:00:00", "Europe/Berlin", micros(2026, 10, 25, 2)),
        # Half an hour, in the middle of an hour.
        ("2026-10-04T01:59:00", "Australia/Lord_Howe", micros(2026, 10, 3, 15, 29)),
        ("2026-10-04T02:31:00", "Australia/Lord_Howe", micros(2026, 10, 3, 15, 31)),
        # A zone in the text is stronger than the configured one.
        ("2026-11-15T07:05:09Z", "Europe/Berlin", micros(2026, 11, 15, 7, 5, 9)),
    ],
)
@pytest.mark.parametrize("unit", ["auto", "iso8601"])
def test_a_text_without_a_zone_is_read_in_the_configured_one(
    text: str, zone: str, expected: int, unit: str
) -> None:
    assert time_of(text, unit=unit, zone=zone) == expected


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (True, "auto"),
        (False, "s"),
        ({"$date": 1}, "auto"),
        ([1_763_190_000], "auto"),
        (float("nan"), "auto"),
        (float("inf"), "ms"),
        ("", "auto"),
        ("yesterday", "auto"),
        ("1e9", "s"),
        ("0x69", "s"),
        ("1_763_190_000", "s"),
        (" 1763190000", "s"),
        ("\u0661\u0667\u0666\u0663\u0661\u0669\u0660\u0660\u0660\u0660", "s"),
        ("9" * 65, "auto"),
        ("9" * 10_000, "ns"),
        ("2026-11-15T07:05:09Z", "ms"),
        (MILLIS, "iso8601"),
        (str(MILLIS), "iso8601"),
        ("2026-02-29", "iso8601"),
        ("2100-02-29", "auto"),
        ("2026-13-01", "auto"),
        ("2026-00-01", "auto"),
        ("2026-11-00", "auto"),
        ("2026-11-31", "auto"),
        ("0000-01-01", "auto"),
        ("2026-11-15T24:00:00Z", "auto"),
        ("2026-11-15T07:60:00Z", "auto"),
        ("2016-12-31T23:59:60Z", "auto"),
        ("2026-11-15T07:05:09+24:00", "auto"),
        ("2026-11-15T07:05:09+01:60", "auto"),
        ("2026-11-15T07:05:09.1234567890Z", "auto"),
        ("2026-11-15T07:05:09.Z", "auto"),
        ("2026-11-15T07:05:09Z ", "auto"),
        ("2026-11-15T07:05:09Z\n", "auto"),
        ("+12026-11-15", "auto"),
        ("2026-W46-7", "auto"),
        ("20261115T070509Z", "auto"),
        ("2026-11-15T07:05:09Z\ud800", "auto"),
        ("\ud800", "%Y"),
        ("2026-02-30", "%Y-%m-%d"),
        ("2026-11-15x", "%Y-%m-%d"),
        (20261115.0, "%Y%m%d"),
        (10**300, "%Y%m%d"),
    ],
)
def test_what_is_no_time_is_unreadable_and_never_repeated(value: object, unit: str) -> None:
    times = both_ways([value], TimeSpec(field="at", unit=unit, **ANY_TIME))
    assert [bad.reason for bad in times.bad] == [TIME_UNREADABLE]
    assert times.bad[0].detail.startswith("at: ")
    if isinstance(value, str) and value:
        assert value not in times.bad[0].detail


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("2014-12-31T23:59:59.999999Z", TIME_TOO_EARLY),
        (0, TIME_TOO_EARLY),
        (-1, TIME_TOO_EARLY),
        (-(10**19), TIME_TOO_EARLY),
        (-(2**63), TIME_TOO_EARLY),
        ("0001-01-01", TIME_TOO_EARLY),
        (20261115, TIME_TOO_EARLY),
        ("2026-11-18T00:00:00.000001Z", TIME_TOO_LATE),
        ("9999-12-31T23:59:59.999999999Z", TIME_TOO_LATE),
        (10**19, TIME_TOO_LATE),
        (2**63 - 1, TIME_TOO_LATE),
        (10**400, TIME_UNREADABLE),
        (1e308, TIME_UNREADABLE),
        (-(10**14) * 10**6, TIME_UNREADABLE),
    ],
)
def test_times_outside_the_policy_are_told_apart(value: object, reason: str) -> None:
    assert time_of(value) == reason


def test_a_number_with_more_digits_than_python_prints_is_judged_all_the_same() -> None:
    assert time_of(10**5000) == TIME_UNREADABLE
    assert time_of(-(10**5000), unit="s") == TIME_UNREADABLE
    assert time_of(10**5000, unit="%Y%m%d") == TIME_UNREADABLE


def test_both_ends_of_the_policy_belong_to_it() -> None:
    assert time_of("2015-01-01") == micros(2015, 1, 1)
    assert time_of("2026-11-18") == micros(2026, 11, 18)


def test_the_first_believed_day_begins_in_the_configured_zone_or_at_a_given_time() -> None:
    zone = "Asia/Tokyo"
    assert time_of("2014-12-31T15:00:00Z", zone=zone) == micros(2014, 12, 31, 15)
    assert time_of("2014-12-31T14:59:59Z", zone=zone) == TIME_TOO_EARLY
    start = "2026-11-15T08:00:00+01:00"
    assert time_of("2026-11-15T07:00:00Z", not_before=start) == micros(2026, 11, 15, 7)
    assert time_of("2026-11-15T06:59:59Z", not_before=start) == TIME_TOO_EARLY


def test_no_policy_lets_a_time_pass_whose_day_some_zone_cannot_name() -> None:
    assert time_of(EARLIEST, unit="us", **ANY_TIME) == EARLIEST
    assert time_of(LATEST, unit="us", **ANY_TIME) == LATEST
    assert time_of(EARLIEST - 1, unit="us", **ANY_TIME) == TIME_TOO_EARLY
    assert time_of(LATEST + 1, unit="us", **ANY_TIME) == TIME_TOO_LATE


def test_a_number_outside_the_years_1_to_9999_is_unreadable() -> None:
    first, last = micros(1, 1, 1), micros(9999, 12, 31, 23, 59, 59, 999_999)
    assert time_of(first, unit="us", **ANY_TIME) == TIME_TOO_EARLY
    assert time_of(last, unit="us", **ANY_TIME) == TIME_TOO_LATE
    assert time_of(first - 1, unit="us", **ANY_TIME) == TIME_UNREADABLE
    assert time_of(last + 1, unit="us", **ANY_TIME) == TIME_UNREADABLE
    assert time_of("0001-01-01T00:00:00+01:00") == TIME_UNREADABLE


@pytest.mark.parametrize(
    ("value", "kafka_ms", "missing", "expected"),
    [
        (None, KAFKA_MS, "quarantine", TIME_MISSING),
        (None, KAFKA_MS, "kafka", KAFKA_MS * 1000),
        (None, -1, "kafka", TIME_MISSING),
        (None, 0, "kafka", TIME_TOO_EARLY),
        (None, 2**63 - 1, "kafka", TIME_TOO_LATE),
        (None, -(2**63), "kafka", TIME_TOO_EARLY),
        (None, KAFKA_MS, "1970-01-01", 0),
        (None, -1, "1970-01-01", 0),
        (None, -1, "0001-01-01", micros(1, 1, 1)),
        (None, -1, "9999-12-31", micros(9999, 12, 31)),
        ("nonsense", KAFKA_MS, "kafka", TIME_UNREADABLE),
        ("", KAFKA_MS, "kafka", TIME_UNREADABLE),
        ("nonsense", KAFKA_MS, "1970-01-01", TIME_UNREADABLE),
        (0, KAFKA_MS, "kafka", TIME_TOO_EARLY),
    ],
)
def test_a_missing_time_follows_the_policy_and_a_wrong_one_does_not(
    value: object, kafka_ms: int, missing: str, expected: int | str
) -> None:
    assert time_of(value, kafka_ms, missing=missing) == expected


@pytest.mark.parametrize(
    "value",
    ["nonsense", "", "2026-02-30", "15 Nov", True, [1], {"a": 1}, b"1", float("nan"), 10**30],
)
@pytest.mark.parametrize("missing", ["quarantine", "kafka", "1980-01-01"])
def test_an_unreadable_time_follows_its_own_policy(value: object, missing: str) -> None:
    assert time_of(value, missing=missing) == TIME_UNREADABLE
    assert time_of(value, missing=missing, unreadable="1970-01-01") == 0
    assert time_of(value, missing=missing, unreadable="kafka") == KAFKA_MS * 1000
    assert time_of(value, 0, missing=missing, unreadable="kafka") == TIME_TOO_EARLY
    none = micros(1980, 1, 1) if missing == "1980-01-01" else TIME_MISSING
    assert time_of(value, -1, missing=missing, unreadable="kafka") == none


@pytest.mark.parametrize("unreadable", ["quarantine", "kafka", "1970-01-01"])
def test_no_policy_is_about_a_time_that_is_too_early_or_too_late(unreadable: str) -> None:
    assert time_of("2014-12-31", missing=unreadable, unreadable=unreadable) == TIME_TOO_EARLY
    assert time_of("9999-01-01", missing=unreadable, unreadable=unreadable) == TIME_TOO_LATE


@pytest.mark.parametrize("time", ["2014-12-31", "9999-01-01"])
def test_a_time_that_is_not_accepted_gets_another_if_the_configuration_says_so(time: str) -> None:
    assert time_of(time, outside="1970-01-01") == 0
    assert time_of(time, outside="9999-12-31") == micros(9999, 12, 31)
    assert time_of(time, outside="kafka") == KAFKA_MS * 1000
    assert time_of(None, outside="kafka") == TIME_MISSING


@pytest.mark.parametrize("kafka_ms", [-(2**63), -2, 0, 253_402_300_799_999, 2**63 - 1])
@pytest.mark.parametrize("missing", ["quarantine", "kafka"])
def test_kafkas_own_time_does_not_stand_in_for_itself(kafka_ms: int, missing: str) -> None:
    column = np.array([kafka_ms], np.int64)
    for spec in (TimeSpec(outside="kafka"), TimeSpec("at", missing=missing, outside="kafka")):
        (bad,) = event_times([None], column, spec, NOW_S).bad
        assert bad.reason in {TIME_TOO_EARLY, TIME_TOO_LATE, TIME_MISSING}
    times = event_times(None, column, TimeSpec(outside="1970-01-02"), NOW_S)
    assert (times.bad, times.micros.tolist()) == ([], [86_400_000_000])


def test_unreadable_does_not_decide_about_a_missing_time() -> None:
    assert time_of(None, unreadable="kafka") == TIME_MISSING
    assert time_of(None, unreadable="1970-01-01") == TIME_MISSING


def test_rows_without_a_time_are_given_one_without_being_asked_singly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Goal: a topic full of "n/a" stays on columns. Method: the reader of single values fails."""

    def fail(*_: object) -> int:
        raise AssertionError("a value was read singly")

    raw: list[object] = ["", "n/a", None, True, "2026-11-15T07:05:09Z", [1], "yesterday"] * 100
    stamps = np.full(len(raw), KAFKA_MS, np.int64)
    monkeypatch.setattr("penstock.datapath.shape.event_time.event_time._Rule.of_value", fail)
    spec = TimeSpec(field="at", missing="1970-01-01", unreadable="kafka")
    times = event_times(raw, stamps, spec, NOW_S)
    assert times.bad == []
    assert set(times.micros.tolist()) == {0, KAFKA_MS * 1000, SECONDS * 10**6}


def test_a_stand_in_day_begins_at_midnight_in_the_configured_zone() -> None:
    assert time_of(None, missing="2020-07-01", zone="Europe/Berlin") == micros(2020, 6, 30, 22)


@pytest.mark.parametrize(
    ("kafka_ms", "missing", "expected"),
    [
        (KAFKA_MS, "quarantine", KAFKA_MS * 1000),
        (-1, "quarantine", TIME_MISSING),
        (-1, "kafka", TIME_MISSING),
        (-1, "1970-01-01", 0),
        (0, "quarantine", TIME_TOO_EARLY),
        (-2, "quarantine", TIME_TOO_EARLY),
        (253_402_300_799_999, "quarantine", TIME_TOO_LATE),
        (2**63 - 1, "quarantine", TIME_TOO_LATE),
    ],
)
def test_kafka_times_are_judged_like_all_others(
    kafka_ms: int, missing: str, expected: int | str
) -> None:
    spec = TimeSpec(missing=missing)
    column = np.array([kafka_ms], np.int64)
    for raw, named in ((None, spec), (["ignored"], spec), (None, TimeSpec("at", missing=missing))):
        times = event_times(raw, column, named, NOW_S)
        found = times.bad[0].reason if times.bad else int(times.micros[0])
        assert found == expected
    said = event_time_of(None, kafka_ms, spec, NOW_S)
    assert (said.reason if isinstance(said, BadTime) else said) == expected


def test_one_bad_row_leaves_its_neighbours_as_they_are() -> None:
    good = "2026-11-15T07:05:09.123456Z"
    raw = [good, None, "2026-11-15T07:05:09.1234x6Z", MILLIS, 10**19, good, True, good[:-1]]
    times = both_ways(raw, TimeSpec(field="at"))
    assert [(bad.index, bad.reason) for bad in times.bad] == [
        (1, TIME_MISSING),
        (2, TIME_UNREADABLE),
        (4, TIME_TOO_LATE),
        (6, TIME_UNREADABLE),
    ]
    assert times.micros[[0, 3, 5, 7]].tolist() == [MOMENT, MILLIS * 1000, MOMENT, MOMENT]


def test_an_empty_batch_has_no_times() -> None:
    nothing: list[object] = []
    for raw in (nothing, None):
        times = event_times(raw, np.zeros(0, np.int64), TimeSpec(field="at"), NOW_S)
        assert (len(times.micros), times.bad) == (0, [])


def test_values_and_kafka_times_have_to_be_as_many() -> None:
    with pytest.raises(ValueError, match="1 values and 2"):
        event_times([1], np.zeros(2, np.int64), TimeSpec(field="at"), NOW_S)


@pytest.mark.parametrize(
    "options",
    [
        {"unit": "fortnight"},
        {"unit": "%Y %Z"},
        {"unit": "%c"},
        {"unit": "%Y%"},
        {"not_before": "soon"},
        {"missing": "never"},
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        event_time_of(0, 0, TimeSpec(**{"field": "at"} | options), NOW_S)  # type: ignore[arg-type]


def test_a_retry_with_the_same_window_time_gives_the_same_verdict() -> None:
    spec = TimeSpec(field="at")
    edge = micros(2026, 11, 18)
    assert event_time_of(edge, 0, spec, NOW_S) == edge
    assert isinstance(event_time_of(edge, 0, spec, NOW_S - 1), BadTime)
    assert event_time_of(edge, 0, spec, NOW_S) == edge


def test_sixteen_threads_read_the_same_times() -> None:
    texts: list[object | None] = [
        f"2026-{month:02}-{day:02}T{hour:02}:30:00"
        for month in range(1, 11)
        for day in range(1, 29)
        for hour in range(24)
    ]
    kafka_ms = np.full(len(texts), KAFKA_MS, np.int64)
    spec = TimeSpec(field="at", zone="America/New_York")

    def run(turn: int) -> list[int]:
        """Half of the threads go through the batch backwards."""
        step = 1 if turn % 2 else -1
        found = event_times(texts[::step], kafka_ms, spec, NOW_S).micros[::step]
        return [int(at) for at in found]

    expected = [event_time_of(text, KAFKA_MS, spec, NOW_S) for text in texts]
    with ThreadPoolExecutor(16) as pool:
        assert all(found == expected for found in pool.map(run, range(64)))
