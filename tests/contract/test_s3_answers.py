"""What a store on S3 makes of answers that are late, lost, wrong or missing, seen on the wire.

Goal: whatever is answered, what is there decides. Method: a proxy in front of a real object store
that ends, answers or holds single requests.
"""

import os
import pickle
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
import msgspec
import pytest
from botocore.config import Config

from penstock.cli.commands import check
from penstock.config.load import load
from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.outcome import FinalState, Sighting
from penstock.model.staged import StagedHandle, StagedRef, StagingSpot
from penstock.ports.store.back_off import BackOff, Waiting
from penstock.ports.store.breaker import MANY_FAILURES
from penstock.ports.store.s3.s3_store import S3Store
from penstock.ports.store.s3.s3_uploads import Uploads
from penstock.runtime.surroundings import AT_ONCE
from penstock.testing.contracts.store_staged import DATA_PREFIXES, FINAL, STAGING, stage
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    ACCESS_DENIED,
    CONFLICT,
    ERROR_INSIDE_200,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    NO_SUCH_UPLOAD,
    PRECONDITION_FAILED,
    SLOW_DOWN,
    Act,
    Answer,
    DropReply,
    DropRequest,
    Late,
    Rule,
    Truncate,
)
from tests.helpers.object_stores import BUCKET

pytestmark = pytest.mark.xdist_group("objects")

COMPLETE = "CompleteMultipartUpload"
HASTY = Waiting(time.monotonic, lambda _s: None, lambda: 0.0)


