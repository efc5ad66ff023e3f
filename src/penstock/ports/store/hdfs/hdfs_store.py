"""The store on HDFS: no Hadoop is installed, and no JVM runs."""

import io
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import BinaryIO, assert_never

from hdfs_native import Client

from penstock.api.store import ListedObject, OddName, Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.breaker import Breaker
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.hdfs.hdfs_calls import Calls
from penstock.ports.store.hdfs.hdfs_clients import HdfsClients, make_client
from penstock.ports.store.hdfs.hdfs_failures import ERRORS
from penstock.ports.store.hdfs.hdfs_files import HdfsFiles
from penstock.ports.store.hdfs.hdfs_leftovers import sweep_leftovers
from penstock.ports.store.hdfs.hdfs_listing import Listings
from penstock.ports.store.hdfs.hdfs_moves import Move, Moves
from penstock.ports.store.hdfs.hdfs_names import Names
from penstock.ports.store.hdfs.hdfs_settings import HDFS, HdfsSettings, read_settings
from penstock.ports.store.hdfs.hdfs_staged import HdfsStagedWriter
from penstock.ports.store.hdfs.hdfs_staging import HdfsStaging
from penstock.ports.store.keys import check_key
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.probe import probe_promises
from penstock.runtime.surroundings import side_by_side


def open_hdfs(spec: StoreSpec) -> "HdfsStore":
    """The store below the directory, of the name node or name service, that a spec names."""
    return HdfsStore(spec)


class HdfsStore:
    """A store below one directory. Safe to share between threads; its spec pickles.

    It is opened without a request, and a process that was forked makes a client of its own.
    """

    def __init__(
        self,
        spec: StoreSpec,
        policy: BackOff | None = None,
        waiting: Waiting | None = None,
        clock: Callable[[], float] = time.time,
        make: Callable[[HdfsSettings], Client] = make_client,
    ) -> None:
        self._spec = spec
        self._settings = read_settings(spec)
        self._names = Names(self._settings.root)
        self._calls = Calls(self._settings, HdfsClients(self._settings, make), policy, waiting)
        self._files = HdfsFiles(self._calls)
        self._moves = Moves(self._calls, self._files)
        self._listings = Listings(self._calls, self._names)
        self._staging = HdfsStaging(
            self._settings.uri, self._names, self._files, self._moves, clock
        )

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (self._spec,)

    def __repr__(self) -> str:
        return f"HdfsStore({self._settings.uri!r})"

    @property
    def kind(self) -> str:
        """`hdfs`."""
        return HDFS

    @property
    def longest_key_bytes(self) -> int:
        """8,000 without the root; a name node counts characters."""
        return self._names.longest_bytes

    def uri(self, key: str) -> str:
        """`hdfs://authority/path`, not encoded further: readers of Hadoop take it as it is."""
        return f"{self._settings.url}{self._names.path(key)}"

    def create(self, key: str, data: bytes) -> bool:
        """Write, sync and close a temporary file, then rename it if nothing has the name."""
        path = self._names.path(key)
        if self._files.status("create", key, path) is not None:
            return False
        words = secrets.token_hex(16)
        temporary = self._files.write_new(
            "create",
            key,
            lambda number: self._names.temporary(f"{words}-{number}"),
            lambda: io.BytesIO(data),
        )
        move = self._moves.move("create", key, temporary, path)
        match move:
            case Move.DONE:
                return True
            case Move.TAKEN:
                with suppress(*ERRORS):  # what stays is swept
                    self._calls.once(lambda client: client.delete(temporary))
                return False
            case Move.GONE:
                return self._is_mine(key, data)
            case _ as never:
                assert_never(never)

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when no file has that name."""
        return self._files.read(key, self._names.path(key))

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file, or None when no file has that name."""
        return self._files.open(key, self._names.path(key))

    def head(self, key: str) -> int | None:
        """The size in bytes, or None when no file has that name."""
        status = self._files.status("look at", key, self._names.path(key))
        return None if status is None or status.isdir else status.length

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Files below a directory in the order of whole keys, a directory at a time."""
        return islice(self._listings.objects(prefix, _base(prefix), after), limit)

    def list_odd(self, prefix: str) -> list[OddName]:
        """Names below a directory that the lake would write in another way."""
        return list(self._listings.odd_names(prefix, _base(prefix)))

    def place_around(self, key: str) -> str | None:
        """The nearest directory around the root with a file under this key."""
        check_key(key)
        for around in self._names.parents:
            with suppress(StoreUnavailable):
                status = self._files.status("look at", key, f"{around}/{key}")
                if status is not None and not status.isdir:
                    return f"{self._settings.url}{around}/"
        return None

    def open_staged(self, final: str, spot: StagingSpot) -> HdfsStagedWriter:
        """Begin a file that is spooled here; it becomes one in staging when it is synced."""
        return self._staging.open(final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """The staged file first, then the final name, by size and checksum."""
        return self._staging.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Rename the staged file without overwriting, then settle by identity."""
        self._staging.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, side by side; the final names that failed."""
        return self._staging.publish_all(handles)

    def list_staged(
        self,
        staging: str,
        data_prefixes: Sequence[str],  # noqa: ARG002  -- nothing is staged there
    ) -> list[StagedRef]:
        """Every `<window>/<attempt>.staged` below a staging prefix; strangers are left out."""
        return self._staging.refs(_base(staging), list_keys(self, staging))

    def discard(self, ref: StagedRef) -> None:
        """Delete a staged file, and remove its window's directory once that is empty."""
        self._staging.discard(ref)

    def delete(self, key: str) -> None:
        """Delete a visible file, past the trash of HDFS. Its directory stays."""
        self._files.delete("delete", key, self._names.path(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """As `delete` does each, side by side; the keys that may still be there."""
        for key in keys:
            self._names.path(key)
        return keys_not_deleted(Breaker().guarded(self.delete, "delete"), keys, side_by_side)

    def sweep(self) -> int:
        """Remove temporary files that are older than an hour by the clock of the name node."""
        return sweep_leftovers(self._calls, self._files, self._names)

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise below a new prefix in `scratch`, and remove what was made.

        Directories, too: those of whoever only tries a lake would be closed to its owner.
        """
        names = self._names
        made = [names.path(scratch), names.temporaries, names.temporaries.rpartition("/")[0]]
        place = f"{scratch}/{secrets.token_hex(16)}"
        try:
            probe_promises(self, self._settings.uri, place, for_journal=for_journal)
        finally:
            path = names.path(place)
            with suppress(*ERRORS):  # only empty directories are left
                self._calls.once(lambda client: client.delete(path, True))
            for each in made:
                self._files.remove_if_empty(each)

    def _is_mine(self, key: str, data: bytes) -> bool:
        """Whether our temporary file, which is not there any more, is what has the name now."""
        try:
            found = self.read(key)
        except StoreUnavailable as error:
            raise OutcomeUnknown("create", key, error.why) from error
        if found is None:
            why = "its temporary file is gone, and so is what was made of it"
            raise OutcomeUnknown("create", key, why)
        return found == data


def _base(prefix: str) -> str:
    """The beginning that all keys below a directory have."""
    return "".join(f"{part}/" for part in check_key(prefix.removesuffix("/"))) if prefix else ""
