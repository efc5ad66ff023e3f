"""The table of `penstock status`: what it shows, and that it fits."""

import msgspec
import pytest

from penstock.cli.commands.status import OLD_LAG_S, sentences_of
from penstock.cli.common import print_rows
from penstock.cli.status_rows import COLUMNS, quarantined, rows_of
from penstock.model.entries import Counts
from penstock.status.snapshot import FeedSnapshot, PartitionSnapshot, snapshot
from tests.helpers.journals import BEGINNING, told
from tests.simulator.kafka import TOPIC

NOW_S = 1_800_000_000.0
NEW = snapshot("events", told(*BEGINNING), None, None, NOW_S)


def busy(feed: str) -> FeedSnapshot:
    """A feed with large numbers everywhere."""
    places = tuple(PartitionSnapshot(TOPIC, n, 10**12, None, None, None) for n in range(4))
    return msgspec.structs.replace(
        NEW,
        feed=feed,
        lag_records=123_456_789,
        lag_seconds=1e6,
        freshness_seconds=3e6,
        windows=123_456,
        last_window_at="2026-11-18T02:30:00.000+00:00",
        last_window_age_s=200.0,
        counts=Counts(read=10**9, quarantined=123_449),
        left_quarantine=123_397,
        parked={"a": "why"},
        partitions=places,
    )


@pytest.mark.parametrize("name", ["e", "x" * 30, "y" * 100])
def test_the_table_fits_a_hundred_columns_and_wide_shows_the_rest(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    feeds = [busy(name), NEW]
    print_rows(rows_of(feeds, wide=False), "text")
    narrow = capsys.readouterr().out.splitlines()
    assert max(map(len, narrow)) <= COLUMNS
    print_rows(rows_of(feeds, wide=True), "text")
    wide = capsys.readouterr().out.splitlines()
    assert name in wide[1]
    assert f"{TOPIC}/3:{10**12}" in wide[1]
    assert "watermark" in wide[0]
    assert "watermark" not in narrow[0]


def test_what_is_not_known_is_not_guessed() -> None:
    (row,) = rows_of([NEW], wide=False)
    assert (row["lag"], row["lag time"], row["newest read"]) == ("?", "?", "?")
    assert row["last window"] == "-"


def test_no_feed_gives_no_row() -> None:
    assert rows_of([], wide=False) == []
    assert rows_of([], wide=True) == []


def test_records_that_wait_in_the_quarantine_are_told_from_all_that_came() -> None:
    assert quarantined(NEW) == "0"
    assert quarantined(busy("events")) == "52 of 123,449"


@pytest.mark.parametrize(
    ("state", "age_s", "is_told"),
    [
        ("running", OLD_LAG_S + 70, True),
        ("running", OLD_LAG_S, False),
        ("running", None, False),
        ("stopped", OLD_LAG_S + 70, False),
    ],
)
def test_a_lag_that_a_running_owner_saw_long_ago_is_not_taken_for_the_present_one(
    state: str, age_s: float | None, is_told: bool
) -> None:
    """Goal: while Kafka is down, `running` and a lag of 0 are not all that is shown."""
    found = msgspec.structs.replace(NEW, owner_state=state, lag_records=0, as_of_age_s=age_s)
    sentences = [line for line in sentences_of(found) if line.startswith("lag is that of 2m ago")]
    assert bool(sentences) == is_told
