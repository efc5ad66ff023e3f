"""A store whose calls fail, lose their reply, arrive late or kill the caller, by script."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from threading import Lock
from typing import Any, BinaryIO, TypeVar

from penstock.api.store import (
    ListedObject,
    ReplacesConditionally,
    StagedWriter,
    Store,
    TaggedObject,
)
from penstock.errors import OutcomeUnknown, PenstockError, StoreUnavailable
from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.publish_each import those_that_fail
from penstock.testing.fault_disks import DiskFault, FaultDisk, RecordingDisk
from penstock.testing.fault_script import Died, Place, Script, fits

__all__ = [
    "Died",
    "DiskFault",
    "Fault",
    "FaultDisk",
    "FaultStore",
    "RecordingDisk",
    "ReplacingFaultStore",
    "What",
]

T = TypeVar("T")

READS = frozenset(
    {"read", "open_read", "head", "list_objects", "look", "list_staged", "read_tagged"}
)
WRITES = frozenset({"create", "publish", "discard", "delete", "replace_tagged"})
OTHERS = frozenset({"open_staged", "write", "finish", "abandon", "sweep", "probe"})


class What(Enum):
    """What happens to a call."""

    FAIL_BEFORE = "not performed, no answer"
    FAIL_AFTER = "performed, reply lost"
    DELAY = "held back, no answer"
    DIE_BEFORE = "the caller died before it"
    DIE_AFTER = "performed, then the caller died"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: `Fault("create", What.FAIL_AFTER, "journal/*", nth=2)`.

    The place is the key, prefix, final name or staged place that the call is about. A delayed
    call is performed by `FaultStore.deliver`, or right after the next call named `until` whose
    place fits `until_place`.
    """

    call: str
    what: What
    place: Place = "*"
    nth: int = 1
    until: str = ""
    until_place: Place = "*"

    def __post_init__(self) -> None:
        if self.call not in READS | WRITES | OTHERS:
            raise ValueError(f"a store has no call {self.call!r}")
        if self.what is What.DELAY and self.call not in WRITES:
            raise ValueError(f"{self.call!r} cannot arrive late, since its answer is waited for")


@dataclass(frozen=True, slots=True)
class _Late:
    """A request that is still on its way. It outlives its sender."""

    fault: Fault
    name: str
    perform: Callable[[], object]


