"""The contract of stores on S3, against a real object store."""

import secrets

import pytest

from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.s3.s3_store import S3Store
from penstock.protocol.journal.errors import LakeInsideLake
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.object_stores import BUCKET
from tests.simulator.programs import surroundings

pytestmark = pytest.mark.xdist_group("objects")


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def store(object_store: EmbeddedObjectStore, address: str) -> S3Store:
    return S3Store(object_store.spec(address, part_size="5MiB"))


@pytest.fixture
def second_store(object_store: EmbeddedObjectStore, address: str) -> S3Store:
    return S3Store(object_store.spec(address))


class TestS3Store(StoreContract, ReplacingContract):
    """Two clients of one prefix. Control characters are encoded, which changes their order.

    The object store of the tests compares tags and replaces in two acts; S3 itself does it in one.
    """

    sorts_odd_names = False
    replaces_in_one_act = False


@pytest.mark.parametrize("inside", ["events", "events/click/day=2026-11-15"])
def test_a_new_lake_inside_another_is_refused(
    object_store: EmbeddedObjectStore, address: str, inside: str
) -> None:
    outer = S3Store(object_store.spec(address))
    lake_identity(outer, surroundings("outer"))
    inner = S3Store(object_store.spec(f"{address}/{inside}"))
    with pytest.raises(LakeInsideLake, match=f"s3://{address}/"):
        lake_identity(inner, surroundings("inner"))
    assert list_keys(inner, "") == []
    beside = S3Store(object_store.spec(f"{address}-2/{inside}"))
    assert lake_identity(beside, surroundings("beside"))
