"""The lake on a local disk, or on a mounted one that keeps the promises the probe asks for.

A name appears by `link`, which never overwrites, and only after the content was synced. Nothing
is ever renamed: that would overwrite what is there.
"""

import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, assert_never
from urllib.parse import quote

from penstock.api.errors import StoreSettingUnknown
from penstock.api.store import ListedObject, OddName, Store
from penstock.errors import StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.plugin import PluginRef
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import LOCAL, StoreSpec
from penstock.ports.store.keys import check_key
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.linking import Linked, Names
from penstock.ports.store.local.listing import keys_after, odd_names
from penstock.ports.store.local.local_probe import probe_local
from penstock.ports.store.local.local_reading import open_reader
from penstock.ports.store.local.local_rights import refused_directories
from penstock.ports.store.local.local_staged import LocalStagedWriter
from penstock.ports.store.local.local_staging import KIND, TRIES, LocalStaging
from penstock.ports.store.local.tree import TEMPORARY, Parts, Tree, require_regular
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.os_errors import after_it_began, before_it_begins

LEFTOVER_AGE_S = 3600.0
# Readers agree about these in a `file://` address; some of them decode others, some do not.
_PLAIN_IN_URIS = "/=:+,;&@$!"


_OPENER = PluginRef("store", LOCAL, f"{__name__}:open_local")


def _random_word() -> str:
    return secrets.token_hex(16)


def open_local(spec: StoreSpec) -> "LocalStore":
    """The store below the directory that a spec names. It takes no settings."""
    for key in spec.settings:
        raise StoreSettingUnknown(spec.scheme, key)
    return LocalStore(spec.address)


