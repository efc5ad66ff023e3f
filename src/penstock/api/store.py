"""What every store must give. Keys are `/`-separated and relative to the lake's root.

Three outcomes hold for every write: it returns (landed, or known not to have), or it raises
`OutcomeUnknown`. Whoever gets `OutcomeUnknown` looks; it never retries blindly and never deletes.
Reads raise `StoreUnavailable` when no answer came; absence is an answer, not an error.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO, Protocol, runtime_checkable

from penstock.model.outcome import Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.model.value import Value


class OddName(Value, frozen=True):
    """A name in the lake that is nobody's key, and what it is: `a link`, for one.

    A name that is not a text is written with its odd bytes spelled out.
    """

    key: str
    what: str


@runtime_checkable
class ShowsOddNames(Protocol):
    """A store in which things can lie that its listing does not show, though readers meet them.

    Optional: stores whose names are all keys do not have it. Only audits ask, once each.
    """

    def list_odd(self, prefix: str) -> list[OddName]:
        """Everything below the directory `prefix` that `list_objects` leaves out, in order."""
        ...


@runtime_checkable
class ShowsWriteRights(Protocol):
    """A store that knows, without writing, where this process may not create objects.

    Optional: a directory has an owner and a mode; a bucket does not show what its rules allow. Only
    `check` asks, once for each feed.
    """

    def unwritable(self, directory: str) -> list[str]:
        """Of a directory, or where it would be made, and of those in it: all refused to us."""
        ...


class ListedObject(Value, frozen=True):
    """An object as a listing shows it."""

    key: str
    size_bytes: int


@runtime_checkable
class SeesAroundItself(Protocol):
    """A store that can look at the directories around its root.

    Optional. Asked once, when a lake is made: one inside another is refused.
    """

    def place_around(self, key: str) -> str | None:
        """The nearest directory around the root in which `key` is an object, as a user writes it.

        None also where this user may not look; looking around is no reason to stop.
        """
        ...


class TaggedObject(Value, frozen=True):
    """An object with the tag of its version, which is another one after every replacement."""

    data: bytes
    tag: str


@runtime_checkable
class ReplacesConditionally(Protocol):
    """A store that replaces an object only if it is still the one that was read.

    Optional: S3 has it as `If-Match`, GCS as generations. Only leases use it. Contents that are
    written with it differ from all before, by a nonce inside, so no tag comes twice.
    """

    def read_tagged(self, key: str) -> TaggedObject | None:
        """The whole content with its tag, or None when nothing is there."""
        ...

    def replace_tagged(self, key: str, data: bytes, tag: str | None) -> str | None:
        """Put `data` at the key if what lies there has this tag; with None, if nothing is there.

        The tag of what was put; None: something else is there (perhaps an earlier try of ours:
        compare the content), and nothing was changed. Raises `OutcomeUnknown`.
        """
        ...


@runtime_checkable
class StagesAsUploads(Protocol):
    """A store whose staged files may be removed by its place, by rules of its own.

    Optional: S3 has it, where they are open uploads, and GCS, where they are objects. Runs and
    `check` ask once each; metrics tell how old uploads are.
    """

    def upload_risks(self) -> list[str]:
        """Sentences about rules of the place that can harm the lake, or that cannot be read."""
        ...


@runtime_checkable
class KeepsWhatIsDeleted(Protocol):
    """A store whose place may keep what was deleted, by rules of its own.

    Optional: S3 and GCS have it, for versions and soft deletion. Asked when files are retired.
    """

    def deleted_stays(self) -> list[str]:
        """Sentences about what stays of deleted objects, and what removes that. May be empty."""
        ...


class StagedWriter(Protocol):
    """A file being written invisibly. Used by one task attempt, on an executor.

    What was sent, by `sync` or `finish`, is durable and listed by `list_staged`. Before that a
    store may keep it anywhere, also on the disk of the executor, if what a dead task leaves there
    is removed later: by `discard`, or by the store itself.
    """

    def write(self, data: bytes) -> int:
        """Append bytes; returns how many, as files do."""
        ...

    def sync(self) -> None:
        """Do what takes long of `finish`: send the data. Nothing is written after it. Repeatable.

        Called for many files side by side, so that `finish` may be called for one after another.
        """
        ...

    def finish(self) -> StagedHandle:
        """Make the data durable and return its handle. Nothing is visible yet."""
        ...

    def abandon(self) -> None:
        """Stop and remove what was written, as far as possible; does nothing after `finish`."""
        ...


class Store(Protocol):
    """The lake's storage. Safe to share between threads; pickles by its settings."""

    @property
    def kind(self) -> str:
        """The name of this kind of store; stands in every handle it makes."""
        ...

    @property
    def longest_key_bytes(self) -> int:
        """The most bytes that a whole key below the root may have, in UTF-8.

        A longer one is refused with `BadKey`. Asked on the driver, when a window is planned.
        """
        ...

    def uri(self, key: str) -> str:
        """The address of an object for other readers: what Spark, DuckDB and pyarrow take.

        Asks nothing of the place; the object need not be there.
        """
        ...

    def create(self, key: str, data: bytes) -> bool:
        """Create the object with exactly this content if nothing is there.

        True: this call created it. False: something is there (perhaps an earlier try of ours:
        compare the content). Either way what is there is durable. Raises `OutcomeUnknown`.
        """
        ...

    def read(self, key: str) -> bytes | None:
        """The whole content, or None when nothing is there."""
        ...

    def open_read(self, key: str) -> BinaryIO | None:
        """The content as a file to read and seek in, or None when nothing is there.

        For what may be too large for memory. Reading from it raises `StoreUnavailable`; close it.
        """
        ...

    def head(self, key: str) -> int | None:
        """The size in bytes, or None when nothing is there."""
        ...

    def list_objects(
        self, prefix: str, after: str = "", limit: int | None = None
    ) -> Iterator[ListedObject]:
        """Objects under the directory `prefix` whose keys sort after `after`, in key order.

        Recursive and lazy: a page is fetched when it is needed, so that a listing never has to
        fit into memory, and iterating may raise `StoreUnavailable`. What is created or deleted
        meanwhile may be shown or not. May contain strangers; never contains this store's own
        temporary files. The content of an object is exactly as long as its size says.
        """
        ...

    def open_staged(self, final: str, spot: StagingSpot) -> StagedWriter:
        """Begin a file that will be published as `final`; invisible until then."""
        ...

    def look(self, handle: StagedHandle) -> Sighting:
        """What is at the final name, by identity, and whether the staged source is still there.

        The source is looked at first: when it is gone, a publish that took it is seen at the
        final name. What is seen as done is durable.
        """
        ...

    def publish(self, handle: StagedHandle) -> None:
        """Make the staged file visible at its final name without overwriting, and consume it.

        Returns only when the final object is ours and the source is gone, both durably; safe to
        repeat, by anyone. Raises `ForeignFile`, `StagedGone`, `OutcomeUnknown`.
        """
        ...

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Publish many, in whatever way is quick; the final names for which that is not certain.

        For each of the others holds what holds when `publish` returns. Whoever wants to know why
        one is left publishes it by itself.
        """
        ...

    def list_staged(self, staging: str, data_prefixes: Sequence[str]) -> Iterable[StagedRef]:
        """Everything that was staged and sent, by whomever, each with its window.

        `staging` is the prefix of the spots; stores that stage at the final name look below the
        data prefixes instead, and find the window in the file's name (`window_in`). What is staged
        under a name without a window there is a stranger and left out.
        """
        ...

    def discard(self, ref: StagedRef) -> None:
        """Destroy a staged thing; nothing happens when it is gone already."""
        ...

    def delete(self, key: str) -> None:
        """Remove a visible object; nothing happens when it is gone already."""
        ...

    def delete_all(self, keys: Sequence[str]) -> set[str]:
        """Remove many visible objects, in whatever way is quick; the keys that may still be there.

        For each of the others holds what holds when `delete` returns: the answer is read for each
        key, also where one request removes many. What fails for one does not stop the others.
        """
        ...

    def sweep(self) -> int:
        """Remove this store's own leftovers of dead writers; returns how many. Always safe."""
        ...

    def probe(self, scratch: str, *, for_journal: bool = True) -> None:
        """Try every promise above under the prefix `scratch`, and leave nothing there.

        Without `for_journal` only what data needs: a lake whose journals lie elsewhere does not
        rest on creates that race, or on replacing.

        Raises `StoreUnfit` with the promise that does not hold.
        """
        ...
