"""Trying what a lake needs of S3: completes that never overwrite, and never bring anything back."""

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnfit
from penstock.model.names import FileName
from penstock.ports.store.bucket.bucket_failures import BucketAnswer
from penstock.ports.store.s3.s3_uploads import Uploads

ROUNDS = 12
_NEVER_OVER = "complete an upload only when nothing is at its key"


def probe_uploads(
    store: Store, uploads: Uploads, whole: Callable[[str], str], name: str, scratch: str
) -> None:
    """Try what the promises of every store rest on here, below a prefix that nobody else uses."""
    probe = _UploadProbe(store, uploads, whole, name, f"{scratch}/data")
    try:
        for number in range(ROUNDS):
            probe.race_two(number)
        probe.complete_an_aborted_one(ROUNDS)
        probe.complete_after_a_delete(ROUNDS + 1)
    finally:
        for ref in store.list_staged(f"{scratch}/staging", [f"{scratch}/data"]):
            store.discard(ref)
        store.delete_all([each.key for each in store.list_objects(scratch)])


class _UploadProbe:
    """Uploads by the requests themselves: the answers are what is tried."""

    def __init__(
        self,
        store: Store,
        uploads: Uploads,
        whole: Callable[[str], str],
        name: str,
        folder: str,
    ) -> None:
        self._store = store
        self._uploads = uploads
        self._whole = whole
        self._name = name
        self._folder = folder

    def race_two(self, number: int) -> None:
        """Two uploads for one key are completed at once: one of them, and no other, is there."""
        key = self._key(number)
        contents = [b"first", b"second"]
        barrier = Barrier(len(contents))

        def run(upload: tuple[str, str]) -> bool:
            barrier.wait()
            return self._complete(key, upload)

        with ThreadPoolExecutor(len(contents)) as threads:
            begun = list(threads.map(lambda content: self._begin(key, content), contents))
            told = list(threads.map(run, begun))
        winners = [content for content, won in zip(contents, told, strict=True) if won]
        if len(winners) != 1 or self._store.read(key) != winners[0]:
            seen = f"of two at once {len(winners)} were told that they had"
            raise StoreUnfit(self._name, _NEVER_OVER, seen)

    def complete_an_aborted_one(self, number: int) -> None:
        """An upload that was aborted never becomes an object, whatever the answer is."""
        key = self._key(number)
        upload = self._begin(key, b"aborted")
        self._uploads.abort(self._whole(key), upload[0])
        self._complete(key, upload)
        if self._store.head(key) is not None:
            seen = "one was completed after it was aborted"
            raise StoreUnfit(self._name, "forget an upload that was aborted", seen)

    def complete_after_a_delete(self, number: int) -> None:
        """An upload that became an object does not become another one when that is deleted.

        Another upload for the same key is open meanwhile, as after a task that ran twice.
        """
        key = self._key(number)
        upload, other = self._begin(key, b"first"), self._begin(key, b"other")
        if not self._complete(key, upload) or self._complete(key, other):
            raise StoreUnfit(self._name, _NEVER_OVER, "a second one took its place, or none did")
        self._store.delete(key)
        self._complete(key, upload)
        if self._store.head(key) is not None:
            seen = "completing it again brought back what was deleted"
            raise StoreUnfit(self._name, "complete an upload once", seen)

    def _key(self, number: int) -> str:
        return f"{self._folder}/{FileName(0, 'probe', 0, 0, number, '0-0', 'probe')}"

    def _begin(self, key: str, content: bytes) -> tuple[str, str]:
        """An upload with one part: its id and the tag of the part."""
        upload = self._uploads.begin(self._whole(key), {})
        return upload, self._uploads.send_part(self._whole(key), upload, 1, io.BytesIO(content))

    def _complete(self, key: str, upload: tuple[str, str]) -> bool:
        """True when the store said that it has done it."""
        try:
            self._uploads.complete(self._whole(key), upload[0], [upload[1]])
        except (BucketAnswer, OutcomeUnknown):
            return False
        return True
