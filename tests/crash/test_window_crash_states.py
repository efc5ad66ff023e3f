"""Power cuts during a whole window on a real disk: every prefix, with un-synced work lost.

The file operations of an owner on the local store are recorded. For every prefix of them, and
every choice of up to three operations that were not synced yet, the tree that a power cut would
leave is built in a real directory. A new owner is started there, and must bring every record to
its one place; starting it twice must change nothing more.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from shutil import rmtree

import pytest

from penstock.care.seek import unpark
from penstock.errors import PenstockError
from penstock.model.layout import Layout
from penstock.ports.store.local.disk import Disk, OpenFile
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.testing.crash_states import EMPTY, CrashState, crash_states, materialise
from penstock.testing.fault_disks import RecordingDisk
from penstock.testing.memory_store import Shelf
from tests.simulator.kafka import BAD, MISFIT, STOPPING, SimKafka, SimSource
from tests.simulator.oracle import Oracle
from tests.simulator.programs import (
    FEED,
    LAKE,
    GivenRules,
    Room,
    directory_compactor,
    is_stopping,
    surroundings,
)
from tests.simulator.story import PERSON
from tests.simulator.world import beyond_claims

TEMPORARY = ("_penstock/tmp",)


class NoSync(Disk):
    """For the recoveries: thousands of them, and nobody pulls the plug on those."""

    def sync_file(self, file: OpenFile) -> None:
        """Not at all."""

    def sync_directory(self, path: str) -> None:
        """Not at all."""


def small_kafka() -> SimKafka:
    """Two partitions; the first window takes one record of each, the last the rest."""
    return SimKafka({0: ["a", BAD], 1: ["b"]})


def stopping_kafka() -> SimKafka:
    """The same, where the second window stops a dataset of which it has a record."""
    return SimKafka({0: ["a", MISFIT], 1: ["b", "a"]})


def run_owner(
    root: Path, name: str, disk: Disk, max_windows: int = 9, kafka: SimKafka | None = None
) -> None:
    """A whole life of an owner."""
    store = LocalStore(root, disk, random_word=surroundings(name).nonce)
    around = surroundings(name)
    journal = FeedJournal(store, Layout(FEED), LAKE, around)
    source = SimSource(kafka or small_kafka(), store, around)
    spec = OwnerSpec(owner=name, policy=WindowPolicy(2), files="parquet")
    owner = Owner(journal, source, around, spec, GivenRules(stopping=is_stopping))
    owner.take_over()
    for _ in range(max_windows):
        if not owner.run_window():
            break


def shelf_of(root: Path) -> Shelf:
    """What lies in a directory, as the oracle reads it."""
    objects: dict[str, bytes] = {}
    staged: dict[str, bytes] = {}
    for path in sorted(root.rglob("*")):
        key = path.relative_to(root).as_posix()
        if path.is_file() and not key.startswith("_penstock/tmp/"):
            (staged if key.endswith(".staged") else objects)[key] = path.read_bytes()
    shelf = Shelf.empty()
    for key, data in objects.items():
        shelf = shelf.with_object(key, data)
    for key, data in staged.items():
        shelf = shelf.with_staged(key, data)
    return shelf


def recorded(root: Path, name: str, max_windows: int) -> RecordingDisk:
    """The operations of one life, on a real disk."""
    disk = RecordingDisk(root)
    run_owner(root, name, disk, max_windows)
    return disk


def recover_and_check(tmp_path: Path, state: CrashState, kafka: SimKafka | None = None) -> None:
    """Build the tree, recover in it, and let the oracle judge; then recover again."""
    root, kafka = tmp_path / "crashed", kafka or small_kafka()
    root.mkdir()
    try:
        materialise(state, root)
        run_owner(root, "second", NoSync(), kafka=kafka)
        oracle = Oracle(kafka)
        oracle.check_end(shelf_of(root))
        before = beyond_claims(shelf_of(root))
        run_owner(root, "third", NoSync(), kafka=kafka)
        assert beyond_claims(shelf_of(root)) == before, "recovering twice changed something"
        oracle.check_end(shelf_of(root))
    except BaseException as error:
        error.add_note(state.description)
        raise
    finally:
        rmtree(root)


def recover_and_check_all(tmp_path: Path, found: Iterable[CrashState]) -> int:
    """Every state, one after the other; returns how many."""
    count = 0
    for state in found:
        recover_and_check(tmp_path, state)
        count += 1
    return count


def stop_and_check(tmp_path: Path, state: CrashState) -> None:
    """Recover; what is stopped stays so until a person's word, and then everything is there."""
    root, kafka = tmp_path / "crashed", stopping_kafka()
    root.mkdir()
    try:
        materialise(state, root)
        oracle = Oracle(kafka)
        for name in ("second", "third"):
            run_owner(root, name, NoSync(), kafka=kafka)
            oracle.check(shelf_of(root))
            assert oracle.story(shelf_of(root)).stopped_at.keys() == {STOPPING}
        around = surroundings("person")
        store = LocalStore(root, NoSync(), random_word=around.nonce)
        unpark(FeedJournal(store, Layout(FEED), LAKE, around), around, STOPPING, PERSON, "test")
        run_owner(root, "fourth", NoSync(), kafka=kafka)
        oracle.check_end(shelf_of(root))
    except BaseException as error:
        error.add_note(state.description)
        raise
    finally:
        rmtree(root)