@pytest.fixture
def proxy(object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
    with FaultProxy(object_store.endpoint) as running:
        yield running


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def direct(object_store: EmbeddedObjectStore, address: str) -> S3Store:
    """A client that the proxy does not touch."""
    return S3Store(object_store.spec(address))


@pytest.fixture
def store(object_store: EmbeddedObjectStore, address: str, proxy: FaultProxy) -> S3Store:
    spec = object_store.spec(address, endpoint=proxy.url, part_size="5MiB")
    return S3Store(spec, BackOff(tries=4), HASTY)


def open_uploads(store: S3Store) -> list[StagedRef]:
    return list(store.list_staged(STAGING, DATA_PREFIXES))


@pytest.mark.parametrize(
    "act",
    [
        DropReply(), DropRequest(), INTERNAL_ERROR, SLOW_DOWN, ERROR_INSIDE_200, CONFLICT,
        Answer(500, "InternalError", performed=True), Answer(409, "Conflict", performed=True),
        Answer(412, "PreconditionFailed", performed=True),
        Answer(404, "NoSuchUpload", performed=True), Truncate(),
    ],
)  # fmt: skip
def test_a_file_is_published_whatever_one_complete_was_answered(
    act: Act, store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, b"rows")
    proxy.rules.add(Rule(act, COMPLETE))
    store.publish(handle)
    assert proxy.rules.unmet() == []
    assert direct.look(handle).is_done
    assert direct.read(FINAL) == b"rows"
    assert open_uploads(direct) == []


@pytest.mark.parametrize("answer", [CONFLICT, Answer(400, "InvalidPart")])
def test_an_upload_that_can_never_be_completed_is_given_up_and_known_to_be_gone(
    answer: Answer, store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, b"rows")
    proxy.rules.add(Rule(answer, COMPLETE, times=None))
    with pytest.raises(StagedGone):
        store.publish(handle)
    assert direct.look(handle).is_lost
    assert open_uploads(direct) == []


def test_success_without_an_object_is_not_believed(
    direct: S3Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 may answer so when the key was deleted after the upload began."""
    handle = stage(direct, FINAL, b"rows")
    hasty = S3Store(direct._spec, BackOff(tries=3), HASTY)
    monkeypatch.setattr(Uploads, "complete", lambda *_: None)
    with pytest.raises(StagedGone):
        hasty.publish(handle)
    assert direct.look(handle).is_lost


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (INTERNAL_ERROR, OutcomeUnknown),
        (DropReply(), None),  # it was done: the object is there
        (DropRequest(), OutcomeUnknown),
        (ACCESS_DENIED, StoreUnavailable),
        (PRECONDITION_FAILED, StoreUnavailable),
        (NO_SUCH_UPLOAD, StoreUnavailable),
    ],
)
def test_an_upload_without_an_answer_is_never_given_up(
    act: Act,
    error: type[Exception] | None,
    store: S3Store,
    direct: S3Store,
    proxy: FaultProxy,
) -> None:
    """An upload that is still open is needed, whatever a request to complete it was answered."""
    handle = stage(store, FINAL, b"rows")
    proxy.rules.add(Rule(act, COMPLETE, times=None))
    if error is None:
        store.publish(handle)
    else:
        with pytest.raises(error):
            store.publish(handle)
        assert direct.look(handle) == Sighting(final=FinalState.ABSENT, staged=True)
    direct.publish(handle)
    assert direct.read(FINAL) == b"rows"


@pytest.mark.parametrize("act", [INTERNAL_ERROR, ACCESS_DENIED, DropRequest()])
def test_a_complete_without_an_answer_and_a_look_that_fails_leave_the_outcome_open(
    act: Act, store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, b"rows")
    proxy.rules.add(Rule(DropReply(), COMPLETE, times=None), Rule(act, "HeadObject", times=None))
    with pytest.raises(OutcomeUnknown):
        store.publish(handle)
    assert direct.look(handle).is_done


def test_gone_needs_an_answer_about_the_upload_and_one_about_the_object(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, b"rows")
    direct.discard(StagedRef(handle.staged, "0-1", handle.proof))
    for operation in ("ListParts", "HeadObject"):
        proxy.rules.clear()
        proxy.rules.add(Rule(INTERNAL_ERROR, operation, times=None))
        with pytest.raises((StoreUnavailable, OutcomeUnknown)):
            store.publish(handle)
    proxy.rules.clear()
    with pytest.raises(StagedGone):
        store.publish(handle)


def test_a_complete_that_arrives_late_brings_nothing_back(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(store, FINAL, b"rows")
    proxy.rules.add(Rule(Late("slow"), COMPLETE, times=None))
    with pytest.raises(OutcomeUnknown):
        store.publish(handle)
    direct.publish(handle)
    direct.delete(FINAL)
    proxy.release("slow")
    assert direct.read(FINAL) is None
    assert direct.look(handle).is_lost


def test_another_attempt_with_the_same_bytes_is_ours_and_takes_the_place(
    direct: S3Store,
) -> None:
    first = stage(direct, FINAL, b"rows", "t0")
    second = stage(direct, FINAL, b"rows", "t1")
    direct.publish(first)
    direct.publish(second)
    assert direct.look(first).is_done
    assert direct.look(second).is_done
    assert open_uploads(direct) == []


def test_a_file_that_lost_its_metadata_by_a_copy_is_recognised_by_its_bytes(
    direct: S3Store,
) -> None:
    handle = stage(direct, FINAL, b"rows")
    direct.publish(handle)
    direct.delete(FINAL)
    assert direct.create(FINAL, b"rows")  # as a backup puts it back
    assert direct.look(handle).is_done
    direct.publish(handle)
    direct.delete(FINAL)
    assert direct.create(FINAL, b"ROWS")
    with pytest.raises(ForeignFile):
        direct.publish(handle)


def test_after_some_failures_in_a_row_no_further_file_is_tried(
    store: S3Store, proxy: FaultProxy
) -> None:
    finals = [FINAL.replace("_3_0-10_", f"_3_{n}0-{n + 1}0_") for n in range(1, 100)]
    handles = [
        StagedHandle(
            "s3", "staging/0-1/x.staged", final, 4, "sha256:0", {"upload": "u", "parts": "t"}
        )
        for final in finals
    ]
    proxy.rules.add(Rule(ACCESS_DENIED, COMPLETE, times=None))
    assert store.publish_all(handles) == set(finals)
    asked = [each for each in proxy.requests() if each.operation == COMPLETE]
    assert len(asked) < AT_ONCE + MANY_FAILURES


def test_a_create_whose_answers_are_lost_is_there_once_and_says_that_it_is_taken(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    proxy.rules.add(Rule(DropReply(), "PutObject"))
    assert store.create("journal/1", b"mine") is False
    assert direct.read("journal/1") == b"mine"
    proxy.rules.add(Rule(CONFLICT, "PutObject", times=2))
    assert store.create("journal/2", b"mine") is True


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (DropReply(), None), (DropRequest(), OutcomeUnknown), (INTERNAL_ERROR, OutcomeUnknown),
        (ACCESS_DENIED, StoreUnavailable), (CONFLICT, StoreUnavailable),
    ],
)  # fmt: skip
def test_a_create_that_is_never_answered_is_unknown_and_one_that_is_refused_is_not(
    act: Act, error: type[Exception] | None, store: S3Store, proxy: FaultProxy
) -> None:
    proxy.rules.add(Rule(act, "PutObject", times=None))
    if error is None:
        with pytest.raises(OutcomeUnknown):
            store.create("journal/1", b"mine")
        return
    with pytest.raises(error) as caught:
        store.create("journal/1", b"mine")
    assert BUCKET in str(caught.value)


def test_a_read_survives_a_burst_of_refusals_and_a_body_that_is_cut_off(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    direct.create("a/big", bytes(range(256)) * 2**16)
    proxy.rules.add(Rule(SLOW_DOWN, "GetObject", times=2), Rule(Truncate(1000), "GetObject", nth=3))
    assert store.read("a/big") == direct.read("a/big")
    proxy.rules.clear()
    proxy.rules.add(Rule(Truncate(1000), "GetObject", nth=2))
    file = store.open_read("a/big")
    assert file is not None
    with file:
        assert file.read() == direct.read("a/big")
    assert proxy.rules.unmet() == []


def test_an_object_that_changes_while_it_is_read_is_not_mixed_with_the_new_one(
    direct: S3Store,
) -> None:
    direct.create("a/big", b"x" * (20 * 2**20))
    file = direct.open_read("a/big")
    direct.delete("a/big")
    direct.create("a/big", b"y" * (20 * 2**20))
    assert file is not None
    with file, pytest.raises(StoreUnavailable, match="replaced or removed"):
        file.read()


def test_a_file_of_some_ten_megabytes_is_fetched_once_however_often_it_is_read(
    store: S3Store, proxy: FaultProxy
) -> None:
    data = secrets.token_bytes(20 * 2**20)
    store.create("a/big", data)
    file = store.open_read("a/big")
    assert file is not None
    with file:
        for _ in range(2):
            file.seek(0)
            assert file.read() == data
        file.seek(-8, os.SEEK_END)
        assert file.read() == data[-8:]
    assert len([each for each in proxy.requests() if each.operation == "GetObject"]) == 3


def test_a_small_file_takes_four_requests(store: S3Store, proxy: FaultProxy) -> None:
    handle = stage(store, FINAL, b"rows")
    assert store.publish_all([handle]) == set()
    assert [each.operation for each in proxy.requests()] == [
        "CreateMultipartUpload", "UploadPart", COMPLETE, "HeadObject"
    ]  # fmt: skip


def test_parts_that_fail_are_sent_again_and_a_large_file_arrives_whole(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    data = secrets.token_bytes(12 * 2**20)
    proxy.rules.add(Rule(INTERNAL_ERROR, "UploadPart", nth=2), Rule(DropReply(), "UploadPart"))
    handle = stage(store, FINAL, data)
    assert handle.proof["parts"].count(",") == 2
    store.publish(handle)
    assert direct.read(FINAL) == data


def test_a_file_that_cannot_be_sent_is_not_finished_and_its_upload_is_given_up(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    writer = store.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
    writer.write(b"rows")
    proxy.rules.add(Rule(ACCESS_DENIED, "UploadPart", times=None))
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            writer.finish()
    writer.abandon()
    assert open_uploads(direct) == []


def test_of_many_deletes_those_without_an_answer_may_be_left(
    store: S3Store, direct: S3Store, proxy: FaultProxy
) -> None:
    keys = [f"a/{number:04}" for number in range(1010)]
    for key in (keys[0], keys[-1]):
        direct.create(key, b"")
    proxy.rules.add(Rule(ACCESS_DENIED, "DeleteObjects"))
    assert store.delete_all(keys) == set(keys[:1000])
    assert [each.key for each in direct.list_objects("a")] == [keys[0]]
    assert store.delete_all(keys) == set()


def test_odd_names_are_deleted_at_once(direct: S3Store) -> None:
    keys = ["a/new\nline", "a/re\rturn", "a/\x01", "a/<&>'\"", "a/\u2426", "a/ space "]
    for key in keys:
        direct.create(key, b"")
    assert direct.delete_all(keys) == set()
    assert list(direct.list_objects("")) == []


def test_folders_of_other_tools_are_neither_listed_nor_odd(
    direct: S3Store, object_store: EmbeddedObjectStore, address: str
) -> None:
    client = boto3.client(
        "s3",
        endpoint_url=object_store.endpoint,
        aws_access_key_id=object_store.settings["access_key"],
        aws_secret_access_key=object_store.settings["secret_key"],
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}),
    )
    prefix = address.partition("/")[2]
    client.put_object(Bucket=BUCKET, Key=f"{prefix}/data/folder/", Body=b"")
    direct.create("data/a", b"a")
    assert [each.key for each in direct.list_objects("data")] == ["data/a"]
    assert direct.list_odd("data") == []


def test_expired_credentials_of_the_chain_are_looked_for_again(
    object_store: EmbeddedObjectStore,
    address: str,
    proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The proxy takes the token for expired; the environment has another one by then."""
    settings = object_store.settings
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", settings["access_key"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", settings["secret_key"])
    monkeypatch.setenv("AWS_SESSION_TOKEN", "c4n4ry-old")
    spec = object_store.spec(address, endpoint=proxy.url)
    chain = {key: word for key, word in spec.settings.items() if not key.endswith("_key")}
    store = S3Store(type(spec)("s3", address, spec.opener, chain), BackOff(tries=3), HASTY)
    assert store.create("a", b"a") is True
    proxy.rules.add(Rule(EXPIRED_TOKEN, token="c4n4ry-old", times=None))
    with pytest.raises(StoreUnavailable, match="have expired") as caught:
        store.read("a")
    assert "c4n4ry" not in str(caught.value)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "c4n4ry-new")
    assert store.read("a") == b"a"


