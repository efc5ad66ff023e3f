"""A feed in trouble as other processes see it: `status` and `check`."""

import json
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.cli.commands import check, offsets
from penstock.cli.commands.check import Finding
from penstock.cli.halted_check import tell_trouble
from penstock.cli.main import main
from penstock.config.load import load
from penstock.model.layout import Layout
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedLease, FeedTrouble, Note
from penstock.protocol.journal.lease import Contender
from penstock.runtime.this_process import is_dead, this_process
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.simulator.programs import FEED, LAKE, surroundings

Captured = pytest.CaptureFixture[str]
SINCE = "2026-11-18T09:00:00.000+00:00"
TROUBLE = FeedTrouble("KAFKA_UNAVAILABLE", "Kafka at kafka:9092 did not answer: no.", SINCE, 7)
LINE = f"in trouble since {SINCE}, 7 failures: KAFKA_UNAVAILABLE: {TROUBLE.sentence}"


class Owned:
    """A lake on disk whose feed is owned by this process, which beats when it is told to."""

    def __init__(self, directory: Path) -> None:
        self.lake = DiskLake(directory)
        delivered(self.lake.room(["a", "b", "a"]))
        self.around = surroundings("owner")
        me = Contender("me", this_process(), is_dead)
        self.lease = FeedLease(self.lake.store, Layout(FEED), me, self.around)
        assert self.lease.try_take() is None

    def beats(self, trouble: FeedTrouble | None, age_s: float = 0.0) -> None:
        """Leave a sign of life that is so old by the clock of commands."""
        self.lease.beat(Note(epoch=1, trouble=trouble))
        [key] = sorted(list_keys(self.lake.store, Layout(FEED).lease))[-1:]
        path = self.lake.root / key
        beat = json.loads(path.read_bytes())
        at = datetime.now(UTC).timestamp() - age_s
        beat["at"] = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        path.chmod(0o644)
        path.write_text(json.dumps(beat))

    def status(self, *words: str) -> int:
        return main(self.lake.words("status", FEED, *words))

    def check(self) -> Finding:
        finding = Finding("feed")
        journal = FeedJournal(self.lake.store, Layout(FEED), LAKE, self.around)
        tell_trouble(finding, journal, datetime.now(UTC).timestamp())
        return finding


@pytest.fixture
def owned(tmp_path: Path) -> Owned:
    return Owned(tmp_path)


def test_status_shows_a_feed_in_trouble_and_what_fails_since_when(
    owned: Owned, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    owned.beats(TROUBLE)
    assert owned.status() == 0
    table, row, *lines = capsys.readouterr().out.splitlines()
    assert table.split()[:2] == ["feed", "state"]
    assert row.startswith(f"{FEED}  in trouble  ")
    assert f"{FEED}: {LINE}" in lines


def test_programs_get_the_trouble_in_fields_of_its_own(owned: Owned, capsys: Captured) -> None:
    owned.beats(TROUBLE)
    assert owned.status("--output", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["owner_state"]) == ("in trouble", "running")
    assert found["trouble"] == {
        "code": "KAFKA_UNAVAILABLE",
        "sentence": TROUBLE.sentence,
        "since": SINCE,
        "tries": 7,
    }


def test_the_trouble_is_gone_with_the_next_beat_that_has_none(
    owned: Owned, capsys: Captured
) -> None:
    owned.beats(TROUBLE)
    owned.beats(None)
    assert owned.status("--output", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["trouble"]) == ("running", None)
    assert owned.check().found == []


def test_check_warns_of_a_run_that_is_in_trouble(owned: Owned) -> None:
    owned.beats(TROUBLE)
    finding = owned.check()
    assert (finding.state, finding.exit_code) == ("warning", 0)
    assert finding.found == [f"the run that owns the feed is {LINE}"]


def test_check_says_so_whether_its_source_answers_or_not(owned: Owned) -> None:
    owned.beats(TROUBLE)
    spec = load(owned.lake.config, {})
    [feed] = [each for each in spec.feeds if each.name == FEED]
    assert any(LINE in each for each in check._from_journal(spec, feed).found)


def test_the_trouble_of_an_owner_that_is_gone_is_none_of_now(owned: Owned) -> None:
    owned.beats(TROUBLE, age_s=60.0)
    assert owned.check().found == []


def test_who_decides_about_offsets_is_told_when_a_run_takes_it_up(capsys: Captured) -> None:
    offsets._tell(Namespace(execute=True, reason="r"), "3 offsets given up")
    told = capsys.readouterr().err
    assert told.startswith("done: 3 offsets given up; a live run takes it up within 10 seconds")
