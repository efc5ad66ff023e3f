"""Every verb of a store with the requests that it sends to S3, and what must hold afterwards.

For tests with faults: a verb is prepared, performed, repeated when nobody knows what happened, and
its effect is looked at by a client without faults.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown
from penstock.model.staged import StagedHandle, StagedRef
from penstock.ports.store.create_once import create_once
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.replace_once import replace_once
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store_staged import DAY, FINAL, file_name, stage, staged
from penstock.testing.object_store_server import EmbeddedObjectStore

if TYPE_CHECKING:
    from types_boto3_s3.client import S3Client

ROWS = b"rows " * 100
OTHERS = f"{DAY}/{file_name('others')}"
KEY = "journal/0/00000000000000000007.json"
LARGE = bytes(range(256)) * (9 * 2**20 // 256)  # two blocks of a reader


@dataclass
class Prepared:
    """What a verb works on, and what it found."""

    handles: list[StagedHandle] = field(default_factory=list)
    refs: list[StagedRef] = field(default_factory=list)
    tag: str | None = None
    found: object = None


@dataclass(frozen=True)
class Verb:
    """One verb. `check` asks a client without faults, after the verb has succeeded."""

    name: str
    operations: tuple[str, ...]
    prepare: Callable[[S3Store, Prepared], None]
    act: Callable[[S3Store, Prepared], None]
    check: Callable[[S3Store, Prepared], None]


def _nothing(_store: S3Store, _prepared: Prepared) -> None:
    return


def _create(store: S3Store, _prepared: Prepared) -> None:
    assert create_once(store, KEY, b"mine") is None


def _created(store: S3Store, _prepared: Prepared) -> None:
    assert store.read(KEY) == b"mine"
    assert list_keys(store, "") == [KEY]


def _put_beat(store: S3Store, prepared: Prepared) -> None:
    prepared.tag = store.replace_tagged(KEY, b"old", None)
    assert prepared.tag is not None


def _replace(store: S3Store, prepared: Prepared) -> None:
    assert replace_once(store, KEY, b"new", prepared.tag) is not None


def _replaced(store: S3Store, _prepared: Prepared) -> None:
    assert store.read(KEY) == b"new"


def _stage(store: S3Store, prepared: Prepared) -> None:
    prepared.handles = [stage(store, FINAL, ROWS)]


def _stage_two(store: S3Store, prepared: Prepared) -> None:
    prepared.handles = [stage(store, final, ROWS) for final in (FINAL, OTHERS)]


def _staged(store: S3Store, prepared: Prepared) -> None:
    """What is staged can be published, and what failed attempts left can be cleaned."""
    [handle] = prepared.handles
    store.publish(handle)
    for ref in staged(store):
        store.discard(ref)
    _published(store, prepared)


def _publish(store: S3Store, prepared: Prepared) -> None:
    for handle in prepared.handles:
        store.publish(handle)


def _publish_all(store: S3Store, prepared: Prepared) -> None:
    """As the loop does it: what is left is published by itself, which tells why."""
    left = store.publish_all(prepared.handles)
    for handle in prepared.handles:
        if handle.final in left:
            store.publish(handle)


def _published(store: S3Store, prepared: Prepared) -> None:
    for handle in prepared.handles:
        assert store.look(handle).is_done
        assert store.read(handle.final) == ROWS
    assert list_keys(store, "") == sorted(handle.final for handle in prepared.handles)
    assert staged(store) == []


def _look(store: S3Store, prepared: Prepared) -> None:
    prepared.found = store.look(prepared.handles[0])


def _looked(store: S3Store, prepared: Prepared) -> None:
    assert prepared.found == store.look(prepared.handles[0])
    assert not store.look(prepared.handles[0]).is_done


def _find_staged(store: S3Store, prepared: Prepared) -> None:
    _stage_two(store, prepared)
    prepared.refs = staged(store)


def _discard(store: S3Store, prepared: Prepared) -> None:
    for ref in prepared.refs:
        store.discard(ref)


def _discarded(store: S3Store, prepared: Prepared) -> None:
    assert staged(store) == []
    assert list_keys(store, "") == []
    assert all(store.look(handle).is_lost for handle in prepared.handles)


def _create_some(store: S3Store, _prepared: Prepared) -> None:
    for number in range(5):
        store.create(f"a/{number}", str(number).encode())


def _delete(store: S3Store, _prepared: Prepared) -> None:
    store.delete("a/1")


def _delete_all(store: S3Store, _prepared: Prepared) -> None:
    left = store.delete_all(["a/1", "a/2"])
    if left:
        raise OutcomeUnknown("delete", min(left), "its answer does not say that it is gone")


def _deleted_one(store: S3Store, _prepared: Prepared) -> None:
    assert list_keys(store, "") == ["a/0", "a/2", "a/3", "a/4"]


def _deleted_two(store: S3Store, _prepared: Prepared) -> None:
    assert list_keys(store, "") == ["a/0", "a/3", "a/4"]


def _list(store: S3Store, prepared: Prepared) -> None:
    prepared.found = list_keys(store, "a")


def _listed(_store: S3Store, prepared: Prepared) -> None:
    assert prepared.found == [f"a/{number}" for number in range(5)]


def _list_staged(store: S3Store, prepared: Prepared) -> None:
    prepared.refs = staged(store)


def _listed_staged(store: S3Store, prepared: Prepared) -> None:
    assert prepared.refs == staged(store)
    assert [ref.window for ref in prepared.refs] == ["0-1", "0-1"]


def _create_large(store: S3Store, _prepared: Prepared) -> None:
    store.create("a/large", LARGE)


def _create_small(store: S3Store, _prepared: Prepared) -> None:
    store.create("a/small", ROWS)


def _open_read(store: S3Store, prepared: Prepared) -> None:
    file = store.open_read("a/large")
    assert file is not None
    with file:
        prepared.found = file.read()


def _read(store: S3Store, prepared: Prepared) -> None:
    prepared.found = store.read("a/small"), store.read("a/nothing")


def _was_all_read(_store: S3Store, prepared: Prepared) -> None:
    assert prepared.found == (ROWS, None)


def _was_read(_store: S3Store, prepared: Prepared) -> None:
    assert prepared.found == LARGE


def _head(store: S3Store, prepared: Prepared) -> None:
    prepared.found = store.head("a/small"), store.head("a/nothing")


def _was_seen(_store: S3Store, prepared: Prepared) -> None:
    assert prepared.found == (len(ROWS), None)


UPLOAD = ("CreateMultipartUpload", "UploadPart")
VERBS = [
    Verb("create", ("PutObject",), _nothing, _create, _created),
    Verb("replace_tagged", ("PutObject",), _put_beat, _replace, _replaced),
    Verb("stage", UPLOAD, _nothing, _stage, _staged),
    Verb(
        "publish", ("CompleteMultipartUpload", "HeadObject"), _stage, _publish, _published
    ),
    Verb(
        "publish_all",
        ("CompleteMultipartUpload", "HeadObject"),
        _stage_two,
        _publish_all,
        _published,
    ),
    Verb("discard", ("AbortMultipartUpload", "ListParts"), _find_staged, _discard, _discarded),
    Verb("delete", ("DeleteObject",), _create_some, _delete, _deleted_one),
    Verb("delete_all", ("DeleteObjects",), _create_some, _delete_all, _deleted_two),
    Verb("look", ("ListParts", "HeadObject"), _stage, _look, _looked),
    Verb("list_objects", ("ListObjectsV2",), _create_some, _list, _listed),
    Verb(
        "list_staged", ("ListMultipartUploads",), _stage_two, _list_staged, _listed_staged
    ),
    Verb("open_read", ("GetObject",), _create_large, _open_read, _was_read),
    Verb("read", ("GetObject",), _create_small, _read, _was_all_read),
    Verb("head", ("HeadObject",), _create_small, _head, _was_seen),
]  # fmt: skip


def boto_client(server: EmbeddedObjectStore) -> "S3Client":
    """A client that does what a bucket's owner does behind the back of Penstock."""
    settings = server.settings
    return boto3.client(
        "s3",
        endpoint_url=settings["endpoint"],
        region_name=settings["region"],
        aws_access_key_id=settings["access_key"],
        aws_secret_access_key=settings["secret_key"],
        config=Config(s3={"addressing_style": "path"}),
    )


def keys_of(store: Store) -> list[str]:
    """All that is visible."""
    return list_keys(store, "")