def states(disk: RecordingDisk, start: CrashState = EMPTY) -> Iterator[CrashState]:
    """Each different tree once: what recovery must do depends on the tree alone."""
    yield from crash_states(disk.operations, max_dropped=3, quiet=TEMPORARY, start=start, marks=())


def test_a_power_cut_anywhere_in_two_windows_loses_and_doubles_nothing(tmp_path: Path) -> None:
    disk = recorded(tmp_path / "lake", "first", max_windows=2)
    count = recover_and_check_all(tmp_path, states(disk))
    print(f"{len(disk.operations)} operations, {count} crash states")
    assert count >= 80


def test_a_power_cut_anywhere_does_not_let_a_stopped_dataset_go_on(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path / "lake")
    run_owner(tmp_path / "lake", "first", disk, max_windows=2, kafka=stopping_kafka())
    count = 0
    for state in states(disk):
        stop_and_check(tmp_path, state)
        count += 1
    print(f"{len(disk.operations)} operations, {count} crash states")
    assert count >= 80


def test_a_second_power_cut_during_the_recovery_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """Method: record the recovery from every sixth crash state, and cut the power in that."""
    first = recorded(tmp_path / "lake", "first", max_windows=1)
    count = 0
    for number, state in enumerate(states(first)):
        if number % 6 != 5:
            continue
        root = tmp_path / f"again{number}"
        root.mkdir()
        materialise(state, root)
        disk = recorded(root, "recovering", max_windows=1)
        count += recover_and_check_all(tmp_path, states(disk, start=state))
    print(f"{count} crash states of recoveries")
    assert count > 100


def compactable_kafka() -> SimKafka:
    """Three records of one dataset: two windows with two of its files."""
    return SimKafka({0: ["a", "a"], 1: ["a"]})


def test_a_power_cut_anywhere_in_a_compaction_loses_and_doubles_nothing(tmp_path: Path) -> None:
    kafka = compactable_kafka()
    first = RecordingDisk(tmp_path / "lake")
    run_owner(tmp_path / "lake", "first", first, kafka=kafka)
    *_, delivered = crash_states(first.operations, max_dropped=0, marks=())
    root = tmp_path / "compacted"
    root.mkdir()
    materialise(delivered, root)
    disk = RecordingDisk(root)
    around = surroundings("compactor")
    store = LocalStore(root, disk, random_word=around.nonce)
    assert directory_compactor("a", most=9)(Room("compactor", store, around, kafka)) == "decided"
    count = 0
    for state in states(disk, start=delivered):
        recover_and_check(tmp_path, state, kafka)
        count += 1
    print(f"{len(disk.operations)} operations, {count} crash states of a compaction")
    assert count >= 20


class ForgetfulDisk(RecordingDisk):
    """Leaves one kind of sync out, as a careless store would."""

    def __init__(self, root: Path, forgotten: str) -> None:
        super().__init__(root)
        self._forgotten = forgotten

    def sync_file(self, file: OpenFile) -> None:
        """Only when files are not what is forgotten."""
        if self._forgotten != "files":
            super().sync_file(file)

    def sync_directory(self, path: str) -> None:
        """Only when directories are not what is forgotten."""
        if self._forgotten != "directories":
            super().sync_directory(path)


@pytest.mark.parametrize("forgotten", ["files", "directories"])
def test_a_store_that_forgets_a_kind_of_sync_is_caught(tmp_path: Path, forgotten: str) -> None:
    """Goal: this test can fail. Method: leave the syncs out and cut the power."""
    disk = ForgetfulDisk(tmp_path / "lake", forgotten)
    run_owner(tmp_path / "lake", "first", disk, max_windows=1)
    found = crash_states(disk.operations, max_dropped=1, quiet=TEMPORARY, marks=())
    with pytest.raises((AssertionError, PenstockError)):
        recover_and_check_all(tmp_path, found)
