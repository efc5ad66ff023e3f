"""`penstock audit` on lakes on a real disk: what it prints, and its exit codes."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.care.seek import Approval, accept_gaps
from penstock.cli.audit_progress import Ticker
from penstock.cli.main import main
from tests.helpers.journals import LAYOUT, an_owner, covered, decided_only, delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.kafka import BAD, FILTERED, MARKER
from tests.simulator.programs import FEED, Room

FATES = ["a", BAD, FILTERED, MARKER, "b", "a"]


@pytest.fixture
def lake(tmp_path: Path) -> DiskLake:
    return DiskLake(tmp_path)


@pytest.fixture
def room(lake: DiskLake) -> Room:
    """A lake to which everything was delivered."""
    return delivered(lake.room(FATES))


def receipt(lake: DiskLake, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, Any]:
    """What an audit of the feed prints for programs."""
    assert main(lake.words("audit", FEED, "--output", "json")) == code
    [line] = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert isinstance(found, dict)
    return found


@pytest.mark.usefixtures("room")
def test_a_whole_lake_gets_a_receipt_with_the_sums(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    found = receipt(lake, capsys)
    wanted = {
        "verdict": "ok", "feed": FEED, "windows": 3, "read": 5, "written": 3, "quarantined": 1,
        "filtered": 1, "empty": 1, "given_up": 0, "differences": [], "pending": [],
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted
    files = [*lake.files(), *lake.files(f"_penstock/{FEED}/quarantine")]
    assert found["files"] == len(files)
    assert found["size_bytes"] == sum(file.stat().st_size for file in files)
    [part] = found["partitions"]
    assert (part["topic"], part["start"], part["watermark"]) == ("events", 0, 6)


def test_people_read_one_fact_a_line(
    lake: DiskLake, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    accept_gaps(room.journal(), [covered(6, 8)], Approval("ann", "expired\x1b[2J"))
    assert main(lake.words("audit", FEED)) == 0
    printed = capsys.readouterr().out
    assert f"feed       {FEED}\n" in printed
    assert (
        "partition  events/0 0..8\n"
        "           written 3, quarantined 1, filtered 1, empty 1, given up 2\n" in printed
    )
    assert "given up   2 offsets of events/0 [6, 8), gap in entry" in printed
    assert "by ann: expired\\x1b[2J " in " ".join(printed.split())
    assert max(map(len, printed.splitlines())) <= 80
    assert printed.endswith(
        "verdict    ok: every offset is accounted for, and every file is in its place\n"
    )


def test_a_window_that_is_not_published_yet_is_said_to_be_pending(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    decided_only(an_owner(lake.room(["a"])))
    assert main(lake.words("audit", FEED)) == 0
    printed = capsys.readouterr().out
    assert "pending    entry 3, a: 1 file, 1 row decided, not yet visible\n" in printed
    assert "verdict    ok: every offset is accounted for; some files" in printed


@pytest.mark.usefixtures("room")
def test_a_removed_file_is_a_difference_with_its_name_and_offsets(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.files(f"{FEED}/a")[0]
    victim.unlink()
    assert main(lake.words("audit", FEED)) == 4
    told = capsys.readouterr()
    name = victim.relative_to(lake.root).as_posix()
    assert (
        f"DIFFERENT  file missing\n           {name}\n           it is gone, with 1 row\n"
        "           entry 3, events/0 [0, 2)\n"
        "verdict    different: 1 difference, see above\n"
    ) in told.out
    assert "AUDIT_DIFFERENCE" in told.err


@pytest.mark.usefixtures("room")
def test_a_truncated_file_is_a_difference(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    victim = lake.files(f"_penstock/{FEED}/quarantine")[0]
    with victim.open("r+b") as file:
        file.truncate(3)
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert difference["kind"] == "file_size"
    assert difference["file"] == victim.relative_to(lake.root).as_posix()
    assert difference["ranges"][0]["topic"] == "events"


@pytest.mark.usefixtures("room")
def test_a_foreign_file_is_a_difference_and_its_name_cannot_drive_the_terminal(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    (lake.files()[0].parent / "x\x1b]0;owned\x07.parquet").write_bytes(b"x")
    assert main(lake.words("audit", FEED)) == 4
    printed = capsys.readouterr().out
    assert "file foreign" in printed
    assert "x\\x1b]0;owned\\x07.parquet" in printed
    assert "\x1b" not in printed


@pytest.mark.usefixtures("room")
def test_an_edited_entry_is_a_difference_and_what_comes_before_it_is_told(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = lake.root / LAYOUT.entry(4)
    entry.write_bytes(entry.read_bytes().replace(b'"filtered":1', b'"filtered":2'))
    found = receipt(lake, capsys, code=4)
    [difference] = found["differences"]
    assert (difference["kind"], difference["file"]) == ("journal", LAYOUT.entry(4))
    assert difference["found"].startswith("ENTRY_DAMAGED: ")
    assert (found["entries"], found["windows"]) == (4, 1)


@pytest.mark.usefixtures("room")
def test_a_journal_that_is_gone_is_no_first_start(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    for entry in (lake.root / LAYOUT.journal).rglob("*.json"):
        entry.unlink()
    for directory in (LAYOUT.checkpoints, LAYOUT.done):
        for file in (lake.root / directory).rglob("*.json"):
            file.unlink()
    [difference] = receipt(lake, capsys, code=4)["differences"]
    assert difference["file"] == LAYOUT.tail(5)
    assert difference["found"].startswith("JOURNAL_MISSING: ")


@pytest.mark.usefixtures("room")
def test_of_all_feeds_one_that_never_ran_does_not_hide_the_others(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("audit", "--output", "json")) == 2
    told = capsys.readouterr()
    assert [json.loads(line)["feed"] for line in told.out.splitlines()] == [FEED]
    assert "Nothing was delivered by feed 'other' yet." in told.err
    lake.files()[0].unlink()
    assert main(lake.words("audit")) == 4


def test_a_feed_that_is_not_configured_is_named(
    lake: DiskLake, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(lake.words("audit", "nobody")) == 2
    assert "There is no feed nobody" in capsys.readouterr().err


def test_a_lake_that_is_not_there_is_not_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = DiskLake(tmp_path)
    lake.config.write_text(lake.config.read_text().replace("./lake", "./elsewhere"))
    assert main(lake.words("audit")) == 2
    assert "There is no lake" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere").exists()


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_for_terminals_and_for_those_who_wait() -> None:
    now = [0.0]
    terminal, file = Terminal(), io.StringIO()
    tickers = [Ticker(out, lambda: now[0]) for out in (terminal, file)]
    for at in (0.5, 0.9, 1.1, 1.2, 2.0):
        now[0] = at
        for ticker in tickers:
            ticker("entries", int(at * 10), 30)
    for ticker in tickers:
        ticker.close()
    assert file.getvalue() == ""
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown == ["", "audit: entries 11 of 30", "audit: entries 20 of 30", ""]
