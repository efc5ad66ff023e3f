"""The contract of stores on GCS while requests are lost and refused all the time."""

import secrets
from collections.abc import Iterator

import pytest

from penstock.ports.store.back_off import BackOff
from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.testing.contracts.store_objects import ObjectContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.contracts.store_staged import StagedContract
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    GCS_BACKEND_ERROR,
    GCS_RATE_LIMIT,
    Act,
    DropReply,
    DropRequest,
    Rule,
    Truncate,
)
from tests.helpers.gcs_verbs import BEGIN, DELETE, GET, INSERT, LIST, READ, REWRITE, SEND
from tests.helpers.object_stores import BUCKET

pytestmark = pytest.mark.xdist_group("gcs")

# Faults of other requests fall together by chance, so one request may be hit many times.
SOON = BackOff(tries=20, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
READS = f"{GET}|{READ}|{LIST}"
# A reply to a conditional write is not lost here: the next try would then find its own object, and
# say so, as it may; the contract asks who was first.
WRITES = f"{INSERT}|{REWRITE}|{BEGIN}|{SEND}|{DELETE}"
FAULTS: list[tuple[Act, str, int]] = [
    (GCS_BACKEND_ERROR, WRITES, 4),
    (DropRequest(), WRITES, 7),
    (GCS_RATE_LIMIT, f"{INSERT}|{REWRITE}", 9),
    (GCS_BACKEND_ERROR, READS, 5),
    (DropReply(), READS, 6),
    (Truncate(), READS, 8),
    (DropReply(), f"{DELETE}|{SEND}|{BEGIN}", 5),
]
MOST_REQUESTS = 600


class TestGcsStoreWithPassingFaults(ObjectContract, StagedContract, ReplacingContract):
    """Two clients of one prefix behind one proxy. Names are tried without it."""

    @pytest.fixture
    def proxy(self, gcs: EmbeddedGcs) -> Iterator[FaultProxy]:
        rules = [
            Rule(act, operation, nth=nth)
            for act, operation, every in FAULTS
            for nth in range(every, MOST_REQUESTS, every)
        ]
        with FaultProxy(gcs.endpoint, rules) as proxy:
            yield proxy
            assert "buckets.get" not in proxy.records.count(), "nothing asks by itself"

    @pytest.fixture
    def address(self) -> str:
        return f"{BUCKET}/{secrets.token_hex(8)}"

    @pytest.fixture
    def store(self, gcs: EmbeddedGcs, proxy: FaultProxy, address: str) -> GcsStore:
        return GcsStore(gcs.spec(address, endpoint=proxy.url, chunk_size="1MiB"), SOON)

    @pytest.fixture
    def second_store(self, gcs: EmbeddedGcs, proxy: FaultProxy, address: str) -> GcsStore:
        return GcsStore(gcs.spec(address, endpoint=proxy.url), SOON)
