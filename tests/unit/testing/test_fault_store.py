"""The faulty store does exactly what its script says, since other tests believe it."""

import errno
from pathlib import Path

import pytest

from penstock.errors import ForeignFile, OutcomeUnknown, StoreUnavailable
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.contracts.store_staged import FINAL, STAGING, stage
from penstock.testing.fault_disks import DiskFault
from penstock.testing.fault_store import Died, Fault, FaultDisk, FaultStore, What


@pytest.fixture
def inner(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "lake")


def test_without_a_script_it_is_the_store_it_wraps(inner: LocalStore) -> None:
    store = FaultStore(inner)
    assert store.kind == "local"
    assert store.create("a", b"content") is True
    assert store.create("a", b"other") is False
    assert store.read("a") == b"content"
    assert store.head("a") == 7
    assert list_keys(store, "") == ["a"]
    store.publish(stage(store, FINAL, b"rows"))
    assert store.list_staged(STAGING, ()) == []
    assert store.sweep() == 0
    store.probe("scratch")
    store.delete("a")
    assert store.log[:3] == ["create 'a' -> True", "create 'a' -> False", "read 'a' -> 7 bytes"]


def test_a_write_that_fails_before_is_unknown_and_did_not_happen(inner: LocalStore) -> None:
    store = FaultStore(inner, [Fault("create", What.FAIL_BEFORE)])
    with pytest.raises(OutcomeUnknown):
        store.create("a", b"")
    assert inner.read("a") is None
    assert store.log == ["create 'a': not performed, no answer"]


def test_a_write_that_fails_after_is_unknown_and_did_happen(inner: LocalStore) -> None:
    store = FaultStore(inner, [Fault("create", What.FAIL_AFTER)])
    with pytest.raises(OutcomeUnknown):
        store.create("a", b"")
    assert inner.read("a") == b""
    assert store.log == ["create 'a': performed, reply lost", "(unheard) create 'a' -> True"]


@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
def test_a_read_that_fails_is_unavailable(inner: LocalStore, what: What) -> None:
    store = FaultStore(inner, [Fault("read", what), Fault("list_objects", what)])
    with pytest.raises(StoreUnavailable):
        store.read("a")
    with pytest.raises(StoreUnavailable):
        list_keys(store, "")
    assert store.read("a") is None


def test_the_error_of_a_call_is_lost_with_its_reply(inner: LocalStore) -> None:
    handle = stage(inner, FINAL, b"rows")
    inner.create(FINAL, b"foreign")
    store = FaultStore(inner, [Fault("publish", What.FAIL_AFTER)])
    with pytest.raises(OutcomeUnknown):
        store.publish(handle)
    with pytest.raises(ForeignFile):
        store.publish(handle)
    assert store.log[-1] == f"publish {FINAL!r} -> FOREIGN_FILE"


def test_a_fault_hits_the_nth_call_that_fits_its_place(inner: LocalStore) -> None:
    store = FaultStore(
        inner,
        [
            Fault("create", What.FAIL_BEFORE, "journal/*", nth=2),
            Fault("create", What.FAIL_BEFORE, lambda key: key.endswith("z")),
        ],
    )
    assert store.create("a", b"") is True
    assert store.create("journal/1", b"") is True
    assert store.create("b", b"") is True
    with pytest.raises(OutcomeUnknown):
        store.create("journal/2", b"")
    assert store.create("journal/2", b"") is True
    assert [fault.nth for fault in store.unmet()] == [1]
    with pytest.raises(OutcomeUnknown):
        store.create("z", b"")
    assert store.unmet() == []


def test_a_delayed_write_arrives_when_it_is_delivered(inner: LocalStore) -> None:
    store = FaultStore(inner, [Fault("delete", What.DELAY)])
    inner.create("a", b"")
    with pytest.raises(OutcomeUnknown):
        store.delete("a")
    assert inner.read("a") == b""
    assert store.deliver() == 1
    assert inner.read("a") is None
    assert store.deliver() == 0


def test_a_delayed_write_arrives_right_after_the_call_it_waits_for(inner: LocalStore) -> None:
    fault = Fault("create", What.DELAY, "a", until="create", until_place="b*")
    store = FaultStore(inner, [fault])
    with pytest.raises(OutcomeUnknown):
        store.create("a", b"")
    store.create("c", b"")
    assert inner.read("a") is None
    store.create("b1", b"")
    assert inner.read("a") == b""
    assert store.log[-2:] == ["create 'b1' -> True", "(unheard) (late) create 'a' -> True"]


@pytest.mark.parametrize(("what", "lands"), [(What.DIE_BEFORE, False), (What.DIE_AFTER, True)])
def test_a_dead_process_makes_no_more_calls(inner: LocalStore, what: What, lands: bool) -> None:
    store = FaultStore(inner, [Fault("create", What.DELAY, "late"), Fault("create", what, "a")])
    with pytest.raises(OutcomeUnknown):
        store.create("late", b"")
    with pytest.raises(Died):
        store.create("a", b"")
    assert (inner.read("a") is not None) is lands
    for _ in range(2):
        with pytest.raises(Died):
            store.read("a")
    assert store.deliver() == 1, "what it had sent is still on its way"
    assert inner.read("late") == b""


def test_the_calls_of_a_staged_writer_can_fail_too(inner: LocalStore) -> None:
    store = FaultStore(inner, [Fault("finish", What.DIE_BEFORE, FINAL)])
    with pytest.raises(Died):
        stage(store, FINAL, b"rows")
    assert [ref.window for ref in inner.list_staged(STAGING, ())] == ["0-1"]
    other = FaultStore(inner, [Fault("write", What.FAIL_BEFORE, nth=2)])
    with pytest.raises(OutcomeUnknown):
        stage(other, FINAL, b"rows", "t1")


def test_a_script_with_an_impossible_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="no call"):
        Fault("rename", What.FAIL_BEFORE)
    with pytest.raises(ValueError, match="cannot arrive late"):
        Fault("read", What.DELAY)
    with pytest.raises(ValueError, match="no call"):
        DiskFault("rename")


def test_a_torn_write_leaves_the_first_bytes_and_a_dead_process(tmp_path: Path) -> None:
    disk = FaultDisk([DiskFault("append", kept_bytes=4)])
    path = str(tmp_path / "file")
    with pytest.raises(Died):
        disk.write_new(path, b"content")
    assert (tmp_path / "file").read_bytes() == b"cont"
    with pytest.raises(Died):
        disk.read(path)
    with pytest.raises(Died):
        disk.raising().read(path)


def test_a_disk_can_be_full_for_one_call(tmp_path: Path) -> None:
    disk = FaultDisk([DiskFault("append", error=errno.ENOSPC, place="*/b")])
    disk.write_new(str(tmp_path / "a"), b"a")
    with pytest.raises(OSError, match="No space left"):
        disk.write_new(str(tmp_path / "b"), b"b")
    assert disk.read(str(tmp_path / "b")) == b""
    assert disk.calls[-1] == ("read", str(tmp_path / "b"))
