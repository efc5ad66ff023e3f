"""`penstock status` on lakes on a real disk: one feed that cannot be read hides no other."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.cli.commands import status
from penstock.cli.main import main
from penstock.cli.source_connection import AskedSources
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec, LakeSpec
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.ports.source.errors import KafkaUnavailable
from penstock.protocol.feed_book.feed_journal import FeedJournal
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID
from tests.simulator.programs import FEED, LAKE, surroundings

OTHER = "other"


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """Two feeds that have run, in the order of the configuration."""
    found = DiskLake(tmp_path)
    delivered(found.room(["a", "b", "a"]))
    journal = FeedJournal(found.store, Layout(OTHER), LAKE, surroundings(OTHER))
    fold = journal.open()
    journal.bind(fold, CLUSTER, "parquet")
    journal.claim(fold, "me")
    return found


def damage(lake: DiskLake, feed: str) -> None:
    """Cut the second entry of a journal."""
    entry = lake.root / "_penstock" / feed / "journal" / "0" / f"{1:020}.json"
    entry.write_bytes(entry.read_bytes()[:-3])


class OneOfTwo:
    """Sources of two feeds, of which one does not answer."""

    def __init__(self, unanswered: str, feed: str = "") -> None:
        self._unanswered = unanswered
        self._feed = feed

    def of(self, feed: FeedSpec) -> "OneOfTwo":
        return OneOfTwo(self._unanswered, feed.name)

    def look(self) -> Available:
        """One partition, with more than was delivered."""
        if self._feed == self._unanswered:
            raise KafkaUnavailable("nowhere:1", "no answer")
        offsets = {0: PartitionOffsets(0, 10)}
        return Available(CLUSTER, (TopicOffsets(TOPIC, TOPIC_ID, offsets),))


@pytest.mark.parametrize(("bad", "good"), [(FEED, OTHER), (OTHER, FEED)])
def test_a_damaged_journal_hides_no_other_feed(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], bad: str, good: str
) -> None:
    damage(lake, bad)
    assert main(lake.words("status")) == 5
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()] == ["feed", good]
    assert told.err.startswith(f"{bad}: ENTRY_DAMAGED")


@pytest.mark.parametrize(("bad", "good"), [(FEED, OTHER), (OTHER, FEED)])
def test_programs_get_an_object_for_every_feed_that_can_be_read_and_nothing_else(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], bad: str, good: str
) -> None:
    damage(lake, bad)
    assert main(lake.words("status", "--output", "json")) == 5
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)["feed"] == good


def test_all_feeds_are_told_when_none_can_be_read_and_the_worst_code_is_returned(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    for feed in (FEED, OTHER):
        damage(lake, feed)
    assert main(lake.words("status")) == 5
    told = capsys.readouterr()
    assert told.out == ""
    assert [line.split(":")[0] for line in told.err.splitlines() if "DAMAGED" in line] == [
        FEED,
        OTHER,
    ]


def test_whole_feeds_are_shown_and_all_is_well(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("status", "--output", "json")) == 0
    shown = [json.loads(line)["feed"] for line in capsys.readouterr().out.splitlines()]
    assert shown == [FEED, OTHER]


def test_live_ends_that_a_source_does_not_tell_hide_no_other_feed(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def asking(_spec: LakeSpec) -> Iterator[AskedSources]:
        yield cast(Any, OneOfTwo(unanswered=OTHER))

    monkeypatch.setattr(status, "asking_sources", asking)
    assert main(lake.words("status", "--live", "--output", "json")) == 1
    told = capsys.readouterr()
    [row] = [json.loads(line) for line in told.out.splitlines()]
    assert (row["feed"], row["lag_records"]) == (FEED, 7)
    assert told.err.startswith(f"{OTHER}: KAFKA_UNAVAILABLE")
