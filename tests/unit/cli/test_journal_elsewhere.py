"""Every command with its journal elsewhere: it says what it says where the lake keeps it."""

import json
import re
import shutil
from pathlib import Path

import pytest

from penstock.cli.common import lake_store
from penstock.cli.journal_dump import main as dump
from penstock.cli.main import main
from penstock.config.load import load
from penstock.ports.store.split_store import SplitStore
from tests.helpers.journals import LAYOUT, an_owner
from tests.helpers.lakes_on_disk import DiskLake, ShreddedSource
from tests.helpers.quarantined_records import GOOD, SPEC
from tests.simulator.programs import FEED

PAYLOADS = [GOOD, b"torn", *[b'{"type": "order", "at": 1799990000}'] * 3]

COMMANDS = [
    ("status",),
    ("status", FEED, "--config-of", "1-1"),
    ("audit", FEED),
    ("files", FEED),
    ("files", f"{FEED}/click", "--output", "json"),
    ("where", FEED, "events/0/2"),
    ("errors", "list", FEED),
    ("errors", "list", FEED, "--halted"),
    ("errors", "show", FEED, "events/0/1"),
    ("errors", "accept", FEED, "--reason", "test"),
    ("schema", "show", f"{FEED}/click"),
    ("schema", "history", f"{FEED}/click"),
    ("schema", "conflicts", FEED),
    ("cost", FEED),
    ("cost", "--by", "dataset"),
    ("clean", FEED),
    ("unpark", FEED, "click"),
]
COMMAND_IDS = [" ".join(words) for words in COMMANDS]


def a_lake(directory: Path, *, elsewhere: bool) -> DiskLake:
    """A lake with two datasets and a quarantine."""
    directory.mkdir()
    made = DiskLake(directory, elsewhere=elsewhere)
    owner = an_owner(made.room([]), ShreddedSource(made.stores, SPEC, PAYLOADS), max_records=3)
    while owner.run_window():
        pass
    return made


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    """One with its journal elsewhere."""
    return a_lake(tmp_path / "apart", elsewhere=True)


def plain(text: str, folder: Path) -> str:
    """What was printed, without the folder and without seconds that were measured."""
    return re.sub(r"\d+\.\d+| +", " ", text.replace(str(folder), "FOLDER"))


@pytest.mark.parametrize("words", COMMANDS, ids=COMMAND_IDS)
def test_a_command_answers_as_if_the_journal_lay_in_the_lake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    """Method: two lakes that differ in nothing else, and what is printed of each."""
    said = []
    for elsewhere in (False, True):
        folder = tmp_path / ("apart" if elsewhere else "inside")
        made = a_lake(folder, elsewhere=elsewhere)
        code = main(made.words(*words))
        told = capsys.readouterr()
        said.append((code, plain(told.out, folder), plain(told.err, folder)))
    assert said[0] == said[1]


@pytest.mark.parametrize("words", COMMANDS, ids=COMMAND_IDS)
@pytest.mark.parametrize("place", [None, "./elsewhere"])
def test_a_command_with_another_place_is_refused(
    lake: DiskLake, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], place: str | None
) -> None:
    text = lake.config.read_text().replace("journal: ./journal\n", "")
    lake.config.write_text(text + (f"journal: {place}\n" if place else ""))
    before = sorted(map(str, lake.config.parent.rglob("*")))
    code = main(lake.words(*words))
    told = capsys.readouterr()
    assert "JOURNAL_ELSEWHERE" in told.out + told.err
    assert f"journal: {lake.journals}" in told.out + told.err
    assert code == 5
    after = set(map(str, lake.config.parent.rglob("*"))) - set(before)
    assert not {path for path in after if Path(path).is_file()}


def test_a_journal_that_is_not_there_is_told_and_not_made(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(lake.journals / "_penstock" / FEED)
    assert main(lake.words("files", FEED)) == 5
    assert f"There is no journal at '{lake.journals}/_penstock/feed/journal'" in (
        capsys.readouterr().err
    )


def test_a_lake_that_is_not_there_is_told_and_not_made(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.root.rename(lake.root.with_name("unmounted"))
    lake.root.mkdir()
    assert main(lake.words("audit", FEED)) == 5
    assert "LAKE_MISSING" in capsys.readouterr().err
    assert not any(path.is_file() for path in lake.root.rglob("*"))


def test_a_journal_of_another_lake_is_told(
    tmp_path: Path, lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = lake.journals / "_penstock" / "lake.json"
    found = json.loads(identity.read_text())
    identity.unlink()
    identity.write_text(json.dumps(found | {"id": "another"}))
    assert main(lake.words("status", FEED)) == 5
    told = capsys.readouterr()
    assert "JOURNAL_FOREIGN" in told.out + told.err


def test_garbage_is_removed_by_hand(lake: DiskLake, capsys: pytest.CaptureFixture[str]) -> None:
    room = lake.room([])
    room.store.create(LAYOUT.manifest("1-7-abc"), b"")
    an_owner(room)
    assert main(lake.words("clean", FEED, "--execute")) == 0
    assert "1-7" in capsys.readouterr().out
    assert room.store.head(LAYOUT.manifest("1-7-abc")) is None


def test_the_dump_of_a_journal_is_told_its_place(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dump([str(lake.root), FEED]) == 5
    assert f"write `journal: {lake.journals}`" in capsys.readouterr().err
    assert dump([str(lake.root), FEED, "--journal", str(lake.journals)]) == 0
    assert "watermark  events/0 5" in capsys.readouterr().out


def test_the_configuration_gives_both_stores_as_one(lake: DiskLake) -> None:
    store = lake_store(load(lake.config, {}))
    assert isinstance(store, SplitStore)
    assert store.place == str(lake.journals)
    assert store.head(LAYOUT.entry(0)) is not None
