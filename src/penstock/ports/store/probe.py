"""Trying a store's promises on the real thing, whatever kind it is.

What holds most of the time is worth nothing here, so races are run many times: a store that lets
two writers win in a third of all rounds passes twelve of them once in a hundred starts.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

from penstock.api.store import ReplacesConditionally, Store
from penstock.errors import ForeignFile, StagedGone, StoreUnfit
from penstock.model.names import FileName
from penstock.model.outcome import FinalState
from penstock.model.staged import StagedHandle, StagingSpot
from penstock.ports.store.list_keys import list_keys

RACERS = 8
ROUNDS = 12
LEAST_KEY_BYTES = 700  # the longest names of a feed, a team, a dataset and a file
_PUBLISHING = "publish a staged file exactly once"

T = TypeVar("T")


def probe_promises(store: Store, name: str, scratch: str, *, for_journal: bool = True) -> None:
    """Try what every store must give below `scratch`, which nobody else uses; clean up after.

    `name` is for the error: where the store is. A store adds to this what only it can try. What
    only a journal needs is left out of the trial of a lake whose journals lie elsewhere.
    """
    if store.longest_key_bytes < LEAST_KEY_BYTES:
        seen = f"it takes {store.longest_key_bytes}; a shorter path for the lake leaves more"
        raise StoreUnfit(name, f"take keys of {LEAST_KEY_BYTES} bytes", seen)
    try:
        _try_creating(store, name, f"{scratch}/created", for_journal=for_journal)
        if for_journal:
            _try_racing(store, name, f"{scratch}/raced")
        _try_listing(store, name, scratch, ROUNDS if for_journal else 0)
        _try_publishing(store, name, scratch)
        _try_racing_publishers(store, name, scratch)
        _try_publishing_after_a_delete(store, name, scratch)
        if for_journal and isinstance(store, ReplacesConditionally):
            _try_replacing(store, name, f"{scratch}/replaced")
    finally:
        for ref in store.list_staged(f"{scratch}/staging", [f"{scratch}/data"]):
            store.discard(ref)
        for key in store.delete_all(list_keys(store, scratch)):
            store.delete(key)  # by itself, so that it says what fails


def _try_creating(store: Store, name: str, key: str, *, for_journal: bool) -> None:
    promise = "create an object only when nothing is there"
    if not store.create(key, b"first"):
        raise StoreUnfit(name, promise, "the name of a new object was taken")
    if for_journal and store.create(key, b"second"):
        raise StoreUnfit(name, promise, "a second one was created under the same name")
    if store.read(key) != b"first" or store.head(key) != len(b"first"):
        raise StoreUnfit(name, "return what was written", "the content of an object was another")


def _at_once(acts: Sequence[Callable[[], T]]) -> list[T]:
    """Do all of them, each on a thread, begun at the same moment; the answers in order."""
    barrier = Barrier(len(acts))

    def begin(act: Callable[[], T]) -> T:
        barrier.wait()
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(begin, acts))


def _try_racing(store: Store, name: str, prefix: str) -> None:
    contents = [f"racer {number}".encode() for number in range(RACERS)]
    for number in range(ROUNDS):
        key = f"{prefix}/{number:02}"
        outcomes = _at_once([partial(store.create, key, content) for content in contents])
        winners = [content for content, won in zip(contents, outcomes, strict=True) if won]
        if len(winners) != 1 or store.read(key) != winners[0]:
            seen = f"{len(winners)} of {RACERS} at once were told that they had, in round {number}"
            raise StoreUnfit(name, "let exactly one of many create an object", seen)


def _try_listing(store: Store, name: str, scratch: str, raced: int) -> None:
    wanted = [(f"{scratch}/created", len(b"first"))]
    wanted += [(f"{scratch}/raced/{number:02}", len(b"racer 0")) for number in range(raced)]
    for after, rest in (("", wanted), (wanted[0][0], wanted[1:])):
        listed = [(each.key, each.size_bytes) for each in store.list_objects(scratch, after)]
        if listed != rest:
            promise = "list what was just created, in order and with its size"
            raise StoreUnfit(name, promise, "the listing was another")


def _staged(store: Store, scratch: str, number: int, content: bytes, attempt: str) -> StagedHandle:
    """Stage a file whose name carries its window, as all names of data files do."""
    final = f"{scratch}/data/{FileName(0, 'probe', 0, number, number + 1, '0-0', 'probe')}"
    spot = StagingSpot(f"{scratch}/staging", "0-0", f"{number}-{attempt}")
    writer = store.open_staged(final, spot)
    writer.write(content)
    return writer.finish()


def _try_publishing(store: Store, name: str, scratch: str) -> None:
    handle = _staged(store, scratch, 0, b"staged", "a")
    if store.head(handle.final) is not None:
        raise StoreUnfit(name, _PUBLISHING, "it was visible before")
    store.publish(handle)
    store.publish(handle)
    _require_done(store, name, handle, b"staged")
    store.delete(handle.final)
    if store.look(handle).final is not FinalState.ABSENT:
        raise StoreUnfit(name, "delete an object at once", "it was still there")


def _try_racing_publishers(store: Store, name: str, scratch: str) -> None:
    """One file by two publishers, then two files under one name: both return, or one is refused."""
    for number in range(1, ROUNDS + 1):
        handle = _staged(store, scratch, number, b"first", "a")
        if _at_once([partial(_is_published, store, handle)] * 2) != [True, True]:
            raise StoreUnfit(name, _PUBLISHING, "one of two that published the same was refused")
        _require_done(store, name, handle, b"first")
    for number in range(ROUNDS + 1, 2 * ROUNDS + 1):
        contents = [b"first", b"other"]
        handles = [_staged(store, scratch, number, each, each.decode()) for each in contents]
        won = _at_once([partial(_is_published, store, handle) for handle in handles])
        if sorted(won) != [False, True]:
            seen = f"of two with other contents {sum(won)} were told that they had"
            raise StoreUnfit(name, "publish without overwriting", seen)
        winner = won.index(True)
        _require_done(store, name, handles[winner], contents[winner])


def _try_publishing_after_a_delete(store: Store, name: str, scratch: str) -> None:
    """What was published and deleted never comes back; what was staged beside it is not lost
    in silence. Some stores answer that they have completed such a file, and do not show it.
    """
    number = 2 * ROUNDS + 1
    gone = _staged(store, scratch, number, b"gone", "a")
    beside = _staged(store, scratch, number, b"beside", "b")
    store.publish(gone)
    store.delete(gone.final)
    for _ in range(2):
        if _is_published(store, gone) or store.head(gone.final) is not None:
            seen = "a file that was published and deleted was published again"
            raise StoreUnfit(name, _PUBLISHING, seen)
    if _is_published(store, beside):
        _require_done(store, name, beside, b"beside")
    elif not store.look(beside).is_lost:
        raise StoreUnfit(name, _PUBLISHING, "a file that was said to be gone was still there")


def _is_published(store: Store, handle: StagedHandle) -> bool:
    """Publish; False when the store says that nothing is staged, or that another file is there."""
    try:
        store.publish(handle)
    except (StagedGone, ForeignFile):
        return False
    return True


def _require_done(store: Store, name: str, handle: StagedHandle, content: bytes) -> None:
    sighting = store.look(handle)
    if not sighting.is_done or store.read(handle.final) != content:
        seen = f"then it was {sighting.final.value}, staged: {sighting.staged}"
        raise StoreUnfit(name, _PUBLISHING, seen)


def _try_replacing(store: ReplacesConditionally, name: str, key: str) -> None:
    promise = "replace an object only if it is still the one that was read"
    first = store.replace_tagged(key, b"first", None)
    if first is None or store.replace_tagged(key, b"second", None) is not None:
        raise StoreUnfit(name, promise, "a new one was not created, or two were")
    second = store.replace_tagged(key, b"second", first)
    if second is None or store.replace_tagged(key, b"third", first) is not None:
        raise StoreUnfit(name, promise, "the right tag was refused, or an old one was taken")
    found = store.read_tagged(key)
    if found is None or (found.data, found.tag) != (b"second", second):
        raise StoreUnfit(name, promise, "what was read back was not what was put there")
