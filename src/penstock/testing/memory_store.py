"""A store in memory whose every act is a value, so that a scheduler can order, lose or hold it.

`Shelf` is what lies there; it never changes, an act gives a new one. `MemoryStore` is the store
protocol over a function that performs acts: at once, or whenever a simulator decides.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import BinaryIO, NamedTuple, assert_never
from urllib.parse import quote

from penstock.api.store import ListedObject, TaggedObject
from penstock.errors import ForeignFile, StagedGone
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.keys import check_component, check_key
from penstock.ports.store.probe import probe_promises
from penstock.ports.store.publish_each import those_that_fail

LONGEST_KEY_BYTES = 1_024  # as on S3

READS = frozenset({"read", "head", "list", "list_staged", "see_staged", "see_final"})

Answer = bool | int | bytes | None | tuple[str, ...] | tuple[ListedObject, ...]


class Act(NamedTuple):
    """One request to a store: what, at which key, with which data and which other key."""

    name: str
    key: str
    data: bytes = b""
    other: str = ""

    @property
    def is_read(self) -> bool:
        """True when the act changes nothing."""
        return self.name in READS

    def __str__(self) -> str:
        return f"{self.name} {self.key}" + (f" -> {self.other}" if self.other else "")


class Shelf:
    """Visible objects and staged files. Immutable by convention; `mark` is a hash of it all."""

    __slots__ = ("clobber", "mark", "objects", "staged")

    def __init__(
        self,
        objects: dict[str, bytes],
        staged: dict[str, bytes],
        mark: int = 0,
        *,
        clobber: bool = False,
    ) -> None:
        self.objects = objects
        self.staged = staged
        self.mark = mark
        self.clobber = clobber  # a broken store that overwrites on publish; for mutation checks

    @classmethod
    def empty(cls, *, clobber: bool = False) -> "Shelf":
        """Nothing at all."""
        return cls({}, {}, clobber=clobber)

    def with_object(self, key: str, data: bytes | None) -> "Shelf":
        """With an object put or taken away, whatever was there."""
        objects = dict(self.objects)
        mark = _change(objects, "o", key, data, self.mark)
        return Shelf(objects, self.staged, mark, clobber=self.clobber)

    def with_staged(self, key: str, data: bytes | None) -> "Shelf":
        """With a staged file put or taken away."""
        staged = dict(self.staged)
        mark = _change(staged, "s", key, data, self.mark)
        return Shelf(self.objects, staged, mark, clobber=self.clobber)

    def perform(self, act: Act) -> tuple[Answer, "Shelf"]:
        """The answer to an act, and what lies there after it."""
        if act.is_read:
            return self._answer(act), self
        if act.name == "create":
            if act.key in self.objects:
                return False, self
            return True, self.with_object(act.key, act.data)
        if act.name == "replace":
            found = self.objects.get(act.key)
            if found is None or checksum(found) != act.other:
                return False, self
            return True, self.with_object(act.key, act.data)
        if act.name == "stage":
            return True, self.with_staged(act.key, act.data)
        if act.name in ("link", "complete"):
            return self._publish(act)
        if act.name in ("unlink", "discard"):
            return True, self.with_staged(act.key, None) if act.key in self.staged else self
        if act.name == "delete":
            return True, self.with_object(act.key, None) if act.key in self.objects else self
        raise ValueError(f"not an act: {act.name}")

    def _publish(self, act: Act) -> tuple[Answer, "Shelf"]:
        """`link` shows the staged file; `complete` shows and consumes it in one act."""
        source = self.staged.get(act.key)
        if source is None:
            return None, self
        if act.other in self.objects and not self.clobber:
            return False, self
        shown = self.with_object(act.other, source)
        return True, shown.with_staged(act.key, None) if act.name == "complete" else shown

    def _answer(self, act: Act) -> Answer:
        if act.name in ("read", "see_final"):
            return self.objects.get(act.key)
        if act.name == "head":
            found = self.objects.get(act.key)
            return None if found is None else len(found)
        if act.name == "see_staged":
            return act.key in self.staged
        prefix = act.key.rstrip("/") + "/" if act.key else ""
        where = self.objects if act.name == "list" else self.staged
        keys = sorted(key for key in where if key.startswith(prefix) and key > act.other)
        if act.name == "list_staged":
            return tuple(keys)
        return tuple(ListedObject(key, len(where[key])) for key in keys)


def _change(place: dict[str, bytes], room: str, key: str, data: bytes | None, mark: int) -> int:
    before = place.pop(key, None)
    if before is not None:
        mark ^= hash((room, key, before))
    if data is not None:
        place[key] = data
        mark ^= hash((room, key, data))
    return mark


class MemoryWriter:
    """Collects a staged file and hands it over in one act."""

    def __init__(self, store: "MemoryStore", final: str, spot: StagingSpot) -> None:
        self._store = store
        self._final = final
        self._key = f"{spot.prefix}/{spot.window}/{spot.attempt}.staged"
        self._parts: list[bytes] = []
        self._is_finished = False
        store.ask(Act("stage", self._key))

    def write(self, data: bytes) -> int:
        """Append bytes."""
        self._parts.append(bytes(data))
        return len(data)

    def sync(self) -> None:
        """Nothing to do: memory is as durable as it gets."""

    def finish(self) -> StagedHandle:
        """Stage the file and describe it."""
        data = b"".join(self._parts)
        self._is_finished = True
        self._store.ask(Act("stage", self._key, data))
        return StagedHandle("memory", self._key, self._final, len(data), checksum(data))

    def abandon(self) -> None:
        """Remove the beginning of a file; a finished one may have been decided already."""
        if not self._is_finished:
            self._store.ask(Act("discard", self._key))


@lru_cache(maxsize=100_000)
def _check(key: str, longest_bytes: int) -> None:
    check_key(key, longest_bytes)


def checksum(data: bytes) -> str:
    """The checksum as it stands in handles."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


