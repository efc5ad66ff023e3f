"""What the store does with what only GCS answers: pieces, tokens, kept versions, credentials."""

import json
import logging
import os
import pickle
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from penstock.errors import OutcomeUnknown, StagedGone, StoreUnavailable, StoreUnfit
from penstock.model.outcome import FinalState
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store_staged import FINAL, stage, staged
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    GCS_BACKEND_ERROR,
    GCS_FORBIDDEN,
    GCS_NOT_MET,
    GCS_UNAUTHORIZED,
    Act,
    Answer,
    DropReply,
    DropRequest,
    Hold,
    IgnoreParameter,
    Rule,
)
from tests.helpers.gcs_asking import GcsAsking
from tests.helpers.gcs_verbs import BEGIN, GET, INSERT, REWRITE, SEND
from tests.helpers.object_stores import BUCKET
from tests.helpers.store_verbs import LARGE, ROWS

pytestmark = pytest.mark.xdist_group("gcs")

SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
PIECES = "1MiB"


@pytest.fixture
def proxy(gcs: EmbeddedGcs) -> Iterator[FaultProxy]:
    with FaultProxy(gcs.endpoint) as proxy:
        yield proxy


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def store(gcs: EmbeddedGcs, proxy: FaultProxy, address: str) -> GcsStore:
    return GcsStore(gcs.spec(address, endpoint=proxy.url, chunk_size=PIECES), SOON)


def bucket_with(gcs: EmbeddedGcs, **facts: object) -> str:
    name = f"b{secrets.token_hex(8)}"
    gcs.make_bucket(name, **facts)
    return name


def test_a_large_file_is_sent_in_pieces_and_goes_on_where_its_place_has_stopped(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy
) -> None:
    """Its place keeps only some of each piece, and two replies and two requests are lost."""
    gcs.set_moods(persist_bytes=600 * 1024)
    proxy.rules.add(
        Rule(DropReply(), SEND, nth=2, times=2), Rule(DropRequest(), SEND, nth=6, times=2)
    )
    try:
        handle = stage(store, FINAL, LARGE)
    finally:
        gcs.set_moods(persist_bytes=None)
    assert proxy.rules.unmet() == []
    sent = proxy.records.count()
    assert sent[BEGIN] == 1
    assert sent["uploads.ask"] == 4, "it asks before it sends anything again"
    store.publish(handle)
    assert store.read(FINAL) == LARGE


@pytest.mark.parametrize("status", [404, 410])
def test_an_upload_that_its_place_has_forgotten_begins_again(
    store: GcsStore, proxy: FaultProxy, status: int
) -> None:
    proxy.rules.add(Rule(Answer(status, "gone"), SEND, nth=3))
    handle = stage(store, FINAL, LARGE)
    assert proxy.records.count()[BEGIN] == 2
    store.publish(handle)
    assert store.read(FINAL) == LARGE


@pytest.mark.parametrize("data", [ROWS, LARGE], ids=["small", "large"])
def test_an_upload_whose_first_try_has_landed_is_recognised(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy, data: bytes
) -> None:
    """As when the reply to the last piece was lost with the session, or that to the only one."""
    first = stage(store, FINAL, data)
    again = stage(store, FINAL, data)
    assert again.proof["generation"] == first.proof["generation"]
    with pytest.raises(StoreUnavailable, match="another file was staged under this name"):
        stage(store, f"{FINAL}.other", data)
    proxy.rules.add(Rule(GCS_NOT_MET, BEGIN))  # some versions may say so at once
    assert stage(store, FINAL, data).proof["generation"] == first.proof["generation"]


@pytest.mark.parametrize("act", [GCS_BACKEND_ERROR, GCS_FORBIDDEN, DropRequest()])
def test_a_rewrite_without_an_answer_and_a_look_that_fails_leave_the_outcome_open(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy, address: str, act: Act
) -> None:
    handle = stage(store, FINAL, ROWS)
    proxy.rules.add(Rule(DropReply(), REWRITE, times=None), Rule(act, GET, times=None))
    with pytest.raises(OutcomeUnknown):
        store.publish(handle)
    assert GcsStore(gcs.spec(address)).look(handle).final is FinalState.OURS


def test_a_rewrite_in_several_calls_ends_and_consumes_its_source(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, LARGE)
    gcs.set_moods(rewrite_bytes=4 * 2**20)
    try:
        store.publish(handle)
    finally:
        gcs.set_moods(rewrite_bytes=None)
    assert proxy.records.count()[REWRITE] == 3
    assert store.look(handle).is_done
    assert store.read(FINAL) == LARGE


def test_a_rewrite_in_several_calls_brings_nothing_back(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy, address: str
) -> None:
    """Z4: between two calls another owner publishes, and retention takes the file away."""
    plain = GcsStore(gcs.spec(address), SOON)
    handle = stage(plain, FINAL, LARGE)
    gcs.set_moods(rewrite_bytes=4 * 2**20)
    proxy.rules.add(Rule(Hold("between"), GET))
    try:
        with ThreadPoolExecutor(1) as pool:
            old = pool.submit(store.publish, handle)
            proxy.waiting.wait_for("between")
            plain.publish(handle)
            plain.delete(FINAL)
            proxy.release("between")
            with pytest.raises(StagedGone):
                old.result(60)
    finally:
        gcs.set_moods(rewrite_bytes=None)
    assert plain.head(FINAL) is None


