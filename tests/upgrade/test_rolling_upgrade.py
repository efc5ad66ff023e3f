"""Two versions side by side on one lake: whoever is older stops, and nothing is lost or doubled.

Each owner is a process with another version of Penstock on its path. It stops itself at an exact
point of a window, and is then killed or let go on while the other version has worked.
"""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import __version__
from penstock.audit.shallow import audit
from penstock.model.layout import Layout
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.journal.lake_identity import LAKE_FORMAT, LAKE_KEY, LakeIdentity
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from tests.helpers.lakes_on_disk import CONFIG
from tests.simulator.programs import FEED, LAKE, surroundings
from tests.upgrade.older_versions import unpacked_package

OLD_ONES = ("0.1.0", "0.3.0", "0.4.0")  # formats 1, 3 and 4; their wheels lie in tests/fixtures
KNOWS_BEATS = ("0.4.0",)  # their beats have the present format
SCRIPT = Path(__file__).with_name("owner_process.py")
SOURCE = Path(__file__).parents[2] / "src"
POINTS = ("stage", "decide", "publish", "mark")
LIMIT_S = 120.0

Said = dict[str, Any]


class Running:
    """An owner process; it can be stopped, and is then killed or let go on."""

    def __init__(self, package: Path, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *words],
            env={**os.environ, "PYTHONPATH": str(package)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hears(self) -> Said:
        """The next thing it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"it said nothing: {self._process.communicate(timeout=LIMIT_S)}")
        said = json.loads(line)
        assert isinstance(said, dict)
        return said

    def stops(self) -> str:
        """Wait until it has stopped itself; where."""
        said = self.hears()
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)
        return str(said["stopped"])

    def goes_on(self) -> None:
        """SIGCONT."""
        self._process.send_signal(signal.SIGCONT)

    def is_killed(self) -> None:
        """SIGKILL, which also ends one that is stopped."""
        self._process.kill()
        self._process.communicate(timeout=LIMIT_S)

    def ends(self) -> Said:
        """Wait for its end; the last thing it says, with its exit code."""
        out, err = self._process.communicate(timeout=LIMIT_S)
        assert not err, err
        said: Said = json.loads(out.splitlines()[-1])
        return {**said, "exit": self._process.returncode}


class Site:
    """One lake, and owners of two versions."""

    def __init__(self, directory: Path, old_package: Path) -> None:
        self.root = directory / "lake"
        self.config = directory / "penstock.yaml"
        self.config.write_text(CONFIG)
        self.store = LocalStore(self.root)
        self.store.create(LAKE_KEY, msgspec.json.encode(LakeIdentity(LAKE_FORMAT, LAKE)))
        self._packages = {"old": old_package, "new": SOURCE}
        self.started: list[Running] = []

    def start(self, version: str, records: int, *words: str) -> Running:
        """An owner of the old or the new version, for so many records."""
        package = self._packages[version]
        running = Running(package, str(self.root), version, str(records), *words)
        self.started.append(running)
        return running

    def old_command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of the old version."""
        return subprocess.run(
            [sys.executable, "-m", "penstock", *words, "-c", str(self.config)],
            env={**os.environ, "PYTHONPATH": str(self._packages["old"])},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_S,
        )

    def rows(self) -> Counter[int]:
        """How often each record is in the data."""
        found: Counter[int] = Counter()
        for path in (self.root / FEED).rglob("*.rows"):
            found.update(json.loads(path.read_bytes()))
        return found

    def snapshot(self) -> dict[str, bytes]:
        """Everything that decides or is delivered: neither beats nor staged files."""
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and not {"lease", "staging", "tmp"} & set(path.parts)
        }

    def is_whole(self, records: int) -> None:
        """Every record once, nothing undone, and the audit agrees."""
        assert self.rows() == Counter(range(records))
        journal = FeedJournal(self.store, Layout(FEED), LAKE, surroundings("auditor"))
        assert journal.open().state.undone == {}
        receipt = audit(journal)
        assert (receipt.verdict, receipt.differences) == ("ok", ())


