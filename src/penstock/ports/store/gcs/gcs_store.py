"""The store on Google Cloud Storage, and on whatever speaks its JSON API with conditions."""

import secrets
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.staged import StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.bucket.bucket_store import BucketStore
from penstock.ports.store.gcs.gcs_bucket_rules import gcs_keeps_deleted, gcs_risks_of
from penstock.ports.store.gcs.gcs_keys import GcsKeys
from penstock.ports.store.gcs.gcs_probe import probe_conditions
from penstock.ports.store.gcs.gcs_requests import GcsRequests
from penstock.ports.store.gcs.gcs_settings import GCS, read_settings
from penstock.ports.store.gcs.gcs_staged import GcsStagedWriter
from penstock.ports.store.gcs.gcs_staging import GcsPlace, GcsStaging
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.probe import probe_promises

AT_ONCE = 16


def open_gcs(spec: StoreSpec) -> "GcsStore":
    """The store in the bucket, and below the prefix, that a spec names. Asks nothing yet."""
    return GcsStore(spec)


class GcsStore(BucketStore[GcsPlace]):
    """A store on GCS. Staged files are objects of their own; tags are generations."""

    _keys: GcsKeys
    _requests: GcsRequests
    _staging: GcsStaging

    def __init__(
        self, spec: StoreSpec, policy: BackOff | None = None, waiting: Waiting | None = None
    ) -> None:
        settings = read_settings(spec)
        keys = GcsKeys(settings.prefix)
        requests = GcsRequests(settings, policy, waiting)
        super().__init__(spec, settings.prefix, keys, requests, GcsStaging(keys, requests))

    @property
    def kind(self) -> str:
        """`gcs`."""
        return GCS

    @property
    def scheme(self) -> str:
        """`gs`."""
        return "gs"

    def open_staged(self, final: str, spot: StagingSpot) -> GcsStagedWriter:
        """Begin a file that is spooled here until `sync` sends it."""
        check_key(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        self._keys.whole(final)
        return GcsStagedWriter(self._requests, self._keys, final, spot)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterable[StagedRef]:
        """Every object below the staging prefix that is a staged file."""
        del data_prefixes  # nothing is staged there
        return self._staging.refs(staging)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Delete each, many at once; the keys for which no answer says that it is gone."""
        whole = {key: self._keys.whole(key) for key in keys}

        def attempt(key: str) -> str | None:
            try:
                self._requests.delete(whole[key])
            except (StoreUnavailable, OutcomeUnknown):
                return key
            return None

        with ThreadPoolExecutor(AT_ONCE, "penstock-delete") as threads:
            return {key for key in threads.map(attempt, whole) if key is not None}

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise below a new prefix in `scratch`, and remove what was made."""
        check_key(scratch)
        place = f"{scratch}/{secrets.token_hex(16)}"
        name = self._requests.uri
        try:
            probe_conditions(self._requests, self._keys.whole, name, place)
        finally:
            self.delete_all([each.key for each in self.list_objects(place)])
        probe_promises(self, name, place, for_journal=for_journal)

    def upload_risks(self) -> list[str]:
        """What lifecycle rules, versions and soft deletion of the bucket mean for the lake."""
        return gcs_risks_of(self._requests, self._keys.base(""))

    def deleted_stays(self) -> list[str]:
        """What versions and soft deletion of the bucket mean for what is deleted."""
        return gcs_keeps_deleted(self._requests)
