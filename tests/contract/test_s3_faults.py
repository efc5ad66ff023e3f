"""S7 to S10, S12, S13: every verb of the store on S3 with every fault of its requests.

Goal: three outcomes. A fault that passes changes nothing but the time; one that lasts is an error
that says whether something may have happened; and whatever happened, doing it again ends in the
state in which it would have ended without the fault. Method: a proxy between the store and a real
object store; a second client without faults looks at the result.
"""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.model.outcome import FinalState
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store_staged import DAY, FINAL, file_name, stage, staged
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    ACCESS_DENIED,
    CONFLICT,
    EMPTY,
    ERROR_INSIDE_200,
    EXPIRED_TOKEN,
    INTERNAL_ERROR,
    SLOW_DOWN,
    Act,
    Answer,
    DropReply,
    DropRequest,
    Hold,
    Late,
    Rule,
    Stall,
    Truncate,
)
from tests.helpers.object_stores import BUCKET
from tests.helpers.s3_verbs import VERBS, boto_client
from tests.helpers.store_verbs import KEY, LARGE, ROWS, Prepared, Verb, keys_of

pytestmark = pytest.mark.xdist_group("objects")

SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
NO_ANSWER = (OutcomeUnknown, StoreUnavailable)

PERFORMED = Answer(500, "InternalError", performed=True)
PASSING: list[tuple[str, Act, int]] = [
    ("request lost", DropRequest(), 1),
    ("reply lost", DropReply(), 1),
    ("reply lost twice", DropReply(), 2),
    ("503 burst", SLOW_DOWN, 4),
    ("500", INTERNAL_ERROR, 1),
    ("500 though performed", PERFORMED, 1),
    ("409", CONFLICT, 2),
    ("reply cut", Truncate(), 1),
    ("error inside 200", ERROR_INSIDE_200, 1),
    ("empty 200", EMPTY, 1),
]
LASTING: list[tuple[str, Act]] = [
    ("requests lost", DropRequest()),
    ("replies lost", DropReply()),
    ("503", SLOW_DOWN),
    ("500 though performed", PERFORMED),
    ("denied", ACCESS_DENIED),
    ("expired", EXPIRED_TOKEN),
]
LANDED = (DropReply(), PERFORMED)
# Where a request that was performed without a whole answer has changed what others see.
UNKNOWN = {
    ("create", "PutObject"),
    ("publish", "HeadObject"),
    ("publish_all", "HeadObject"),
    ("discard", "AbortMultipartUpload"),
    ("delete", "DeleteObject"),
    ("delete_all", "DeleteObjects"),
}
# Where a look finds out that it was performed.
SETTLED = {
    ("replace_tagged", "PutObject"),
    ("publish", "CompleteMultipartUpload"),
    ("publish_all", "CompleteMultipartUpload"),
}
# Where S3 answers with an error inside a 200.
WITH_LATE_ERRORS = {"CompleteMultipartUpload"}


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def proxy(object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
    with FaultProxy(object_store.endpoint) as proxy:
        yield proxy


@pytest.fixture
def faulty(object_store: EmbeddedObjectStore, proxy: FaultProxy, address: str) -> S3Store:
    """The store behind the proxy."""
    return S3Store(object_store.spec(address, endpoint=proxy.url), SOON)


@pytest.fixture
def plain(object_store: EmbeddedObjectStore, address: str) -> Iterator[S3Store]:
    """Another client of the same place, without faults. What it holds is removed: it is memory."""
    store = S3Store(object_store.spec(address), SOON)
    yield store
    assert store.delete_all(keys_of(store)) == set()


def each_request() -> list[object]:
    return [
        pytest.param(verb, operation, id=f"{verb.name}-{operation}")
        for verb in VERBS
        for operation in verb.operations
    ]


@pytest.mark.parametrize(("word", "act", "times"), PASSING, ids=[each[0] for each in PASSING])
@pytest.mark.parametrize(("verb", "operation"), each_request())
def test_a_fault_that_passes_changes_nothing(
    faulty: S3Store,
    plain: S3Store,
    proxy: FaultProxy,
    verb: Verb,
    operation: str,
    word: str,
    act: Act,
    times: int,
) -> None:
    if act == ERROR_INSIDE_200 and operation not in WITH_LATE_ERRORS:
        act = INTERNAL_ERROR
    if act == EMPTY and operation in ("DeleteObject", "DeleteObjects"):
        act = DropReply()  # a success says nothing else, or what it says is believed
    if isinstance(act, Truncate) and operation == "HeadObject":
        act = DropReply()  # a reply without a body cannot be cut inside it
    prepared = Prepared()
    verb.prepare(plain, prepared)
    proxy.rules.add(Rule(act, operation, times=times))
    verb.act(faulty, prepared)
    assert proxy.rules.unmet() == []
    verb.check(plain, prepared)


@pytest.mark.parametrize(("word", "act"), LASTING, ids=[each[0] for each in LASTING])
@pytest.mark.parametrize(("verb", "operation"), each_request())
def test_a_fault_that_lasts_is_told_and_doing_it_again_ends_well(
    faulty: S3Store,
    plain: S3Store,
    proxy: FaultProxy,
    verb: Verb,
    operation: str,
    word: str,
    act: Act,
) -> None:
    """Unknown never deletes: what was there before is there, and the verb can be repeated."""
    prepared = Prepared()
    verb.prepare(plain, prepared)
    proxy.rules.add(Rule(act, operation, times=None))
    is_settled = act in LANDED and (verb.name, operation) in SETTLED
    if is_settled:
        verb.act(faulty, prepared)
    else:
        with pytest.raises(NO_ANSWER) as told:
            verb.act(faulty, prepared)
        if act in LANDED and (verb.name, operation) in UNKNOWN:
            assert told.type is OutcomeUnknown
    assert proxy.rules.unmet() == []
    proxy.rules.clear()
    if not is_settled:
        verb.act(faulty, prepared)
    verb.check(plain, prepared)


@pytest.mark.parametrize("operation", ["PutObject", "CompleteMultipartUpload", "GetObject"])
def test_a_stalled_reply_is_given_up_in_time(
    object_store: EmbeddedObjectStore,
    plain: S3Store,
    proxy: FaultProxy,
    address: str,
    operation: str,
) -> None:
    """S7: the read timeout ends the wait; the next try is answered."""
    verb = next(verb for verb in VERBS if operation in verb.operations)
    hasty = S3Store(object_store.spec(address, endpoint=proxy.url, read_timeout="1s"), SOON)
    prepared = Prepared()
    verb.prepare(plain, prepared)
    proxy.rules.add(Rule(Stall(), operation))
    verb.act(hasty, prepared)
    assert proxy.rules.unmet() == []
    verb.check(plain, prepared)


def test_a_reply_that_stalls_in_the_middle_is_read_again(
    object_store: EmbeddedObjectStore, plain: S3Store, proxy: FaultProxy, address: str
) -> None:
    hasty = S3Store(object_store.spec(address, endpoint=proxy.url, read_timeout="1s"), SOON)
    plain.create("a", LARGE)
    proxy.rules.add(Rule(Stall(100_000), "GetObject"), Rule(Truncate(100_000), "GetObject", nth=2))
    assert hasty.read("a") == LARGE
    assert proxy.rules.unmet() == []


def test_a_store_that_is_down_is_told_as_that_and_nothing_is_lost(
    object_store: EmbeddedObjectStore, plain: S3Store, address: str
) -> None:
    """Nothing listens there: certainly nothing happened, so it is not unknown."""
    with FaultProxy(object_store.endpoint) as proxy:
        url = proxy.url
    store = S3Store(object_store.spec(address, endpoint=url), SOON)
    handle = stage(plain, FINAL, ROWS)
    for act in (
        lambda: store.create("a", b"a"),
        lambda: store.publish(handle),
        lambda: store.read("a"),
        lambda: list(store.list_objects("")),
        lambda: store.discard(staged(plain)[0]),
    ):
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            act()
    assert store.publish_all([handle]) == {handle.final}
    plain.publish(handle)
    assert plain.look(handle).is_done


def test_s9_creates_that_arrive_after_a_newer_one_change_nothing(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    """Goal: no entry of a dead owner after a newer claim. Method: all its tries are late."""
    proxy.rules.add(Rule(Late("entry"), "PutObject", times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.create(KEY, b"of the old owner")
    assert plain.create(KEY, b"of the new owner") is True
    told = proxy.release("entry")
    assert told == [412] * len(told)
    assert len(told) > 1
    assert plain.read(KEY) == b"of the new owner"


def test_s9_a_create_that_arrives_late_after_its_own_next_try_is_once(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    proxy.rules.add(Rule(Late("entry"), "PutObject"))
    assert faulty.create(KEY, b"mine") is True
    assert proxy.release("entry") == [412]
    assert plain.read(KEY) == b"mine"


def test_s9_a_late_beat_does_not_take_a_lease_back(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    tag = plain.replace_tagged(KEY, b"beat 1 of the old", None)
    proxy.rules.add(Rule(Late("beat"), "PutObject", times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.replace_tagged(KEY, b"beat 2 of the old", tag)
    assert plain.replace_tagged(KEY, b"of the new", tag) is not None
    assert set(proxy.release("beat")) == {412}
    assert plain.read(KEY) == b"of the new"


def test_z4_a_late_complete_brings_nothing_back_that_was_published_and_removed(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    """Method: all completes of the old owner are late; the new one publishes, then compacts."""
    handle, other = stage(plain, FINAL, ROWS, "t0"), stage(plain, FINAL, ROWS, "t1")
    proxy.rules.add(Rule(Late("complete"), "CompleteMultipartUpload", times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.publish(handle)
    plain.publish(handle)
    assert plain.look(handle).is_done
    plain.delete(FINAL)
    assert len(proxy.release("complete")) > 1
    assert plain.head(FINAL) is None
    with pytest.raises(StagedGone):
        plain.publish(handle)
    for ref in staged(plain):
        plain.discard(ref)
    assert plain.look(other).is_lost
    assert keys_of(plain) == []


def test_z3_two_that_publish_the_same_files_both_return_and_each_file_is_there_once(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    """Method: the old owner's complete is held at the store's door until the new one is done."""
    handle = stage(plain, FINAL, ROWS)
    proxy.rules.add(Rule(Hold("old"), "CompleteMultipartUpload"))
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(faulty.publish, handle)
        proxy.waiting.wait_for("old")
        plain.publish(handle)
        proxy.release("old")
        old.result(60)
    assert plain.look(handle).is_done
    assert keys_of(plain) == [FINAL]
    assert staged(plain) == []


def test_a_part_that_arrives_after_its_upload_was_given_up_makes_nothing_visible(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    """A dead task's part; some stores take parts of an upload that was aborted."""
    proxy.rules.add(Rule(Late("part"), "UploadPart", times=None))
    with pytest.raises(NO_ANSWER):
        stage(faulty, FINAL, ROWS)
    for ref in staged(plain):
        plain.discard(ref)
    proxy.release("part")
    for ref in staged(plain):
        plain.discard(ref)
    assert staged(plain) == []
    assert keys_of(plain) == []


def test_s19_an_upload_that_a_lifecycle_rule_aborted_is_gone_and_not_unknown(
    plain: S3Store, object_store: EmbeddedObjectStore, address: str
) -> None:
    handle = stage(plain, FINAL, ROWS)
    client = boto_client(object_store)
    prefix = address.partition("/")[2]
    client.abort_multipart_upload(
        Bucket=BUCKET, Key=f"{prefix}/{FINAL}", UploadId=handle.proof["upload"]
    )
    assert plain.look(handle).is_lost
    with pytest.raises(StagedGone):
        plain.publish(handle)
    again = stage(plain, FINAL, ROWS, "again")
    plain.publish(again)
    assert plain.look(handle).final is FinalState.OURS  # the same rows, by another attempt


def test_s17_a_foreign_object_is_not_overwritten_whatever_the_replies_are(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    handle = stage(plain, FINAL, ROWS)
    plain.create(FINAL, b"of somebody else")
    for act in (DropReply(), PERFORMED, CONFLICT, SLOW_DOWN, Truncate()):
        proxy.rules.clear()
        proxy.rules.add(Rule(act, "CompleteMultipartUpload"))
        with pytest.raises(ForeignFile):
            faulty.publish(handle)
    assert plain.read(FINAL) == b"of somebody else"
    assert plain.look(handle).staged is True


def test_s10_a_conflict_that_stays_ends_and_never_deletes_what_is_visible(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    """409 for ever: the create is not taken for one that found something."""
    proxy.rules.add(Rule(CONFLICT, "PutObject|CompleteMultipartUpload", times=None))
    with pytest.raises(NO_ANSWER):
        faulty.create(KEY, b"mine")
    assert plain.read(KEY) is None
    handle = stage(plain, FINAL, ROWS)
    with pytest.raises((StagedGone, *NO_ANSWER)):
        faulty.publish(handle)
    assert plain.head(FINAL) is None
    proxy.rules.clear()
    again = stage(plain, FINAL, ROWS, "again")
    faulty.publish(again)
    assert plain.look(again).is_done


def test_an_empty_answer_to_a_deletion_of_many_leaves_all_in_doubt(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    plain.create("a", b"")
    proxy.rules.add(Rule(EMPTY, "DeleteObjects"))
    assert faulty.delete_all(["a", "b"]) == {"a", "b"}
    assert faulty.delete_all(["a", "b"]) == set()


def test_s20_nothing_is_ever_copied_or_renamed(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy
) -> None:
    for verb in VERBS:
        prepared = Prepared()
        for key in keys_of(plain):
            plain.delete(key)
        verb.prepare(plain, prepared)
        verb.act(faulty, prepared)
    sent = proxy.records.count()
    assert sent["CompleteMultipartUpload"] > 0
    assert "CopyObject" not in sent
    assert {record.method for record in proxy.requests()} <= {
        "GET",
        "HEAD",
        "PUT",
        "POST",
        "DELETE",
    }


@pytest.mark.parametrize("act", [SLOW_DOWN, DropReply(), Truncate(500)])
def test_s6_a_listing_of_many_pages_is_whole_with_a_fault_in_the_middle(
    faulty: S3Store, plain: S3Store, proxy: FaultProxy, act: Act
) -> None:
    keys = [f"d/{number:05}" for number in range(2300)]
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda key: plain.create(key, b""), keys))
    proxy.rules.add(Rule(act, "ListObjectsV2", nth=2), Rule(act, "ListObjectsV2", nth=4))
    assert list_keys(faulty, "d") == keys
    assert proxy.rules.unmet() == []
    assert proxy.records.count()["ListObjectsV2"] == 5
    assert plain.delete_all(keys) == set()


def test_files_need_few_requests(faulty: S3Store, proxy: FaultProxy) -> None:
    """A small file: begin, one part, complete, look. A create and a beat are one each."""
    faulty.create(KEY, b"entry")
    assert proxy.records.count() == {"PutObject": 1}
    proxy.records.clear()
    finals = [f"{DAY}/{file_name(f'topic-{number}')}" for number in range(10)]
    handles = [stage(faulty, final, ROWS) for final in finals]
    assert faulty.publish_all(handles) == set()
    assert proxy.records.count() == {
        "CreateMultipartUpload": 10,
        "UploadPart": 10,
        "CompleteMultipartUpload": 10,
        "HeadObject": 10,
    }
