"""The contract of stores on S3, against a real object store."""

import secrets

import pytest

from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.object_store_server import EmbeddedObjectStore
from tests.helpers.object_stores import BUCKET

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
