"""The store on HDFS through a relay that holds and loses single requests to a real name node.

Goal: what the client library does with a lost reply is met as it is, and not as a script has it.
"""

import gc
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.errors import OutcomeUnknown, StagedGone
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.testing.contracts.store_staged import FINAL, stage, staged
from penstock.testing.hdfs_relay import HdfsRelay, RelayRule
from penstock.testing.hdfs_server import EmbeddedHdfs
from tests.helpers.scripted_hdfs import SOON

pytestmark = pytest.mark.xdist_group("hdfs")

ONCE = BackOff(tries=1)
SOON_S = 14.0  # the client would wait for longer


@pytest.fixture
def root() -> str:
    return f"relayed/{secrets.token_hex(8)}"


@pytest.fixture
def direct(hdfs: EmbeddedHdfs, root: str) -> HdfsStore:
    return HdfsStore(hdfs.spec(root))


def through(
    relay: HdfsRelay, direct: StoreSpec, policy: BackOff = SOON, **settings: str
) -> HdfsStore:
    path = direct.address.partition("/")[2]
    return HdfsStore(
        StoreSpec("hdfs", f"{relay.authority}/{path}", direct.opener, settings), policy
    )


@pytest.mark.parametrize("act", ["lose-reply", "lose-request"])
@pytest.mark.parametrize(
    "method", ["create", "addBlock", "fsync", "complete", "rename2", "getFileInfo"]
)
def test_whatever_is_lost_once_a_file_is_there_once_and_soon(
    hdfs: EmbeddedHdfs, direct: HdfsStore, root: str, method: str, act: str
) -> None:
    """Without a try of ours, and without a wait: for a block that is missing, the client has one.

    It would last 15 s, whenever a writer is closed whose request for a block was lost.
    """
    with HdfsRelay(hdfs.port) as relay:
        relay.rules.append(RelayRule(method, act=act, nth=2))  # type: ignore[arg-type]
        store = through(relay, hdfs.spec(root))
        began = time.monotonic()
        for number in range(3):
            assert store.create(f"journal/{number}", b"mine") is True
        handle = stage(store, FINAL, b"rows")
        store.publish(handle)
        gc.collect()
        assert time.monotonic() - began < SOON_S
        assert relay.hits == 1
    assert [direct.read(f"journal/{number}") for number in range(3)] == [b"mine"] * 3
    assert direct.look(handle).is_done


def test_a_rename_that_arrives_after_anothers_changes_nothing(
    hdfs: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    """S9: held while its sender gives up, and let go when another has the name."""
    with HdfsRelay(hdfs.port) as relay:
        relay.rules.append(RelayRule("rename2"))
        store = through(relay, hdfs.spec(root), ONCE, request_timeout="1s")
        with pytest.raises(OutcomeUnknown):
            store.create("journal/1", b"late")
        assert direct.create("journal/1", b"theirs") is True
        relay.release()
    assert direct.read("journal/1") == b"theirs"


def test_a_publish_that_arrives_late_brings_nothing_back(
    hdfs: EmbeddedHdfs, direct: HdfsStore, root: str
) -> None:
    handle = stage(direct, FINAL, b"rows")
    with HdfsRelay(hdfs.port) as relay:
        relay.rules.append(RelayRule("rename2"))
        store = through(relay, hdfs.spec(root), ONCE, request_timeout="60s")
        with ThreadPoolExecutor(1) as threads:
            late = threads.submit(store.publish, handle)
            relay.wait_for_held()
            direct.publish(handle)
            direct.delete(FINAL)
            relay.release()
            with pytest.raises(StagedGone):
                late.result()
    assert direct.read(FINAL) is None
    assert staged(direct) == []