@pytest.fixture(scope="module", params=OLD_ONES)
def old_version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def old_package(old_version: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked_package(old_version, tmp_path_factory.mktemp("old"))


@pytest.fixture
def site(tmp_path: Path, old_package: Path) -> Iterator[Site]:
    found = Site(tmp_path, old_package)
    yield found
    for running in found.started:
        running.is_killed()


def test_the_two_versions_are_two_versions(site: Site) -> None:
    old = site.start("old", 2).ends()["version"]
    assert old in OLD_ONES
    assert site.start("new", 2).ends()["version"] == __version__ != old


@pytest.mark.parametrize("point", POINTS)
def test_a_new_standby_takes_over_when_an_old_owner_dies(site: Site, point: str) -> None:
    """Goal: what the old version decided is finished by the new one. Method: kill -9 at a point."""
    old = site.start("old", 5, "--stop-at", point)
    assert old.stops() == point
    new = site.start("new", 7)
    assert new.hears() == {"version": __version__, "waits": "old"}
    old.is_killed()
    assert new.ends()["ended"] == "idle"
    site.is_whole(7)


@pytest.mark.parametrize("point", POINTS)
def test_an_old_owner_that_was_paused_stops_without_harm(site: Site, point: str) -> None:
    """Goal: a zombie of the old version changes nothing. Method: SIGSTOP, new owner, SIGCONT."""
    old = site.start("old", 7, "--stop-at", point)
    assert old.stops() == point
    assert site.start("new", 9, "--ignore-lease").ends()["ended"] == "idle"
    before = site.snapshot()
    old.goes_on()
    ended = old.ends()
    assert (ended["ended"], ended["exit"]) == ("ENTRY_NEWER", 5)
    assert site.snapshot() == before
    site.is_whole(9)


@pytest.mark.parametrize("point", POINTS)
def test_an_old_standby_says_upgrade_and_never_delivers_anything(site: Site, point: str) -> None:
    """Goal: the way back is refused, beside a live owner, too. Method: pause new, start old."""
    new = site.start("new", 7, "--stop-at", point)
    assert new.stops() == point
    before = site.snapshot()
    ended = site.start("old", 9, "--ignore-lease").ends()
    assert (ended["ended"], ended["exit"]) == ("ENTRY_NEWER", 5)
    assert "upgrade this" in ended["sentence"]
    assert len(ended["sentence"].splitlines()) == 1
    assert site.snapshot() == before
    new.goes_on()
    assert new.ends()["ended"] == "idle"
    site.is_whole(7)


def test_an_old_standby_that_waited_for_the_lease_says_upgrade_when_it_gets_it(
    site: Site, old_version: str
) -> None:
    new = site.start("new", 5, "--stop-at", "publish")
    assert new.stops() == "publish"
    old = site.start("old", 7)
    whom = "new" if old_version in KNOWS_BEATS else "unknown"
    assert old.hears()["waits"] == whom, "of a newer beat it knows that somebody is alive"
    new.is_killed()
    before = site.snapshot()
    assert old.ends()["ended"] == "ENTRY_NEWER"
    assert site.snapshot() == before
    assert site.start("new", 7, "--ignore-lease").ends()["ended"] == "idle"
    site.is_whole(7)


def test_commands_of_the_old_version_say_upgrade(site: Site) -> None:
    assert site.start("old", 3).ends()["ended"] == "idle"
    assert site.start("new", 5).ends()["ended"] == "idle"
    before = site.snapshot()
    for words in (("audit", FEED), ("status",), ("files", FEED)):
        done = site.old_command(*words)
        assert "upgrade this" in done.stdout + done.stderr, words
    assert site.snapshot() == before


def test_on_a_sealed_journal_the_old_version_stops_and_the_new_one_goes_on(
    site: Site,
) -> None:
    """Goal: an older version that starts on it stops. It cannot say why: 0.1.0 misses entry 0."""
    assert site.start("old", 5).ends()["ended"] == "idle"
    assert site.start("new", 11).ends()["ended"] == "idle"
    around = surroundings("upkeep")
    journal = FeedJournal(site.store, Layout(FEED), LAKE, around)
    state = journal.open().state
    write_checkpoint(journal, state)
    update_inventory(journal, around, every=1)
    sealed = seal_old(journal, SealPolicy(0.0), state.epoch, around.now() + 1e9)
    assert sealed is not None
    assert sealed.first == 0
    before = site.snapshot()
    ended = site.start("old", 13, "--ignore-lease").ends()
    assert (ended["ended"], ended["exit"]) in (("ENTRY_NEWER", 5), ("ENTRY_MISSING", 5))
    for words in (("audit", FEED), ("files", FEED)):
        assert site.old_command(*words).returncode != 0, words
    assert site.snapshot() == before
    assert site.start("new", 13, "--ignore-lease").ends()["ended"] == "idle"
    site.is_whole(13)
