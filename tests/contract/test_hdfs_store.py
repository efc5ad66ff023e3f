"""The contract of stores on HDFS, against a real name node and real data nodes."""

import secrets

import pytest
from hdfs_native import Client

from penstock.ports.store.hdfs.hdfs_store import HdfsStore
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.errors import LakeInsideLake
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.testing.contracts.store import StoreContract
from penstock.testing.hdfs_server import EmbeddedHdfs
from tests.simulator.programs import surroundings

pytestmark = pytest.mark.xdist_group("hdfs")


@pytest.fixture
def root() -> str:
    return f"lakes/{secrets.token_hex(8)}"


@pytest.fixture
def store(hdfs: EmbeddedHdfs, root: str) -> HdfsStore:
    return HdfsStore(hdfs.spec(root))


@pytest.fixture
def second_store(hdfs: EmbeddedHdfs, root: str) -> HdfsStore:
    return HdfsStore(hdfs.spec(root))


class TestHdfsStore(StoreContract):
    """Two clients of one directory."""


def test_a_trial_leaves_no_directory_to_whoever_comes_next(
    hdfs: EmbeddedHdfs, store: HdfsStore, root: str
) -> None:
    """An administrator tries a lake; its owner could not write into directories of that user."""
    client = Client(hdfs.url)
    client.mkdirs(f"/{root}", create_parent=True)
    store.probe("_penstock/probe")
    assert list(client.list_status(f"/{root}", recursive=True)) == []
    assert store.create("_penstock/lake.json", b"mine") is True
    store.probe("_penstock/probe")
    assert list_keys(store, "") == ["_penstock/lake.json"]


@pytest.mark.parametrize("inside", ["events", "events/click/day=2026-11-15"])
def test_a_new_lake_inside_another_is_refused(hdfs: EmbeddedHdfs, root: str, inside: str) -> None:
    outer = HdfsStore(hdfs.spec(root))
    lake_identity(outer, surroundings("outer"))
    inner = HdfsStore(hdfs.spec(f"{root}/{inside}"))
    with pytest.raises(LakeInsideLake, match=f"hdfs://{hdfs.authority}/{root}/"):
        lake_identity(inner, surroundings("inner"))
    assert list_keys(inner, "") == []
    beside = HdfsStore(hdfs.spec(f"{root}-2/{inside}"))
    assert lake_identity(beside, surroundings("beside"))
