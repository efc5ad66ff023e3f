"""The contract of stores on GCS, against the double of it."""

import secrets

import pytest

from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.errors import LakeInsideLake
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from tests.helpers.object_stores import BUCKET
from tests.simulator.programs import surroundings

pytestmark = pytest.mark.xdist_group("gcs")


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def store(gcs: EmbeddedGcs, address: str) -> GcsStore:
    return GcsStore(gcs.spec(address, chunk_size="1MiB"))


@pytest.fixture
def second_store(gcs: EmbeddedGcs, address: str) -> GcsStore:
    return GcsStore(gcs.spec(address))


class TestGcsStore(StoreContract, ReplacingContract):
    """Two clients of one prefix. Control characters are encoded, which changes their order."""

    sorts_odd_names = False


@pytest.mark.parametrize("inside", ["events", "events/click/day=2026-11-15"])
def test_a_new_lake_inside_another_is_refused(gcs: EmbeddedGcs, address: str, inside: str) -> None:
    outer = GcsStore(gcs.spec(address))
    lake_identity(outer, surroundings("outer"))
    inner = GcsStore(gcs.spec(f"{address}/{inside}"))
    with pytest.raises(LakeInsideLake, match=f"gs://{address}/"):
        lake_identity(inner, surroundings("inner"))
    assert list_keys(inner, "") == []
    beside = GcsStore(gcs.spec(f"{address}-2/{inside}"))
    assert lake_identity(beside, surroundings("beside"))