class FaultStore:
    """One process's view of a store, with faults. `log` tells what happened, a line a call.

    Give each process of a test its own, around one inner store. Calls of a staged writer are
    named `write`, `finish` and `abandon`, with the final name as their place.
    """

    def __init__(self, inner: Store, script: Iterable[Fault] = ()) -> None:
        self._inner = inner
        self._script = Script(script)
        self._late: list[_Late] = []
        self._lock = Lock()
        self.log: list[str] = []

    @property
    def kind(self) -> str:
        """That of the inner store."""
        return self._inner.kind

    @property
    def longest_key_bytes(self) -> int:
        """That of the inner store."""
        return self._inner.longest_key_bytes

    def uri(self, key: str) -> str:
        """That of the inner store; asks nothing, so nothing can fail."""
        return self._inner.uri(key)

    def unmet(self) -> list[Fault]:
        """The faults of the script that never happened."""
        return self._script.unmet()

    def deliver(self) -> int:
        """Let every delayed request arrive now; returns how many. Works after a death too."""
        return self._arrive(lambda _: True)

    def create(self, key: str, data: bytes) -> bool:
        """As in the protocol, with faults."""
        return self.call("create", key, lambda: self._inner.create(key, data))

    def read(self, key: str) -> bytes | None:
        """As in the protocol, with faults."""
        return self.call("read", key, lambda: self._inner.read(key))

    def open_read(self, key: str) -> BinaryIO | None:
        """As in the protocol, with faults."""
        return self.call("open_read", key, lambda: self._inner.open_read(key))

    def head(self, key: str) -> int | None:
        """As in the protocol, with faults."""
        return self.call("head", key, lambda: self._inner.head(key))

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """As in the protocol, with faults; all of it is asked for at once."""
        listing = partial(self._inner.list_objects, prefix, after, limit)
        return iter(self.call("list_objects", prefix, lambda: list(listing())))

    def open_staged(self, final: str, spot: StagingSpot) -> StagedWriter:
        """As in the protocol, with faults."""
        writer = self.call("open_staged", final, lambda: self._inner.open_staged(final, spot))
        return _FaultWriter(self, writer, final)

    def look(self, handle: StagedHandle) -> Sighting:
        """As in the protocol, with faults."""
        return self.call("look", handle.final, lambda: self._inner.look(handle))

    def publish(self, handle: StagedHandle) -> None:
        """As in the protocol, with faults."""
        self.call("publish", handle.final, lambda: self._inner.publish(handle))

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """One by one, each with its faults."""
        return those_that_fail(self.publish, handles)

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> list[StagedRef]:
        """As in the protocol, with faults."""
        listing = partial(self._inner.list_staged, staging, data_prefixes)
        return self.call("list_staged", staging, lambda: list(listing()))

    def discard(self, ref: StagedRef) -> None:
        """As in the protocol, with faults."""
        self.call("discard", ref.place, lambda: self._inner.discard(ref))

    def delete(self, key: str) -> None:
        """As in the protocol, with faults."""
        self.call("delete", key, lambda: self._inner.delete(key))

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """One by one, each with its faults."""
        return keys_not_deleted(self.delete, keys)

    def sweep(self) -> int:
        """As in the protocol, with faults."""
        return self.call("sweep", "", self._inner.sweep)

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """As in the protocol, with faults."""
        self.call("probe", scratch, lambda: self._inner.probe(scratch, for_journal=for_journal))

    def call(self, call: str, place: str, perform: Callable[[], T]) -> T:
        """Perform one call, or do to it what the script says."""
        name = f"{call} {place!r}"
        fault = self._script.meet(call, place)
        if fault is None:
            result = self._perform(name, perform)
            self._arrive(lambda late: _is_due(late.fault, call, place))
            return result
        self._note(f"{name}: {fault.what.value}")
        if fault.what is What.DELAY:
            with self._lock:
                self._late.append(_Late(fault, name, perform))
        elif fault.what in {What.FAIL_AFTER, What.DIE_AFTER}:
            self._perform_unheard(name, perform)
        if fault.what in {What.DIE_BEFORE, What.DIE_AFTER}:
            self._script.die(f"{name}: {fault.what.value}")
        if call in READS:
            raise StoreUnavailable(call, place, fault.what.value)
        raise OutcomeUnknown(call, place, fault.what.value)

    def _perform(self, name: str, perform: Callable[[], T]) -> T:
        try:
            result = perform()
        except PenstockError as error:
            self._note(f"{name} -> {error.code}")
            raise
        self._note(f"{name} -> {_brief(result)}")
        return result

    def _perform_unheard(self, name: str, perform: Callable[[], object]) -> None:
        """Perform a call whose answer reaches nobody, be it an error."""
        try:
            self._perform(f"(unheard) {name}", perform)
        except PenstockError:
            return

    def _arrive(self, is_due: Callable[[_Late], bool]) -> int:
        with self._lock:
            due = [late for late in self._late if is_due(late)]
            self._late = [late for late in self._late if late not in due]
        for late in due:
            self._perform_unheard(f"(late) {late.name}", late.perform)
        return len(due)

    def _note(self, line: str) -> None:
        with self._lock:
            self.log.append(line)


class ReplacingFaultStore(FaultStore):
    """The same around a store that replaces conditionally."""

    def __init__(self, inner: Store, script: Iterable[Fault] = ()) -> None:
        super().__init__(inner, script)
        if not isinstance(inner, ReplacesConditionally):
            raise TypeError("the inner store does not replace conditionally")
        self._replacing: ReplacesConditionally = inner

    def read_tagged(self, key: str) -> TaggedObject | None:
        """As in the protocol, with faults."""
        return self.call("read_tagged", key, lambda: self._replacing.read_tagged(key))

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """As in the protocol, with faults."""
        return self.call(
            "replace_tagged", key, lambda: self._replacing.replace_tagged(key, data, tag)
        )


class _FaultWriter:
    """A staged writer whose calls go through the script of its store."""

    def __init__(self, store: FaultStore, inner: StagedWriter, final: str) -> None:
        self._store = store
        self._inner = inner
        self._final = final

    def write(self, data: bytes) -> int:
        """As in the protocol, with faults."""
        return self._store.call("write", self._final, lambda: self._inner.write(data))

    def sync(self) -> None:
        """As in the protocol; its faults are those of `finish`, which it is a part of."""
        self._inner.sync()

    def finish(self) -> StagedHandle:
        """As in the protocol, with faults."""
        return self._store.call("finish", self._final, self._inner.finish)

    def abandon(self) -> None:
        """As in the protocol, with faults."""
        self._store.call("abandon", self._final, self._inner.abandon)

    def __getattr__(self, name: str) -> Any:
        # What a writer gives beyond the protocol, such as being a file for pyarrow.
        return getattr(self._inner, name)


def _is_due(fault: Fault, call: str, place: str) -> bool:
    return fault.until == call and fits(fault.until_place, place)


def _brief(result: object) -> str:
    return f"{len(result)} bytes" if isinstance(result, bytes) else repr(result)