class LocalStore:
    """A store below one directory. Safe to share between threads; only its root pickles.

    The root is made when its parent is there. Links below it are never followed.
    """

    def __init__(
        self,
        root: str | Path,
        disk: Disk | None = None,
        random_word: Callable[[], str] = _random_word,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._disk = disk if disk is not None else Disk()
        self._tree = Tree(str(root), self._disk)
        self._names = Names(self._disk, self._tree)
        self._staging = LocalStaging(self._tree, self._disk, clock)
        self._random_word = random_word
        self._clock = clock

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (StoreSpec(LOCAL, self.root, _OPENER),)

    def __repr__(self) -> str:
        return f"LocalStore({self.root!r})"

    @property
    def kind(self) -> str:
        """`local`."""
        return KIND

    @property
    def root(self) -> str:
        """The directory that holds the lake, links resolved."""
        return self._tree.root

    @property
    def longest_key_bytes(self) -> int:
        """As long as a path may be, without the root."""
        return self._tree.longest_key_bytes

    def uri(self, key: str) -> str:
        """`file:///...`; the plain path if it has characters about which readers disagree.

        pyarrow decodes `%20` in such an address, while Spark and DuckDB take it as it is.
        """
        path = self._tree.path(self._tree.locate(key))
        return f"file://{path}" if quote(path, safe=_PLAIN_IN_URIS) == path else path

    def create(self, key: str, data: bytes) -> bool:
        """Create the object if nothing is there; what is there is made durable all the same."""
        parts = self._tree.locate(key)
        for _ in range(TRIES):
            created = self._create_once(key, parts, data)
            if created is not None:
                return created
        why = f"its temporary file or a directory vanished {TRIES} times; is {self.root!r} there?"
        raise StoreUnavailable("create", key, why)

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when no file has that name."""
        parts = self._tree.locate(key)
        with before_it_begins("read", key):
            try:
                self._tree.walk(parts[:-1])
                return self._disk.read(self._tree.path(parts))
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file, or None when no file has that name."""
        parts = self._tree.locate(key)
        with before_it_begins("read", key):
            try:
                self._tree.walk(parts[:-1])
                return open_reader(key, self._disk.open_to_read(self._tree.path(parts)))
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                return None

    def head(self, key: str) -> int | None:
        """The size in bytes, or None when no file has that name."""
        parts = self._tree.locate(key)
        with before_it_begins("look at", key):
            status = self._tree.status(parts)
            if status is None or stat.S_ISDIR(status.st_mode):
                return None
            require_regular(status, self._tree.path(parts))
            return status.st_size

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Files below a directory in the order of whole keys; links are not shown."""
        return islice(self._listed(prefix, _base(prefix), after), limit)

    def list_odd(self, prefix: str) -> list[OddName]:
        """Links, special files and names that are not UTF-8 below a directory."""
        with before_it_begins("list", prefix):
            base, tree = _base(prefix), self._tree
            if not self._is_there(base):
                return []
            return list(odd_names(base, tree.children, tree.oddities))

    def place_around(self, key: str) -> str | None:
        """The nearest directory around the root with a regular file under this key."""
        check_key(key)
        for around in Path(self.root).parents:
            with suppress(PermissionError):
                status = self._disk.status(f"{around}/{key}")
                if status is not None and stat.S_ISREG(status.st_mode):
                    return str(around)
        return None

    def open_staged(self, final: str, spot: StagingSpot) -> LocalStagedWriter:
        """Begin `<prefix>/<window>/<attempt>.staged`, which must not exist yet."""
        return self._staging.open(final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """The staged file first, then the final name, by size and checksum."""
        return self._staging.look(handle)

    def publish(self, handle: StagedHandle) -> None:
        """Link the staged file to its final name, sync, unlink the staged name, sync."""
        self._staging.publish(handle)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """As `publish` does each, but with one sync per directory; the final names that failed."""
        return self._staging.publish_all(handles)

    def list_staged(
        self,
        staging: str,
        data_prefixes: Sequence[str],  # noqa: ARG002  -- nothing is staged there
    ) -> list[StagedRef]:
        """Every `<window>/<attempt>.staged` below a staging prefix; strangers are left out."""
        return self._staging.refs(_base(staging), list_keys(self, staging))

    def discard(self, ref: StagedRef) -> None:
        """Unlink a staged file durably, and remove its window's directory once that is empty."""
        self._staging.discard(ref)

    def delete(self, key: str) -> None:
        """Unlink a visible file durably. Its directory stays."""
        self._names.take("delete", key, self._tree.locate(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """As `delete` does each, but with one sync per directory; the keys that may be left."""
        return self._names.take_all("delete", {key: self._tree.locate(key) for key in keys})

    def sweep(self) -> int:
        """Remove temporary files that are older than an hour.

        Safe even when the writer is alive: `create` writes a file that was swept again.
        """
        oldest_s = self._clock() - LEFTOVER_AGE_S
        removed = 0
        with before_it_begins("sweep", "/".join(TEMPORARY)):
            try:
                self._tree.walk(TEMPORARY)
                children = self._disk.children(self._tree.path(TEMPORARY))
            except FileNotFoundError:
                return 0
            for child in children:
                path = self._tree.path((*TEMPORARY, child.name))
                status = self._disk.status(path)
                if status is None or child.is_directory or status.st_mtime >= oldest_s:
                    continue
                with suppress(FileNotFoundError):
                    self._disk.unlink(path)
                    removed += 1
        return removed

    def unwritable(self, directory: str) -> list[str]:
        """Directories, as keys, in which this process may not make names; none is tried."""
        with before_it_begins("look at", directory):
            return list(refused_directories(self._disk, self._tree, self._tree.locate(directory)))

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise in a directory of its own below `scratch`, and remove it again."""
        place = (*self._tree.locate(scratch), self._random_word())
        disk = self._disk.raising()
        store = LocalStore(self.root, disk, self._random_word, self._clock)
        probe_local(store, disk, Tree(self.root, disk), place, for_journal=for_journal)

    def _listed(self, prefix: str, base: str, after: str) -> Iterator[ListedObject]:
        with before_it_begins("list", prefix):
            keys = keys_after(base, after, self._tree.children) if self._is_there(base) else ()
            for key in keys:
                status = self._disk.status(f"{self.root}/{key}")
                # It may be gone since its directory was read, or be something else.
                if status is not None and stat.S_ISREG(status.st_mode):
                    yield ListedObject(key, status.st_size)

    def _is_there(self, base: str) -> bool:
        """True when the directory `a/b/` is there to be listed."""
        try:
            self._tree.walk(tuple(base.split("/")[:-1]))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def _create_once(self, key: str, parts: Parts, data: bytes) -> bool | None:
        """Try once; None when a sweep or an emptied directory came in between."""
        temporary = self._tree.path((*TEMPORARY, self._random_word()))
        try:
            with before_it_begins("create", key):
                try:
                    self._tree.anchor(self._tree.make(TEMPORARY))
                    walked = self._tree.make(parts[:-1])
                    self._disk.write_new(temporary, data)
                except FileNotFoundError:
                    return None
            linked = self._names.give("create", key, temporary, self._tree.path(parts))
            match linked:
                case Linked.VANISHED:
                    return None
                case Linked.OURS:
                    with after_it_began("create", key):
                        self._tree.make_durable(walked)
                    return True
                case Linked.TAKEN:
                    with before_it_begins("create", key):
                        status = self._tree.status(parts)
                        if status is not None:
                            require_regular(status, self._tree.path(parts))
                        # Its creator may have died before this sync, and our caller builds on it.
                        self._tree.make_durable(walked)
                    return False
                case _ as never:
                    assert_never(never)
        finally:
            # What a failure leaves here is swept later; it never was visible.
            with suppress(OSError):
                self._disk.unlink(temporary)


def _base(prefix: str) -> str:
    """The beginning that all keys below a directory have."""
    return "".join(f"{part}/" for part in check_key(prefix.removesuffix("/"))) if prefix else ""
