"""X3: secrets of a lake on S3 stand nowhere: not in logs, errors, texts of values, or the lake.

Method: unique canaries as credentials, every verb with every kind of failure at the level DEBUG,
then a search in all that could be read.
"""

import logging
import secrets
import traceback
from collections.abc import Iterator

import msgspec
import pytest

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    ACCESS_DENIED,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    Act,
    Answer,
    DropReply,
    Rule,
    Truncate,
)
from penstock.testing.versioned_bucket_server import VersionedBucketServer
from tests.helpers.object_stores import BUCKET
from tests.helpers.s3_verbs import VERBS
from tests.helpers.store_verbs import Prepared

pytestmark = pytest.mark.xdist_group("objects")

ONCE = BackOff(tries=2, first_pause_s=0.01, longest_pause_s=0.01, within_s=60.0)
CANARIES = {
    "access_key": "CANARYACCESSKEY0001",
    "secret_key": "canary/secret+key/0002",
    "session_token": "canary+session/token==0003",
}
FAILURES: list[Act] = [
    ACCESS_DENIED,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    DropReply(),
    Truncate(),
    Answer(403, "SignatureDoesNotMatch"),
    Answer(403, "InvalidAccessKeyId"),
    Answer(400, "AuthorizationHeaderMalformed"),
]


def leaks(text: str, canaries: dict[str, str]) -> list[str]:
    """The names of canaries that a text contains."""
    return [name for name, canary in canaries.items() if canary in text]


@pytest.fixture(scope="module")
def server() -> Iterator[VersionedBucketServer]:
    with VersionedBucketServer() as server:
        yield server


def every_failure(store: S3Store, proxy: FaultProxy) -> Iterator[str]:
    """All verbs with all failures; the text of each error with what caused it."""
    for act in FAILURES:
        for verb in VERBS:
            prepared = Prepared()
            proxy.rules.clear()
            for key in [found.key for found in store.list_objects("")]:
                store.delete(key)
            verb.prepare(store, prepared)
            proxy.rules.add(*(Rule(act, each, times=None) for each in verb.operations))
            try:
                verb.act(store, prepared)
            except (OutcomeUnknown, StoreUnavailable, AssertionError) as error:
                yield "".join(traceback.format_exception(error)) + repr(error)
    proxy.rules.clear()


def test_no_secret_is_told_by_any_failure(
    server: VersionedBucketServer, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = f"lakes-{secrets.token_hex(4)}"
    server.make_bucket(bucket)
    caplog.set_level(logging.DEBUG)
    with FaultProxy(server.endpoint) as proxy:
        words = server.settings | {"endpoint": proxy.url} | CANARIES
        spec = StoreSpec("s3", f"{bucket}/lake", offer(STORES, "s3"), words)
        store = S3Store(spec, ONCE)
        told = list(every_failure(store, proxy))
        assert len(told) > len(FAILURES) * len(VERBS) // 2
        assert [leak for text in told for leak in leaks(text, CANARIES)] == []
        values = [repr(store), str(store), repr(spec), repr(vars(store)), repr(proxy.requests())]
        assert [leak for text in values for leak in leaks(text, CANARIES)] == []
    ours = [each for each in caplog.records if not each.name.startswith("werkzeug")]
    lines = "\n".join(f"{each.getMessage()} {each.args}" for each in ours)
    assert leaks(lines, CANARIES) == []


def test_no_secret_lies_in_the_lake(server: VersionedBucketServer) -> None:
    """Objects, their metadata, and the handles that stand in entries of a journal."""
    bucket = f"lakes-{secrets.token_hex(4)}"
    server.make_bucket(bucket, versioned=True)
    words = server.settings | CANARIES
    store = S3Store(StoreSpec("s3", f"{bucket}/lake", offer(STORES, "s3"), words), ONCE)
    handles = []
    for verb in VERBS:
        prepared = Prepared()
        for key in [found.key for found in store.list_objects("")]:
            store.delete(key)
        verb.prepare(store, prepared)
        verb.act(store, prepared)
        handles += prepared.handles
    client = server.client()
    texts = [msgspec.json.encode(handle).decode() + repr(handle) for handle in handles]
    for version in client.list_object_versions(Bucket=bucket)["Versions"]:
        found = client.get_object(Bucket=bucket, Key=version["Key"], VersionId=version["VersionId"])
        texts.append(f"{found['Body'].read()!r} {found['Metadata']} {version['Key']}")
    assert len(texts) > len(VERBS)
    assert [leak for text in texts for leak in leaks(text, CANARIES)] == []


def test_wrong_keys_are_told_in_one_sentence_without_them(
    object_store: EmbeddedObjectStore, caplog: pytest.LogCaptureFixture
) -> None:
    """A real server that checks signatures; its reply repeats what was signed."""
    caplog.set_level(logging.DEBUG)
    keys = {each: CANARIES[each] for each in ("access_key", "secret_key")}
    right = object_store.settings["access_key"]
    for wrong in (keys, keys | {"access_key": right}):
        store = S3Store(object_store.spec(f"{BUCKET}/x", **wrong), ONCE)
        with pytest.raises(StoreUnavailable, match="correct the credentials") as told:
            store.create("a", b"")
        text = "".join(traceback.format_exception(told.value))
        assert leaks(text, {"secret_key": keys["secret_key"]}) == []
        assert leaks(str(told.value), keys) == []
    assert leaks(caplog.text, CANARIES) == []
