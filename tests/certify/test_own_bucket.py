"""The contract of stores on a user's own bucket: `make certify LAKE=s3://bucket/prefix`.

What only the real S3 can show: races, versions, its own judgement of policies. Not part of the
everyday tests. Each test uses a prefix of its own below the given one, and removes it.
"""

import os
from collections.abc import Iterator

import pytest

from penstock.api.store import Store
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from tests.certify.lake_on_s3 import LakeJob, S3Place

pytestmark = pytest.mark.certify


class TestOwnBucket(StoreContract, ReplacingContract):
    """Credentials by the usual chain; region and endpoint by the variables of AWS's own tools."""

    sorts_odd_names = False

    @pytest.fixture
    def store(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
        place = S3Place.of_uri(os.environ["CERTIFY_LAKE"]).below("contract")
        job = LakeJob(tmp_path_factory.mktemp("job"), "", "", place)
        store = job.store()
        yield store
        job.abort_uploads()
        assert store.delete_all(list_keys(store, "")) == set()
