"""A store in one SQLite file: every object and every staged file is a row.

`lake: vault://NAME` with `store: {file: /data/lake.db}`. A name appears by an insert that never
overwrites, and publishing is one transaction. SQLite syncs before a transaction counts.
"""

import hashlib
import io
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import BinaryIO
from urllib.parse import quote

from penstock.api.errors import StoreSettingUnknown
from penstock.api.store import ListedObject, Store
from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.open_store import reopen_store
from penstock.ports.store.probe import probe_promises
from penstock.ports.store.publish_each import those_that_fail

KIND = "vault"
WAIT_S = 60.0
LONGEST_KEY_BYTES = 1_024
PAGE = 1_000
TABLES = (
    "create table if not exists objects (key text primary key, data blob, checksum text)",
    "create table if not exists staged (key text primary key, data blob, checksum text)",
)


def open_vault(spec: StoreSpec) -> "VaultStore":
    """The store in the file that a setting names."""
    for key in spec.settings:
        if key != "file":
            raise StoreSettingUnknown(spec.scheme, key, ["file"])
    if "file" not in spec.settings:
        raise ValueError("`store:` names no file")
    return VaultStore(spec)


def checksum(data: bytes) -> str:
    """The checksum as it stands in handles."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class VaultWriter:
    """Collects a staged file. Its row is there from the beginning, so that it can be listed."""

    def __init__(self, store: "VaultStore", final: str, key: str) -> None:
        self._store = store
        self._final = final
        self._key = key
        self._parts = io.BytesIO()
        self._handle: StagedHandle | None = None
        store.stage(key, b"")

    def write(self, data: bytes) -> int:
        """Append bytes."""
        return self._parts.write(data)

    def sync(self) -> None:
        """Nothing to do: the file is stored as a whole."""

    def finish(self) -> StagedHandle:
        """Store the file and describe it."""
        if self._handle is None:
            data = self._parts.getvalue()
            self._store.stage(self._key, data)
            self._handle = StagedHandle(KIND, self._key, self._final, len(data), checksum(data))
        return self._handle

    def abandon(self) -> None:
        """Remove the beginning of a file."""
        if self._handle is None:
            self._store.discard(StagedRef(self._key, ""))


class VaultStore:
    """The store. It opens the file for every call, so that threads and forks share nothing."""

    kind = KIND
    longest_key_bytes = LONGEST_KEY_BYTES

    def __init__(self, spec: StoreSpec) -> None:
        self._spec = spec
        self._file = spec.settings["file"]

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[object, ...]]:
        return reopen_store, (self._spec,)

    def uri(self, key: str) -> str:
        """The address of a row; only this package reads it."""
        return f"{self._spec.uri}/{quote(self._checked(key))}"

    def create(self, key: str, data: bytes) -> bool:
        """Insert, unless the key is there."""
        self._checked(key)
        row = (key, data, checksum(data))
        with self._changing("create", key) as change:
            made = change("insert or ignore into objects values (?, ?, ?)", row).rowcount
        return made == 1

    def read(self, key: str) -> bytes | None:
        """The content, or None."""
        found = self._asked("select data from objects where key = ?", key)
        return found[0][0] if found else None

    def open_read(self, key: str) -> BinaryIO | None:
        """The content in memory, or None."""
        found = self.read(key)
        return None if found is None else io.BytesIO(found)

    def head(self, key: str) -> int | None:
        """The size, or None."""
        found = self._asked("select length(data) from objects where key = ?", key)
        return found[0][0] if found else None

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects under a prefix; SQLite sorts keys by their bytes, as Python does."""
        start = self._start(prefix)
        return islice(self._pages(start, after), limit)

    def _pages(self, start: str, after: str) -> Iterator[ListedObject]:
        sql = (
            "select key, length(data) from objects where substr(key, 1, ?) = ? and key > ? "
            "order by key limit ?"
        )
        while rows := self._fetched(sql, (len(start), start, after, PAGE)):
            yield from (ListedObject(*row) for row in rows)
            after = rows[-1][0]

    def open_staged(self, final: str, spot: StagingSpot) -> VaultWriter:
        """Begin a staged file."""
        self._checked(final)
        self._checked(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        return VaultWriter(self, final, f"{spot.prefix}/{spot.window}/{spot.attempt}.staged")

    def stage(self, key: str, data: bytes) -> None:
        """Store a staged file, or what there is of it."""
        with self._changing("stage", key) as change:
            change("insert or replace into staged values (?, ?, ?)", (key, data, checksum(data)))

    def look(self, handle: StagedHandle) -> Sighting:
        """The source first, then the final name."""
        self._check(handle)
        sql = "select 1 from staged where key = ? and checksum = ?"
        is_staged = bool(self._fetched(sql, (handle.staged, handle.checksum)))
        return Sighting(self._final_state(handle), is_staged)

    def publish(self, handle: StagedHandle) -> None:
        """Show without overwriting and consume, in one transaction."""
        self._check(handle)
        ours = (handle.staged, handle.checksum)
        with self._changing("publish", handle.final) as change:
            change(
                "insert or ignore into objects select ?, data, checksum from staged "
                "where key = ? and checksum = ?",
                (handle.final, *ours),
            )
            sql = "select checksum from objects where key = ?"
            found = change(sql, (handle.final,)).fetchone()
            if found is None:
                raise StagedGone(handle.staged, handle.final)
            if found[0] != handle.checksum:
                raise ForeignFile(handle.final, handle.checksum, found[0])
            change("delete from staged where key = ? and checksum = ?", ours)

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """One by one."""
        return those_that_fail(self.publish, handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> list[StagedRef]:
        """Everything staged under a prefix; nothing is staged under its final name."""
        start = self._start(staging)
        sql = "select key from staged where substr(key, 1, ?) = ? order by key"
        keys = [row[0] for row in self._fetched(sql, (len(start), start))]
        return [StagedRef(key, key[len(start) :].split("/")[0]) for key in keys]

    def discard(self, ref: StagedRef) -> None:
        """Remove a staged file."""
        self._remove("staged", ref.place)

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._remove("objects", key)

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """One by one."""
        for key in keys:
            self._checked(key)
        return keys_not_deleted(self.delete, keys)

    def sweep(self) -> int:
        """SQLite leaves nothing behind."""
        return 0

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try the promises as on any store."""
        self._checked(scratch)
        probe_promises(self, self._spec.uri, scratch, for_journal=for_journal)

    def _start(self, prefix: str) -> str:
        if prefix:
            self._checked(prefix.removesuffix("/"))
        return prefix.rstrip("/") + "/" if prefix else ""

    def _checked(self, key: str) -> str:
        check_key(key, self.longest_key_bytes)
        return key

    def _check(self, handle: StagedHandle) -> None:
        self._checked(handle.final)
        self._checked(handle.staged)
        if handle.store != KIND:
            raise StoreUnfit(self._spec.uri, "publish handles of its own", f"one of {handle.store}")

    def _final_state(self, handle: StagedHandle) -> FinalState:
        found = self._asked("select checksum from objects where key = ?", handle.final)
        if not found:
            return FinalState.ABSENT
        return FinalState.OURS if found[0][0] == handle.checksum else FinalState.FOREIGN

    def _remove(self, table: str, key: str) -> None:
        self._checked(key)
        with self._changing("remove", key) as change:
            change(f"delete from {table} where key = ?", (key,))

    def _asked(self, sql: str, key: str) -> list[tuple]:  # type: ignore[type-arg]
        self._checked(key)
        return self._fetched(sql, (key,))

    def _fetched(self, sql: str, values: tuple[object, ...]) -> list[tuple]:  # type: ignore[type-arg]
        try:
            with closing(self._opened()) as file:
                return file.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise StoreUnavailable("read", self._file, str(error)) from error

    @contextmanager
    def _changing(self, act: str, key: str) -> Iterator[Callable[..., sqlite3.Cursor]]:
        """A transaction. An error before its end changes nothing; one at its end, who knows."""
        try:
            file = self._opened()
            file.execute("begin immediate")
        except sqlite3.Error as error:
            raise StoreUnavailable(act, key, str(error)) from error
        with closing(file):
            try:
                yield file.execute
            except sqlite3.Error as error:
                raise StoreUnavailable(act, key, str(error)) from error
            try:
                file.execute("commit")
            except sqlite3.Error as error:
                raise OutcomeUnknown(act, key, str(error)) from error

    def _opened(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._file, timeout=WAIT_S, isolation_level=None)
        for table in TABLES:
            file.execute(table)
        return file
