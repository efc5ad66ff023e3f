"""S14: what a store on HDFS makes of nodes that freeze, die, restart, or are in safe mode.

Goal: nothing is lost, doubled or guessed, and no call hangs. Method: signals to a real name node
and real data nodes, at a moment that a hook in the client chooses.
"""

import os
import pickle
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from penstock.errors import OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.hdfs import hdfs_leftovers
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store_staged import FINAL, stage
from penstock.testing.hdfs_server import EmbeddedHdfs
from tests.helpers.hdfs_servers import running_hdfs, site_of
from tests.helpers.scripted_hdfs import Rule, scripted

pytestmark = pytest.mark.xdist_group("hdfs")

PATIENT = BackOff(tries=400, first_pause_s=0.1, longest_pause_s=0.3, within_s=90.0)
BRIEF = BackOff(tries=3, first_pause_s=0.05, longest_pause_s=0.1, within_s=1.0)
SHORT = {"request_timeout": "1s", "failover_attempts": "1"}
DEAD_WRITER = """
import os, sys
from hdfs_native import Client, WriteOptions
url, path = sys.argv[1:]
writer = Client(url).create(path, WriteOptions(create_parent=True))
writer.write(b"rows")
os.kill(os.getpid(), 9)
"""
OTHER_USER = """
import pickle, sys
from penstock.errors import StoreUnavailable
store = pickle.loads(sys.stdin.buffer.read())
print(store.read("a/b"))
try:
    store.create("a/c", b"x")
except StoreUnavailable as error:
    print(error)
"""


@pytest.fixture
def root() -> str:
    return f"nodes/{secrets.token_hex(8)}"


@pytest.fixture
def nodes(hdfs: EmbeddedHdfs) -> Iterator[EmbeddedHdfs]:
    """The file system of all tests, which runs again afterwards, whatever was done to it."""
    yield hdfs
    hdfs.thaw_all()
    hdfs.start_name_node(wait=False)
    hdfs.start_data_nodes()


@pytest.fixture
def direct(hdfs: EmbeddedHdfs, root: str) -> HdfsStore:
    return HdfsStore(hdfs.spec(root))


def later(seconds: float, *acts: object) -> Thread:
    """Do something beside the test, after a while."""

    def run() -> None:
        time.sleep(seconds)
        for act in acts:
            act()  # type: ignore[operator]

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("verb", ["create", "publish"])
def test_a_name_node_that_freezes_at_the_rename_is_waited_for_and_asked_once_more(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str, verb: str
) -> None:
    """It wakes with several renames of the same file in its queue; one of them happens."""
    handle = stage(direct, FINAL, b"rows")
    began = time.monotonic()
    threads = []

    def freeze() -> None:
        nodes.freeze_name_node()
        threads.append(later(2.5, nodes.thaw_name_node))

    frozen = scripted(nodes.spec(root, **SHORT), Rule("rename", hook=freeze), policy=PATIENT)
    if verb == "create":
        assert frozen.create("journal/1", b"mine") is True
        assert direct.read("journal/1") == b"mine"
    else:
        frozen.publish(handle)
        assert direct.look(handle).is_done
    assert time.monotonic() - began >= 2.5
    threads[0].join()


