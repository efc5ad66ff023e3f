"""Every verb of a store in a bucket, and what must hold afterwards.

For tests with faults: a verb is prepared, performed, repeated when nobody knows what happened, and
its effect is looked at by a client without faults.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.api.store import ReplacesConditionally, Store
from penstock.errors import OutcomeUnknown
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.replace_once import replace_once
from penstock.testing.contracts.store_staged import DAY, FINAL, file_name, stage, staged

ROWS = b"rows " * 100
OTHERS = f"{DAY}/{file_name('others')}"
KEY = "journal/0/00000000000000000007.json"
LARGE = bytes(range(256)) * (9 * 2**20 // 256)  # two blocks of a reader


class BucketStore(Store, ReplacesConditionally, Protocol):
    """A store that can do all of it."""


@dataclass
class Prepared:
    """What a verb works on, and what it found."""

    handles: list[StagedHandle] = field(default_factory=list)
    refs: list[StagedRef] = field(default_factory=list)
    tag: str | None = None
    found: object = None


Act = Callable[[BucketStore, Prepared], None]


@dataclass(frozen=True)
class Verb:
    """One verb. `check` asks a client without faults, after the verb has succeeded."""

    name: str
    operations: tuple[str, ...]
    prepare: Act
    act: Act
    check: Act


def _nothing(_store: BucketStore, _prepared: Prepared) -> None:
    return


def _create(store: BucketStore, _prepared: Prepared) -> None:
    assert create_once(store, KEY, b"mine") is None


def _created(store: BucketStore, _prepared: Prepared) -> None:
    assert store.read(KEY) == b"mine"
    assert list_keys(store, "") == [KEY]


def _put_beat(store: BucketStore, prepared: Prepared) -> None:
    prepared.tag = store.replace_tagged(KEY, b"old", None)
    assert prepared.tag is not None


def _replace(store: BucketStore, prepared: Prepared) -> None:
    assert replace_once(store, KEY, b"new", prepared.tag) is not None


def _replaced(store: BucketStore, _prepared: Prepared) -> None:
    assert store.read(KEY) == b"new"


def _stage(store: BucketStore, prepared: Prepared) -> None:
    prepared.handles = [stage(store, FINAL, ROWS)]


def _stage_two(store: BucketStore, prepared: Prepared) -> None:
    finals = (FINAL, OTHERS)
    prepared.handles = [stage(store, final, ROWS, f"t{n}") for n, final in enumerate(finals)]


def _staged(store: BucketStore, prepared: Prepared) -> None:
    """What is staged can be published, and what failed attempts left can be cleaned."""
    [handle] = prepared.handles
    store.publish(handle)
    for ref in staged(store):
        store.discard(ref)
    _published(store, prepared)


def _stage_large(store: BucketStore, prepared: Prepared) -> None:
    prepared.handles = [stage(store, FINAL, LARGE)]


def _staged_large(store: BucketStore, prepared: Prepared) -> None:
    [handle] = prepared.handles
    store.publish(handle)
    assert store.look(handle).is_done
    assert store.read(FINAL) == LARGE
    assert staged(store) == []


def _publish(store: BucketStore, prepared: Prepared) -> None:
    for handle in prepared.handles:
        store.publish(handle)


def _publish_all(store: BucketStore, prepared: Prepared) -> None:
    """As the loop does it: what is left is published by itself, which tells why."""
    left = store.publish_all(prepared.handles)
    for handle in prepared.handles:
        if handle.final in left:
            store.publish(handle)


def _published(store: BucketStore, prepared: Prepared) -> None:
    for handle in prepared.handles:
        assert store.look(handle).is_done
        assert store.read(handle.final) == ROWS
    assert list_keys(store, "") == sorted(handle.final for handle in prepared.handles)
    assert staged(store) == []


def _look(store: BucketStore, prepared: Prepared) -> None:
    prepared.found = store.look(prepared.handles[0])


def _looked(store: BucketStore, prepared: Prepared) -> None:
    assert prepared.found == store.look(prepared.handles[0])
    assert not store.look(prepared.handles[0]).is_done


def _find_staged(store: BucketStore, prepared: Prepared) -> None:
    _stage_two(store, prepared)
    prepared.refs = staged(store)


def _discard(store: BucketStore, prepared: Prepared) -> None:
    for ref in prepared.refs:
        store.discard(ref)


def _discarded(store: BucketStore, prepared: Prepared) -> None:
    assert staged(store) == []
    assert list_keys(store, "") == []
    assert all(store.look(handle).is_lost for handle in prepared.handles)


def _create_some(store: BucketStore, _prepared: Prepared) -> None:
    for number in range(5):
        store.create(f"a/{number}", str(number).encode())


def _delete(store: BucketStore, _prepared: Prepared) -> None:
    store.delete("a/1")


def _delete_all(store: BucketStore, _prepared: Prepared) -> None:
    left = store.delete_all(["a/1", "a/2"])
    if left:
        raise OutcomeUnknown("delete", min(left), "its answer does not say that it is gone")


def _deleted_one(store: BucketStore, _prepared: Prepared) -> None:
    assert list_keys(store, "") == ["a/0", "a/2", "a/3", "a/4"]


def _deleted_two(store: BucketStore, _prepared: Prepared) -> None:
    assert list_keys(store, "") == ["a/0", "a/3", "a/4"]


def _list(store: BucketStore, prepared: Prepared) -> None:
    prepared.found = list_keys(store, "a")


def _listed(_store: BucketStore, prepared: Prepared) -> None:
    assert prepared.found == [f"a/{number}" for number in range(5)]


def _list_staged(store: BucketStore, prepared: Prepared) -> None:
    prepared.refs = staged(store)


def _listed_staged(store: BucketStore, prepared: Prepared) -> None:
    assert prepared.refs == staged(store)
    assert [ref.window for ref in prepared.refs] == ["0-1", "0-1"]


def _create_large(store: BucketStore, _prepared: Prepared) -> None:
    store.create("a/large", LARGE)


def _create_small(store: BucketStore, _prepared: Prepared) -> None:
    store.create("a/small", ROWS)


def _open_read(store: BucketStore, prepared: Prepared) -> None:
    file = store.open_read("a/large")
    assert file is not None
    with file:
        prepared.found = file.read()


def _read(store: BucketStore, prepared: Prepared) -> None:
    prepared.found = store.read("a/small"), store.read("a/nothing")


def _was_all_read(_store: BucketStore, prepared: Prepared) -> None:
    assert prepared.found == (ROWS, None)


def _was_read(_store: BucketStore, prepared: Prepared) -> None:
    assert prepared.found == LARGE


def _head(store: BucketStore, prepared: Prepared) -> None:
    prepared.found = store.head("a/small"), store.head("a/nothing")


def _was_seen(_store: BucketStore, prepared: Prepared) -> None:
    assert prepared.found == (len(ROWS), None)


# What is done first, what is tried, and what is looked at afterwards.
ACTS: dict[str, tuple[Act, Act, Act]] = {
    "create": (_nothing, _create, _created),
    "replace_tagged": (_put_beat, _replace, _replaced),
    "stage": (_nothing, _stage, _staged),
    "publish": (_stage, _publish, _published),
    "publish_all": (_stage_two, _publish_all, _published),
    "discard": (_find_staged, _discard, _discarded),
    "delete": (_create_some, _delete, _deleted_one),
    "delete_all": (_create_some, _delete_all, _deleted_two),
    "look": (_stage, _look, _looked),
    "list_objects": (_create_some, _list, _listed),
    "list_staged": (_stage_two, _list_staged, _listed_staged),
    "open_read": (_create_large, _open_read, _was_read),
    "read": (_create_small, _read, _was_all_read),
    "head": (_create_small, _head, _was_seen),
    "stage_large": (_nothing, _stage_large, _staged_large),
}


def verbs_of(operations: Mapping[str, tuple[str, ...]]) -> list[Verb]:
    """The verbs of a store, each with the requests that it sends."""
    return [Verb(name, sent, *ACTS[name]) for name, sent in operations.items()]


def keys_of(store: Store) -> list[str]:
    """All that is visible."""
    return list_keys(store, "")
