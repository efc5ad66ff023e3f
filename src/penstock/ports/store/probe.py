"""Trying a store's promises on the real thing, whatever kind it is."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from penstock.api.store import ReplacesConditionally, Store
from penstock.errors import StoreUnfit
from penstock.model.names import FileName
from penstock.model.outcome import FinalState
from penstock.model.staged import StagingSpot
from penstock.ports.store.list_keys import list_keys

RACERS = 8


def probe_promises(store: Store, name: str, scratch: str) -> None:
    """Try what every store must give below `scratch`, which nobody else uses; clean up after.

    `name` is for the error: where the store is.
    """
    try:
        _try_creating(store, name, f"{scratch}/created")
        _try_racing(store, name, f"{scratch}/raced")
        _try_listing(store, name, scratch)
        _try_publishing(store, name, scratch)
        if isinstance(store, ReplacesConditionally):
            _try_replacing(store, name, f"{scratch}/replaced")
    finally:
        for ref in store.list_staged(f"{scratch}/staging", [f"{scratch}/data"]):
            store.discard(ref)
        for key in list_keys(store, scratch):
            store.delete(key)


def _try_creating(store: Store, name: str, key: str) -> None:
    promise = "create an object only when nothing is there"
    if not store.create(key, b"first"):
        raise StoreUnfit(name, promise, "the name of a new object was taken")
    if store.create(key, b"second"):
        raise StoreUnfit(name, promise, "a second one was created under the same name")
    if store.read(key) != b"first" or store.head(key) != len(b"first"):
        raise StoreUnfit(name, "return what was written", "the content of an object was another")


def _try_racing(store: Store, name: str, key: str) -> None:
    barrier = Barrier(RACERS)

    def run(content: bytes) -> bool:
        barrier.wait()
        return store.create(key, content)

    contents = [f"racer {number}".encode() for number in range(RACERS)]
    with ThreadPoolExecutor(RACERS) as pool:
        outcomes = list(pool.map(run, contents))
    winners = [content for content, won in zip(contents, outcomes, strict=True) if won]
    if len(winners) != 1 or store.read(key) != winners[0]:
        seen = f"{len(winners)} of {RACERS} at once were told that they had"
        raise StoreUnfit(name, "let exactly one of many create an object", seen)


def _try_listing(store: Store, name: str, scratch: str) -> None:
    wanted = [f"{scratch}/created", f"{scratch}/raced"]
    if list_keys(store, scratch) != wanted or list_keys(store, scratch, wanted[0]) != wanted[1:]:
        raise StoreUnfit(name, "list what was just created, in order", "the listing was another")


def _try_publishing(store: Store, name: str, scratch: str) -> None:
    promise = "publish a staged file exactly once"
    final = f"{scratch}/data/{FileName(0, 'probe', 0, 0, 1, '0-0', 'probe')}"
    writer = store.open_staged(final, StagingSpot(f"{scratch}/staging", "0-0", "probe"))
    writer.write(b"staged")
    handle = writer.finish()
    if store.head(final) is not None:
        raise StoreUnfit(name, promise, "it was visible before")
    store.publish(handle)
    store.publish(handle)
    sighting = store.look(handle)
    if not sighting.is_done or store.read(final) != b"staged":
        seen = f"then it was {sighting.final.value}, staged: {sighting.staged}"
        raise StoreUnfit(name, promise, seen)
    store.delete(final)
    if store.look(handle).final is not FinalState.ABSENT:
        raise StoreUnfit(name, "delete an object at once", "it was still there")


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