def test_a_frozen_name_node_keeps_nobody_longer_than_the_request_timeout(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    """What was asked before the freeze is unknown, and arrives when it wakes."""
    direct.create("a", b"1")
    hook = Rule("rename", hook=nodes.freeze_name_node)
    few_s = {"request_timeout": "3s", "failover_attempts": "1"}
    frozen = scripted(nodes.spec(root, **few_s), hook, policy=BRIEF)
    began = time.monotonic()
    with pytest.raises(OutcomeUnknown, match="no answer within 3 s"):
        frozen.create("journal/1", b"mine")
    with pytest.raises(StoreUnavailable, match="no answer within 3 s"):
        frozen.read("a")
    assert time.monotonic() - began < 40
    nodes.thaw_name_node()
    assert direct.read("a") == b"1"
    assert direct.create("journal/1", b"theirs") is (direct.read("journal/1") == b"theirs")
    assert direct.read("journal/1") in (b"mine", b"theirs")


def test_a_name_node_that_is_killed_with_the_reply_on_its_way_is_ridden_out(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    """kill -9 after the rename, before the store hears of it; then a restart through safe mode."""
    handle = stage(direct, FINAL, b"rows")

    def act_and_die() -> None:
        direct.publish(handle)
        nodes.kill_name_node()
        later(0.2, lambda: nodes.start_name_node(wait=False))

    rule = Rule("rename", hook=act_and_die)
    scripted(nodes.spec(root, **SHORT), rule, policy=PATIENT).publish(handle)
    assert direct.look(handle).is_done
    assert direct.read(FINAL) == b"rows"


def test_safe_mode_is_told_in_the_words_of_the_name_node_and_waited_out(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    handle = stage(direct, FINAL, b"rows")
    nodes.enter_safe_mode()
    with pytest.raises(StoreUnavailable) as caught:
        HdfsStore(nodes.spec(root, **SHORT), BRIEF).publish(handle)
    assert "SafeModeException" in str(caught.value)
    assert "Name node is in safe mode" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert direct.look(handle).staged, "reading goes on"
    leaving = later(0.0, nodes.leave_safe_mode)
    HdfsStore(nodes.spec(root), PATIENT).publish(handle)
    leaving.join()
    assert direct.look(handle).is_done


def test_a_name_node_that_is_down_costs_seconds_and_not_minutes(
    nodes: EmbeddedHdfs, root: str
) -> None:
    nodes.kill_name_node()
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match=f"{nodes.authority} cannot be reached"):
        HdfsStore(nodes.spec(root), BRIEF).create("a", b"1")
    assert time.monotonic() - began < 25
    nodes.start_name_node()
    assert HdfsStore(nodes.spec(root)).create("a", b"1") is True


def test_data_nodes_that_freeze_in_the_middle_of_a_file_change_nothing(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    rule = Rule("write", hook=nodes.freeze_data_nodes)
    with pytest.raises(StoreUnavailable):
        scripted(nodes.spec(root, request_timeout="0.5s"), rule, policy=BRIEF).create("a", b"1")
    nodes.thaw_data_nodes()
    assert direct.read("a") is None
    assert direct.create("a", b"1") is True
    assert direct.read("a") == b"1"


def test_a_data_node_that_freezes_is_passed_over_where_another_has_the_file(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    """Within one call, whichever of both is asked first: nothing is tried again here."""
    direct.create("a", b"1")
    assert direct.read("a") == b"1"
    nodes.freeze_data_nodes(most=1)
    for _ in range(4):
        store = HdfsStore(nodes.spec(root, request_timeout="3s"), BackOff(tries=1))
        assert store.read("a") == b"1"


def test_what_a_dead_writer_left_open_is_never_published_and_can_be_removed(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is still held; renaming it would succeed, with length 0."""
    staged = "staging/feed/0-1/t0.staged"
    for key in (staged, "_penstock/tmp/dead"):
        words = [sys.executable, "-c", DEAD_WRITER, nodes.url, f"/{root}/{key}"]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    handle = StagedHandle("hdfs", staged, FINAL, 4, "sha256:00")
    with pytest.raises(StagedGone):
        direct.publish(handle)
    assert direct.head(FINAL) is None
    direct.discard(StagedRef(staged, "0-1"))
    assert list(direct.list_staged("staging/feed", ["lake"])) == []
    assert direct.sweep() == 0
    monkeypatch.setattr(hdfs_leftovers, "LEFTOVER_AGE_S", -60.0)
    assert direct.sweep() == 1
    assert direct.sweep() == 0


def test_a_store_goes_on_in_a_process_that_was_forked(direct: HdfsStore) -> None:
    """The parent's client is of no use there: its threads do not exist."""
    direct.create("parent", b"1")
    child = os.fork()
    if child == 0:  # pragma: no cover -- another process
        code = 1
        try:
            code = 0 if direct.read("parent") == b"1" and direct.create("child", b"2") else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert direct.read("child") == b"2"
    assert list_keys(pickle.loads(pickle.dumps(direct)), "") == ["child", "parent"]


def test_another_user_may_read_and_is_told_what_right_is_missing(direct: HdfsStore) -> None:
    direct.create("a/b", b"1")
    ran = subprocess.run(
        [sys.executable, "-c", OTHER_USER],
        input=pickle.dumps(direct),
        env=os.environ | {"HADOOP_USER_NAME": "stranger"},
        capture_output=True,
        check=True,
    )
    content, refusal = ran.stdout.decode().splitlines()
    assert content == "b'1'"
    assert "Permission denied: user=stranger, access=WRITE" in refusal
    assert "give this user rights on the lake's directory" in refusal


def test_a_name_service_of_a_site_is_resolved_from_its_files(
    nodes: EmbeddedHdfs, direct: HdfsStore, root: str, tmp_path: Path
) -> None:
    """The first name node of two is not there."""
    direct.create("a", b"1")
    site_of(nodes, "lakes", tmp_path, first_is_down=True)
    spec = nodes.spec(root, config_dir=str(tmp_path))
    store = HdfsStore(type(spec)("hdfs", f"lakes/{root}", spec.opener, spec.settings))
    assert store.read("a") == b"1"
    assert store.create("b", b"2") is True
    assert store.uri("b") == f"hdfs://lakes/{root}/b"


def test_a_file_system_with_one_data_node_closes_files_in_time(tmp_path: Path) -> None:
    """As most are set up: the name node closes a file when its block was reported."""
    with running_hdfs(tmp_path, quick=False) as server:
        store = HdfsStore(server.spec("lake"))
        assert store.create("a", b"1") is True
        assert store.read("a") == b"1"
        handle = stage(store, FINAL, b"rows")
        store.publish(handle)
        assert store.look(handle).is_done