def test_a_store_travels_by_its_spec_and_shows_no_secret(
    object_store: EmbeddedObjectStore, address: str
) -> None:
    store = S3Store(object_store.spec(address))
    store.create("a", b"a")
    copy = pickle.loads(pickle.dumps(store))
    assert copy.read("a") == b"a"
    assert pickle.loads(pickle.dumps(copy)) is copy
    for secret in (object_store.settings["secret_key"], object_store.settings["access_key"]):
        assert secret not in repr(store) + repr(copy) + str(store)


def test_a_process_that_was_forked_makes_a_client_of_its_own(direct: S3Store) -> None:
    direct.create("a", b"a")
    child = os.fork()
    if child == 0:
        os._exit(0 if direct.read("a") == b"a" and direct.create("b", b"b") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert direct.read("b") == b"b"


def test_a_worker_that_is_killed_leaves_nothing_on_its_disk(
    direct: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: spooled files need no cleaner. Method: kill -9 with megabytes in an open file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    reader, told = os.pipe()
    child = os.fork()
    if child == 0:
        writer = direct.open_staged(FINAL, StagingSpot(STAGING, "0-1", "t0"))
        writer.write(bytes(4 * 2**20))
        os.write(told, b"x")
        time.sleep(60)
        os._exit(1)
    assert os.read(reader, 1) == b"x"
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert list(tmp_path.iterdir()) == []
    assert open_uploads(direct) == []


def test_check_warns_of_rules_of_the_bucket_that_it_cannot_read(
    object_store: EmbeddedObjectStore,
    address: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also: all of a configuration is enough to open the lake. This store knows no such rules."""
    file = tmp_path / "penstock.yaml"
    settings = object_store.settings | {
        "access_key": "${env:S3_KEY}",
        "secret_key": "${env:S3_SECRET}",
    }
    store = ", ".join(f'{key}: "{word}"' for key, word in settings.items())
    file.write_text(
        f"version: 1\nlake: s3://{address}\nstore: {{{store}}}\n"
        "kafka: {bootstrap.servers: 'localhost:9092'}\nfeeds: {events: {topics: [events]}}\n"
    )
    monkeypatch.setenv("S3_KEY", object_store.settings["access_key"])
    monkeypatch.setenv("S3_SECRET", object_store.settings["secret_key"])
    finding = check._lake(load(file, os.environ))
    assert finding.state == "warning"
    assert f"s3://{address} has all that a lake needs" in finding.found[0]
    assert "lifecycle rules" in finding.found[1]
    assert object_store.settings["secret_key"] not in repr(finding)


def test_strangers_uploads_are_left_alone(direct: S3Store) -> None:
    writer = direct.open_staged("lake/a/backup.bin", StagingSpot(STAGING, "0-1", "t0"))
    writer.write(b"rows")
    handle = writer.finish()
    assert open_uploads(direct) == []
    assert direct.look(handle).staged


def test_a_missing_extra_is_told_in_one_sentence(
    object_store: EmbeddedObjectStore, address: str
) -> None:
    """In a process of its own, in which the module cannot be imported."""
    spec = object_store.spec(address)
    code = (
        "import sys, msgspec; sys.modules['boto3'] = None\n"
        "from penstock.model.store_spec import StoreSpec\n"
        "from penstock.ports.store.open_store import open_store\n"
        "try: open_store(msgspec.json.decode(sys.stdin.buffer.read(), type=StoreSpec))\n"
        "except Exception as error: print(error)\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        input=msgspec.json.encode(spec),
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert told.startswith("EXTRA_MISSING: The store 's3' needs the module 'boto3'")
    assert "pip install 'penstock[s3]'" in told
    assert object_store.settings["secret_key"] not in told