class MemoryStore:
    """The store protocol over `ask`. `atomic_publish` behaves as object stores do."""

    kind = "memory"

    def __init__(
        self,
        ask: Callable[[Act], Answer] | None = None,
        *,
        atomic_publish: bool = False,
        longest_key_bytes: int = LONGEST_KEY_BYTES,
    ) -> None:
        self.longest_key_bytes = longest_key_bytes
        self.shelf = Shelf.empty()
        self.ask = ask or self._perform
        self._atomic = atomic_publish
        self._lock = Lock()

    def _perform(self, act: Act) -> Answer:
        with self._lock:
            answer, self.shelf = self.shelf.perform(act)
        return answer

    def _ask(self, act: Act) -> Answer:
        """Every request goes through here: a bad key is refused before anything is asked."""
        if act.name not in ("list", "list_staged"):
            self._check(act.key)
        elif act.key:
            self._check(act.key.removesuffix("/"))
        if act.name in ("link", "complete"):
            self._check(act.other)
        return self.ask(act)

    def _check(self, key: str) -> None:
        _check(key, self.longest_key_bytes)

    def uri(self, key: str) -> str:
        """No reader can read it, but it has the form of an address."""
        self._check(key)
        return f"memory://{quote(key)}"

    def create(self, key: str, data: bytes) -> bool:
        """Create if absent."""
        return bool(self._ask(Act("create", key, data)))

    def read(self, key: str) -> bytes | None:
        """The content, or None."""
        found = self._ask(Act("read", key))
        return found if isinstance(found, bytes) else None

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file, or None."""
        found = self.read(key)
        return None if found is None else io.BytesIO(found)

    def head(self, key: str) -> int | None:
        """The size, or None."""
        found = self._ask(Act("head", key))
        return found if isinstance(found, int) else None

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects under a prefix, in order; all of it in one act."""
        found = self._ask(Act("list", prefix, other=after))
        listed = found if isinstance(found, tuple) else ()
        return iter([each for each in listed if isinstance(each, ListedObject)][:limit])

    def open_staged(self, final: str, spot: StagingSpot) -> MemoryWriter:
        """Begin a staged file."""
        self._check(final)
        check_key(spot.prefix)
        check_component(spot.window)
        check_component(spot.attempt)
        return MemoryWriter(self, final, spot)

    def look(self, handle: StagedHandle) -> Sighting:
        """The source first, then the final name."""
        self._check(handle.final)
        staged = bool(self._ask(Act("see_staged", handle.staged)))
        return Sighting(self._final_state(handle), staged)

    def publish(self, handle: StagedHandle) -> None:
        """Show without overwriting, then consume."""
        self._check(handle.final)
        shown = self._ask(
            Act("complete" if self._atomic else "link", handle.staged, b"", handle.final)
        )
        if shown is not True:
            self._require_ours(handle)
            if shown is None:
                return
        if shown is False or not self._atomic:
            self._ask(Act("unlink", handle.staged))

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """One by one."""
        return those_that_fail(self.publish, handles)

    def _require_ours(self, handle: StagedHandle) -> None:
        match self._final_state(handle):
            case FinalState.FOREIGN:
                raise ForeignFile(handle.final, handle.checksum, "another content")
            case FinalState.ABSENT:
                raise StagedGone(handle.staged, handle.final)
            case FinalState.OURS:
                return
            case _ as never:
                assert_never(never)

    def _final_state(self, handle: StagedHandle) -> FinalState:
        found = self._ask(Act("see_final", handle.final))
        if not isinstance(found, bytes):
            return FinalState.ABSENT
        ours = len(found) == handle.size_bytes and checksum(found) == handle.checksum
        return FinalState.OURS if ours else FinalState.FOREIGN

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> list[StagedRef]:  # noqa: ARG002
        """Everything staged under a prefix."""
        found = self._ask(Act("list_staged", staging))
        keys = [key for key in found if isinstance(key, str)] if isinstance(found, tuple) else []
        return [StagedRef(key, key.removeprefix(staging + "/").split("/")[0]) for key in keys]

    def discard(self, ref: StagedRef) -> None:
        """Destroy a staged file."""
        self._ask(Act("discard", ref.place))

    def delete(self, key: str) -> None:
        """Remove an object."""
        self._ask(Act("delete", key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """One by one."""
        for key in keys:
            self._check(key)
        return keys_not_deleted(self.delete, keys)

    def sweep(self) -> int:
        """Memory has no leftovers."""
        return 0

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try the promises as on any store."""
        check_key(scratch)
        probe_promises(self, "in memory", scratch, for_journal=for_journal)


class ReplacingMemoryStore(MemoryStore):
    """A store in memory that also replaces conditionally; its tags are made of the content."""

    def read_tagged(self, key: str) -> TaggedObject | None:
        """The content with its tag, or None."""
        found = self.read(key)
        return None if found is None else TaggedObject(found, checksum(found))

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Replace if the tag is still that; create if it is None and nothing is there."""
        act = Act("create", key, data) if tag is None else Act("replace", key, data, tag)
        return checksum(data) if self._ask(act) is True else None