def test_versions_and_what_was_deleted_are_never_seen(gcs: EmbeddedGcs) -> None:
    """A bucket that keeps versions: their generations are neither listed, read nor published."""
    bucket = bucket_with(gcs, versioning={"enabled": True})
    store = GcsStore(gcs.spec(f"{bucket}/lake"), SOON)
    handle = stage(store, FINAL, ROWS)
    store.publish(handle)
    store.delete(FINAL)
    tag = store.replace_tagged("lease", b"one", None)
    store.replace_tagged("lease", b"two", tag)
    assert list_keys(store, "") == ["lease"]
    assert staged(store) == []
    with pytest.raises(StagedGone):
        store.publish(handle)
    assert store.look(handle).is_lost
    kept = GcsAsking(gcs.endpoint, bucket).names(versions="true")
    assert kept == sorted(kept)
    assert len(kept) == 4, "the staged one, the published one and a beat are kept and paid for"
    assert "keeps versions" in "".join(store.upload_risks())
    assert "keeps versions" in "".join(store.deleted_stays())
    store.probe("probe")
    assert list_keys(store, "") == ["lease"]


def test_soft_deletion_is_noted_and_brings_nothing_back(gcs: EmbeddedGcs) -> None:
    bucket = bucket_with(gcs, softDeletePolicy={"retentionDurationSeconds": "604800"})
    store = GcsStore(gcs.spec(f"{bucket}/lake"), SOON)
    handle = stage(store, FINAL, ROWS)
    store.publish(handle)
    store.delete(FINAL)
    with pytest.raises(StagedGone):
        store.publish(handle)
    [risk] = store.upload_risks()
    assert "for 7 days (soft delete)" in risk
    assert store.deleted_stays() == [risk]


def test_a_bucket_that_lets_nothing_be_deleted_is_told_in_words(gcs: EmbeddedGcs) -> None:
    bucket = bucket_with(gcs, retentionPolicy={"retentionPeriod": "1000"})
    store = GcsStore(gcs.spec(f"{bucket}/lake"), SOON)
    with pytest.raises(StoreUnavailable, match="keeps objects by a retention policy"):
        store.probe("probe")
    assert "so no window would end" in "".join(store.upload_risks())


def test_rules_that_delete_objects_of_the_lake_are_told(gcs: EmbeddedGcs) -> None:
    def rule(**condition: object) -> dict[str, object]:
        return {"action": {"type": "Delete"}, "condition": condition}

    bucket = bucket_with(
        gcs,
        lifecycle={
            "rule": [
                rule(age=30),
                rule(age=7, matchesPrefix=["lake/_penstock/events/staging"]),
                rule(age=1, matchesPrefix=["other/"]),
                rule(isLive=False, age=1),
                rule(daysSinceNoncurrentTime=3),
                rule(numNewerVersions=2),
                {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}},
                {
                    "action": {"type": "SetStorageClass", "storageClass": "NEARLINE"},
                    "condition": {"age": 1},
                },
            ]
        },
    )
    found = GcsStore(gcs.spec(f"{bucket}/lake"), SOON).upload_risks()
    assert len(found) == 2
    assert "(age: 30)" in found[0]
    assert "staging" in found[1]


def test_rules_that_cannot_be_read_are_told(
    gcs: EmbeddedGcs, store: GcsStore, proxy: FaultProxy
) -> None:
    proxy.rules.add(Rule(Answer(403, "forbidden"), "buckets.get"))
    [risk] = store.upload_risks()
    assert "allow storage.buckets.get" in risk


def test_a_place_that_checks_conditions_on_uploads_alone_is_refused(gcs: EmbeddedGcs) -> None:
    """As fake-gcs-server is: what was there would be overwritten by a publish."""
    store = GcsStore(gcs.spec(f"{bucket_with(gcs)}/lake"), SOON)
    gcs.set_moods(ignores_conditions=True)
    try:
        with pytest.raises(StoreUnfit, match=r"rewrite an object only when nothing is at its new"):
            store.probe("probe")
    finally:
        gcs.set_moods(ignores_conditions=False)
    assert list_keys(store, "") == []


@pytest.mark.parametrize(
    ("word", "operation", "said"),
    [
        ("ifGenerationMatch", REWRITE, "rewrite an object only when nothing is at its new name"),
        ("ifSourceGenerationMatch", REWRITE, "rewrite only the generation that is named"),
        ("ifGenerationMatch", "objects.delete", "delete only the generation that is named"),
        ("ifGenerationMatch", INSERT, "create an object only when nothing is there"),
    ],
)
def test_s11_a_place_that_ignores_one_condition_is_refused(
    store: GcsStore, proxy: FaultProxy, word: str, operation: str, said: str
) -> None:
    proxy.rules.add(Rule(IgnoreParameter(word), operation, times=None))
    with pytest.raises(StoreUnfit, match=said):
        store.probe("probe")
    assert list_keys(store, "") == []


