"""Which directories a run compacts, and when it looks again."""

from datetime import UTC, datetime

import pytest

from penstock.care.closed_directories import DELAY_S, end_of, is_due, next_round_s
from penstock.model.spec import CompactSpec

HOURLY, DAILY, OFTEN = CompactSpec("hour_closed"), CompactSpec("day_closed"), CompactSpec("every")
DAY = "feed/click/day=2026-11-15"
HOUR = f"{DAY}/hour=07"


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("spec", "directory", "over"),
    [
        (HOURLY, HOUR, "2026-11-15T08:00"),
        (HOURLY, f"{HOUR}/minute=05", "2026-11-15T08:00"),
        (HOURLY, "feed/click/by_country=CH/day=2026-11-15/hour=07", "2026-11-15T08:00"),
        (HOURLY, DAY, "2026-11-16T00:00"),
        (DAILY, HOUR, "2026-11-16T00:00"),
        (DAILY, DAY, "2026-11-16T00:00"),
    ],
)
def test_a_directory_is_due_once_its_time_is_over_and_a_little_more(
    spec: CompactSpec, directory: str, over: str
) -> None:
    assert not is_due(directory, spec, "UTC", at(over) + DELAY_S - 1)
    assert is_due(directory, spec, "UTC", at(over) + DELAY_S)


def test_the_end_of_a_day_is_that_of_its_zone() -> None:
    assert end_of(DAY, "America/New_York", whole_day=True) == at("2026-11-16T05:00")
    assert end_of(HOUR, "Asia/Kolkata", whole_day=False) == at("2026-11-15T02:30")


def test_an_hour_that_comes_twice_is_over_after_the_second_time() -> None:
    twice = "feed/click/day=2026-10-25/hour=02"
    assert end_of(twice, "Europe/Zurich", whole_day=False) == at("2026-10-25T02:00")


@pytest.mark.parametrize(
    "directory",
    [
        "feed/click",
        "feed/click/by_country=CH",
        "feed/click/day=__HIVE_DEFAULT_PARTITION__",
        "feed/click/day=2026-11-15/hour=x",
        "feed/click/day=9999-12-31",
    ],
)
def test_a_directory_without_a_time_is_due_only_by_an_interval(directory: str) -> None:
    far = at("2027-01-01T00:00")
    assert not is_due(directory, HOURLY, "UTC", far)
    assert is_due(directory, OFTEN, "UTC", far)


def test_off_is_never_due() -> None:
    assert not is_due(DAY, CompactSpec(), "UTC", at("2030-01-01T00:00"))


@pytest.mark.parametrize(
    ("now", "again"),
    [
        ("2026-11-15T07:00", "2026-11-15T07:05"),
        ("2026-11-15T07:05", "2026-11-15T08:05"),
        ("2026-11-15T07:30", "2026-11-15T08:05"),
    ],
)
def test_it_looks_again_shortly_after_the_next_full_hour(now: str, again: str) -> None:
    assert next_round_s(HOURLY, at(now)) == next_round_s(DAILY, at(now)) == at(again)


def test_an_interval_counts_from_the_last_round() -> None:
    spec = CompactSpec("every", every_s=90.0)
    assert next_round_s(spec, 1_000.0) == 1_090.0
