"""Encryption, versions and credentials that expire: S3 as moto has it, without races."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.doors import STORES
from penstock.api.find import offer
from penstock.errors import (
    ForeignFile,
    OutcomeUnknown,
    StagedGone,
    StoreUnavailable,
    StoreUnfit,
)
from penstock.model.outcome import FinalState
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store_staged import FINAL, stage, staged
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import EXPIRED_TOKEN, DropReply, IgnoreHeader, Rule
from penstock.testing.versioned_bucket_server import (
    ACCESS_KEY,
    SECRET_KEY,
    VersionedBucketServer,
)

SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
KEYS = {"access_key": ACCESS_KEY, "secret_key": SECRET_KEY}
KMS_KEY = "arn:aws:kms:us-east-1:123456789012:key/00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def server() -> Iterator[VersionedBucketServer]:
    with VersionedBucketServer() as server:
        yield server


@pytest.fixture
def bucket(server: VersionedBucketServer) -> str:
    """A bucket of this test, with versions."""
    name = f"lakes-{secrets.token_hex(4)}"
    server.make_bucket(name, versioned=True)
    return name


def opened(server: VersionedBucketServer, bucket: str, **settings: str) -> S3Store:
    words = server.settings | settings
    return S3Store(StoreSpec("s3", f"{bucket}/lake", offer(STORES, "s3"), words), SOON)


@pytest.fixture
def store(server: VersionedBucketServer, bucket: str) -> S3Store:
    return opened(server, bucket, **KEYS)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"sse": "AES256"}, ("AES256", None)),
        ({"sse": "aws:kms", "kms_key": KMS_KEY}, ("aws:kms", KMS_KEY)),
    ],
)
def test_every_object_is_encrypted_as_the_settings_say(
    server: VersionedBucketServer,
    bucket: str,
    settings: dict[str, str],
    wanted: tuple[str, str | None],
) -> None:
    """Tags of encrypted objects are not checksums of their content; nothing relies on that."""
    store = opened(server, bucket, **KEYS, **settings)
    assert store.create("journal/1", b"entry") is True
    tag = store.replace_tagged("lease", b"beat 1", None)
    assert store.replace_tagged("lease", b"beat 2", tag) is not None
    assert store.replace_tagged("lease", b"beat 3", tag) is None
    handle = stage(store, FINAL, b"rows" * 1000)
    store.publish(handle)
    assert store.look(handle).is_done
    assert store.read(FINAL) == b"rows" * 1000
    client = server.client()
    for key in list_keys(store, ""):
        found = client.head_object(Bucket=bucket, Key=f"lake/{key}")
        assert (found.get("ServerSideEncryption"), found.get("SSEKMSKeyId")) == wanted, key


def test_what_was_deleted_in_a_versioned_bucket_is_absent_and_can_be_made_again(
    server: VersionedBucketServer, bucket: str, store: S3Store
) -> None:
    """S18: a delete leaves a marker, which is neither listed nor read."""
    assert store.create("a/1", b"first") is True
    assert store.create("a/1", b"other") is False
    store.delete("a/1")
    assert (store.read("a/1"), store.head("a/1"), store.open_read("a/1")) == (None, None, None)
    assert list_keys(store, "") == []
    assert store.create("a/1", b"second") is True
    assert store.read("a/1") == b"second"
    assert store.delete_all(["a/1", "a/never"]) == set()
    assert list_keys(store, "") == []
    versions = server.client().list_object_versions(Bucket=bucket, Prefix="lake/a/1")
    assert len(versions["Versions"]) == 2
    [sentence] = store.deleted_stays()
    assert "stay as former versions" in sentence
    assert len(versions["DeleteMarkers"]) == 2


def test_a_published_file_that_was_deleted_in_a_versioned_bucket_does_not_come_back(
    store: S3Store,
) -> None:
    handle = stage(store, FINAL, b"rows")
    store.publish(handle)
    store.delete(FINAL)
    assert store.look(handle).is_lost
    with pytest.raises((StagedGone, OutcomeUnknown)):  # moto answers 500, S3 that it is gone
        store.publish(handle)
    assert list_keys(store, "") == []
    again = stage(store, FINAL, b"rows", "again")
    store.publish(again)
    assert store.look(again).is_done


def test_a_foreign_object_in_a_versioned_bucket_is_no_older_version_afterwards(
    server: VersionedBucketServer, bucket: str, store: S3Store
) -> None:
    """A version could be hidden by a newer one without a word; it must not."""
    store.create(FINAL, b"of somebody else")
    handle = stage(store, FINAL, b"rows")
    with pytest.raises(ForeignFile):
        store.publish(handle)
    assert store.look(handle).final is FinalState.FOREIGN
    found = server.client().list_object_versions(Bucket=bucket, Prefix=f"lake/{FINAL}")
    assert len(found["Versions"]) == 1
    store.delete(FINAL)
    assert [ref.window for ref in staged(store)] == ["0-1"]


def test_s11_the_probe_refuses_a_store_that_ignores_conditions(
    server: VersionedBucketServer, bucket: str, proxy: FaultProxy
) -> None:
    store = opened(server, bucket, **KEYS, endpoint=proxy.url)
    proxy.rules.add(Rule(IgnoreHeader("If-None-Match"), "PutObject", times=None))
    with pytest.raises(StoreUnfit):
        store.probe("_penstock/probe")
    assert list_keys(store, "") == []


class Chain:
    """A file with credentials that is renewed from outside, as tools of clouds do it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def renew(self, token: str) -> None:
        self._path.write_text(
            f"[default]\naws_access_key_id = {ACCESS_KEY}\n"
            f"aws_secret_access_key = {SECRET_KEY}\naws_session_token = {token}\n"
        )


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    chain = Chain(tmp_path / "credentials")
    chain.renew("old")
    return chain


