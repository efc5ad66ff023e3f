"""The whole contract of stores on S3 while requests are lost and refused all the time."""

import secrets
from collections.abc import Iterator

import pytest

from penstock.ports.store.back_off import BackOff
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    CONFLICT,
    SLOW_DOWN,
    Act,
    DropReply,
    DropRequest,
    Rule,
    Truncate,
)
from tests.helpers.object_stores import BUCKET

pytestmark = pytest.mark.xdist_group("objects")

SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
READS = "GetObject|HeadObject|ListObjectsV2|ListParts|ListMultipartUploads"
# A reply to a conditional write is not lost here: the next try would then find its own object, and
# say so, as it may; the contract asks who was first.
WRITES = "PutObject|CompleteMultipartUpload|CreateMultipartUpload|UploadPart|AbortMultipartUpload"
FAULTS: list[tuple[Act, str, int]] = [
    (SLOW_DOWN, WRITES, 4),
    (DropRequest(), WRITES, 7),
    (CONFLICT, "PutObject|CompleteMultipartUpload", 9),
    (SLOW_DOWN, READS, 5),
    (DropReply(), READS, 6),
    (Truncate(), READS, 8),
    (DropReply(), "DeleteObject|DeleteObjects|UploadPart", 5),
]
MOST_REQUESTS = 1500


def always(act: Act, operation: str, every: int) -> list[Rule]:
    """A rule for each of the requests that are hit."""
    return [Rule(act, operation, nth=nth) for nth in range(every, MOST_REQUESTS, every)]


class TestS3StoreWithPassingFaults(StoreContract, ReplacingContract):
    """Two clients of one prefix behind one proxy."""

    sorts_odd_names = False
    replaces_in_one_act = False  # s3proxy compares and replaces in two acts

    @pytest.fixture
    def proxy(self, object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
        rules = [rule for fault in FAULTS for rule in always(*fault)]
        with FaultProxy(object_store.endpoint, rules) as proxy:
            yield proxy
            assert "CopyObject" not in proxy.records.count()

    @pytest.fixture
    def address(self) -> str:
        return f"{BUCKET}/{secrets.token_hex(8)}"

    @pytest.fixture
    def store(self, object_store: EmbeddedObjectStore, proxy: FaultProxy, address: str) -> S3Store:
        spec = object_store.spec(address, endpoint=proxy.url, part_size="5MiB")
        return S3Store(spec, SOON)

    @pytest.fixture
    def second_store(
        self, object_store: EmbeddedObjectStore, proxy: FaultProxy, address: str
    ) -> S3Store:
        return S3Store(object_store.spec(address, endpoint=proxy.url), SOON)