def test_writes_of_one_name_that_come_too_soon_are_waited_for(
    gcs: EmbeddedGcs, store: GcsStore
) -> None:
    """About one write of a name in a second is what GCS takes; a beat waits for it."""
    gcs.set_moods(update_interval_s=0.1)
    try:
        patient = BackOff(tries=6, first_pause_s=0.1, longest_pause_s=0.2, within_s=30.0)
        store._requests.policy = patient
        tag = store.replace_tagged("lease", b"one", None)
        assert store.replace_tagged("lease", b"two", tag) is not None
    finally:
        gcs.set_moods(update_interval_s=0.0)
    assert store.read("lease") == b"two"


def test_a_store_pickles_by_its_settings_and_a_fork_makes_a_client_of_its_own(
    gcs: EmbeddedGcs, store: GcsStore
) -> None:
    store.create("a", b"of the parent")
    copy = pickle.loads(pickle.dumps(store))
    assert copy.read("a") == b"of the parent"
    made = store._requests._clients.current()
    child = os.fork()
    if not child:
        other = store._requests._clients.current()
        os._exit(0 if other is not made and store.read("a") == b"of the parent" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store._requests._clients.current() is made


def test_addresses_are_those_that_other_readers_take(store: GcsStore, address: str) -> None:
    assert store.uri("a/day=1 é/b") == f"gs://{address}/a/day=1 é/b"
    assert repr(store) == f"GcsStore('gs://{address}')"


def test_nothing_is_logged_that_opens_an_upload(
    store: GcsStore, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        stage(store, FINAL, LARGE)
    assert "upload_id" not in caplog.text


class TestCredentials:
    """A service account file, and a place that gives tokens for it (S12)."""

    @pytest.fixture
    def key_file(self, tmp_path: Path, proxy: FaultProxy) -> Path:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path = tmp_path / "key.json"
        path.write_text(
            json.dumps(
                {
                    "type": "service_account",
                    "client_email": "lake@penstock-tests.example",
                    "private_key": text.decode(),
                    "private_key_id": "1",
                    "token_uri": f"{proxy.url}/token",
                }
            )
        )
        return path

    @pytest.fixture
    def signed(self, gcs: EmbeddedGcs, proxy: FaultProxy, address: str, key_file: Path) -> GcsStore:
        spec = gcs.spec(address, endpoint=proxy.url, credentials_file=str(key_file))
        del spec.settings["anonymous"]
        return GcsStore(spec, SOON)

    def test_a_token_is_fetched_and_another_one_when_it_is_refused(
        self, signed: GcsStore, proxy: FaultProxy
    ) -> None:
        assert signed.create("a", b"one") is True
        proxy.rules.add(Rule(GCS_UNAUTHORIZED, "objects.*"))
        assert signed.create("b", b"two") is True
        assert proxy.rules.unmet() == []
        tokens = [each for each in proxy.requests() if each.key == "" and each.bucket == "token"]
        assert len(tokens) == 2

    def test_a_place_of_tokens_that_is_busy_is_asked_again(
        self, signed: GcsStore, proxy: FaultProxy
    ) -> None:
        proxy.rules.add(Rule(DropRequest(), method="POST", key=""))
        assert signed.create("a", b"one") is True
        assert proxy.rules.unmet() == []

    def test_credentials_that_are_refused_for_good_are_told_and_hold_no_key(
        self, signed: GcsStore, proxy: FaultProxy, key_file: Path
    ) -> None:
        proxy.rules.add(Rule(Answer(400, "invalid_grant"), method="POST", key="", times=None))
        with pytest.raises(StoreUnavailable) as told:
            signed.create("a", b"one")
        assert "give no token any more" in str(told.value)
        assert "PRIVATE KEY" not in str(told.value)

    def test_a_key_file_that_vanishes_after_a_lost_reply_leaves_the_outcome_open(
        self, gcs: EmbeddedGcs, signed: GcsStore, proxy: FaultProxy, address: str, key_file: Path
    ) -> None:
        """The client is made anew while nobody knows what the first try has done."""
        assert signed.create("a", b"one") is True
        key_file.unlink()
        proxy.rules.add(Rule(DropReply(), INSERT))
        proxy.rules.add(Rule(GCS_UNAUTHORIZED, INSERT, nth=2, times=None))
        with pytest.raises(OutcomeUnknown):
            signed.create("b", b"two")
        assert GcsStore(gcs.spec(address)).read("b") == b"two"

    def test_a_key_file_that_is_not_there_is_told(self, signed: GcsStore, key_file: Path) -> None:
        key_file.unlink()
        with pytest.raises(StoreUnavailable, match=r"key\.json"):
            signed.read("a")
        key_file.write_text("{}")
        with pytest.raises(StoreUnavailable, match=r"no usable credentials|could be made"):
            signed.read("a")
