"""The store on S3, and on whatever speaks its API with conditional writes."""

import secrets
from collections.abc import Iterator, Sequence

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.bucket.bucket_objects import PAGE
from penstock.ports.store.bucket.bucket_store import BucketStore
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.probe import probe_promises
from penstock.ports.store.s3.s3_bucket_rules import risk_of_versions, risks_of
from penstock.ports.store.s3.s3_keys import Keys
from penstock.ports.store.s3.s3_probe import probe_uploads
from penstock.ports.store.s3.s3_requests import S3Requests
from penstock.ports.store.s3.s3_settings import S3, read_settings
from penstock.ports.store.s3.s3_staged import S3StagedWriter
from penstock.ports.store.s3.s3_staging import S3Place, S3Staging
from penstock.ports.store.s3.s3_uploads import Uploads


def open_s3(spec: StoreSpec) -> "S3Store":
    """The store in the bucket, and below the prefix, that a spec names. Asks nothing yet."""
    return S3Store(spec)


class S3Store(BucketStore[S3Place]):
    """A store on S3. Staged files are uploads that are left open at their final key."""

    _requests: S3Requests
    _staging: S3Staging

    def __init__(
        self, spec: StoreSpec, policy: BackOff | None = None, waiting: Waiting | None = None
    ) -> None:
        self._settings = read_settings(spec)
        keys = Keys(self._settings.prefix)
        requests = S3Requests(self._settings, policy, waiting)
        self._uploads = Uploads(requests)
        staging = S3Staging(keys, requests, self._uploads)
        super().__init__(spec, self._settings.prefix, keys, requests, staging)

    @property
    def kind(self) -> str:
        """`s3`."""
        return S3

    @property
    def scheme(self) -> str:
        """`s3`."""
        return "s3"

    def open_staged(self, final: str, spot: StagingSpot) -> S3StagedWriter:
        """Begin a file that is spooled here until `sync` sends it."""
        check_key(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        whole = self._keys.whole(final)
        return S3StagedWriter(self._uploads, final, whole, spot, self._settings.part_size_bytes)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterator[StagedRef]:
        """Every open upload under the data prefixes; uploads without a window are strangers."""
        return self._staging.refs(staging, data_prefixes)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """A thousand in one request; the keys for which the answer does not say that it is gone."""
        whole = {self._keys.whole(key): key for key in keys}
        asked = list(whole)
        left: set[str] = set()
        for start in range(0, len(asked), PAGE):
            some = asked[start : start + PAGE]
            try:
                left |= self._requests.delete_many(some)
            except (StoreUnavailable, OutcomeUnknown):
                left |= set(some)
        return {whole[key] for key in left}

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise below a new prefix in `scratch`, and remove what was made."""
        check_key(scratch)
        place = f"{scratch}/{secrets.token_hex(16)}"
        name = self._settings.uri
        probe_promises(self, name, place, for_journal=for_journal)
        probe_uploads(self, self._uploads, self._keys.whole, name, place)

    def upload_risks(self) -> list[str]:
        """What lifecycle rules and versions of the bucket mean for the lake."""
        return risks_of(self._requests, self._keys.base(""))

    def deleted_stays(self) -> list[str]:
        """What versions of the bucket mean for what is deleted."""
        return risk_of_versions(self._requests)
