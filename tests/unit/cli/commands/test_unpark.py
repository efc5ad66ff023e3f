"""`penstock unpark`: an operator's entry, in words that say what happens next."""

import json
from pathlib import Path

import msgspec
import pytest

from penstock.cli.main import main
from penstock.model.entries import Unpark
from penstock.protocol.journal.lake_identity import LAKE_FORMAT, LAKE_KEY, LakeIdentity
from tests.helpers.flaky_store import FOR_GOOD, FlakyStore
from tests.helpers.journals import an_owner
from tests.helpers.lakes_on_disk import CONFIG
from tests.simulator.kafka import SimKafka, SimSource
from tests.simulator.programs import FEED, LAKE, Room, surroundings


class ParkedLake:
    """A lake on disk in which the dataset `a` is parked."""

    def __init__(self, directory: Path) -> None:
        self.config = directory / "penstock.yaml"
        self.config.write_text(CONFIG)
        store = FlakyStore(directory / "lake")
        store.create(LAKE_KEY, msgspec.json.encode(LakeIdentity(LAKE_FORMAT, LAKE)))
        store.broken["a"] = FOR_GOOD
        kafka = SimKafka({0: ["a"], 1: ["b"]})
        self.room = Room("test", store, surroundings("test"), kafka)
        an_owner(self.room, SimSource(kafka, store, self.room.around)).run_window()

    def command(self, *words: str) -> int:
        return main(["unpark", *words, "-c", str(self.config)])


@pytest.fixture
def lake(tmp_path: Path) -> ParkedLake:
    return ParkedLake(tmp_path)


def test_a_parked_dataset_is_let_go_by_an_entry_with_a_name(
    lake: ParkedLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lake.command(FEED, "a", "--author", "ann", "--reason", "mended") == 0
    assert "a is tried again" in capsys.readouterr().out
    state = lake.room.journal().open().state
    assert state.parked == {}
    body = lake.room.journal().require(state.number).body
    assert body == Unpark("a", "ann", "mended")


def test_the_entry_is_printed_as_json(lake: ParkedLake, capsys: pytest.CaptureFixture[str]) -> None:
    assert lake.command(FEED, "a", "--output", "json") == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["feed"], row["dataset"]) == (FEED, "a")


def test_a_dataset_that_is_not_parked_is_refused_with_those_that_are(
    lake: ParkedLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lake.command(FEED, "b") == 2
    told = capsys.readouterr().err
    assert "Dataset 'b' of feed 'feed' is not parked." in told
    assert "Parked datasets: a." in told