@pytest.fixture
def proxy(server: VersionedBucketServer) -> Iterator[FaultProxy]:
    with FaultProxy(server.endpoint) as proxy:
        yield proxy


@pytest.fixture
def chained(server: VersionedBucketServer, bucket: str, proxy: FaultProxy, chain: Chain) -> S3Store:
    """A store whose credentials come from the chain."""
    return opened(server, bucket, endpoint=proxy.url)


EXPIRED = Rule(EXPIRED_TOKEN, token="old", times=None)


def test_s12_expired_credentials_are_found_again_without_a_restart(
    chained: S3Store, proxy: FaultProxy, chain: Chain
) -> None:
    handle = stage(chained, FINAL, b"rows")
    assert chained.create("journal/1", b"entry") is True
    proxy.rules.add(EXPIRED)
    chain.renew("new")
    chained.publish(handle)
    assert chained.create("journal/2", b"entry") is True
    assert list_keys(chained, "journal") == ["journal/1", "journal/2"]
    assert chained.look(handle).is_done


@pytest.mark.parametrize("verb", ["head", "read", "look", "open_read", "list"])
def test_s12_every_kind_of_read_notices_that_credentials_have_expired(
    chained: S3Store, proxy: FaultProxy, chain: Chain, verb: str
) -> None:
    """The reply to a HEAD has no body, so it says 400 and not why."""
    handle = stage(chained, FINAL, b"rows")
    chained.publish(handle)
    proxy.rules.add(EXPIRED)
    chain.renew("new")
    match verb:
        case "head":
            assert chained.head(FINAL) == 4
        case "read":
            assert chained.read(FINAL) == b"rows"
        case "look":
            assert chained.look(handle).is_done
        case "open_read":
            file = chained.open_read(FINAL)
            assert file is not None
            assert file.read() == b"rows"
        case _:
            assert list_keys(chained, "") == [FINAL]


def test_s12_credentials_that_are_not_renewed_halt_and_nothing_is_lost(
    server: VersionedBucketServer,
    bucket: str,
    chained: S3Store,
    proxy: FaultProxy,
    chain: Chain,
) -> None:
    handle = stage(chained, FINAL, b"rows")
    proxy.rules.add(EXPIRED)
    for act in (lambda: chained.publish(handle), lambda: chained.create("journal/1", b"entry")):
        with pytest.raises(StoreUnavailable, match="have expired"):
            act()
    assert chained.publish_all([handle]) == {FINAL}
    assert list_keys(opened(server, bucket, **KEYS), "") == []
    chain.renew("new")
    assert chained.create("journal/1", b"entry") is True
    chained.publish(handle)
    assert list_keys(chained, "") == ["journal/1", FINAL]


def test_s12_credentials_that_expire_after_a_lost_reply_leave_the_outcome_open(
    chained: S3Store, proxy: FaultProxy, chain: Chain
) -> None:
    """The first try landed without a reply; the next says only that credentials have expired."""
    proxy.rules.add(Rule(DropReply(), "PutObject"), Rule(EXPIRED_TOKEN, "PutObject", nth=2))
    proxy.rules.add(Rule(EXPIRED_TOKEN, "PutObject", nth=3, times=None))
    with pytest.raises(OutcomeUnknown):
        chained.create("journal/1", b"entry")
    assert chained.read("journal/1") == b"entry"
