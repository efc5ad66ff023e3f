"""S7 to S10, S12, S13: every verb of the store on GCS with every fault of its requests.

Goal: three outcomes. A fault that passes changes nothing but the time; one that lasts is an error
that says whether something may have happened; and whatever happened, doing it again ends in the
state in which it would have ended without the fault. Method: a proxy between the store and the
double; a second client without faults looks at the result.
"""

import secrets
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.errors import ForeignFile, OutcomeUnknown, StagedGone, StoreUnavailable
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.gcs.gcs_store import GcsStore
from penstock.ports.store.list_keys import list_keys
from penstock.testing.contracts.store_staged import DAY, FINAL, file_name, stage, staged
from penstock.testing.gcs_double.gcs_server import EmbeddedGcs
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import (
    EMPTY,
    GCS_BACKEND_ERROR,
    GCS_FORBIDDEN,
    GCS_RATE_LIMIT,
    GCS_UNAUTHORIZED,
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
from tests.helpers.gcs_verbs import DELETE, GET, INSERT, LIST, READ, REWRITE, SEND, VERBS
from tests.helpers.object_stores import BUCKET
from tests.helpers.store_verbs import KEY, LARGE, ROWS, Prepared, Verb, keys_of

pytestmark = pytest.mark.xdist_group("gcs")

SOON = BackOff(tries=6, first_pause_s=0.002, longest_pause_s=0.02, within_s=60.0)
NO_ANSWER = (OutcomeUnknown, StoreUnavailable)

PERFORMED = Answer(500, "backendError", performed=True)
CONFLICT = Answer(409, "conflict")
PASSING: dict[str, tuple[Act, int]] = {
    "reply lost twice": (DropReply(), 2),
    "503 burst": (GCS_BACKEND_ERROR, 4),
    "429": (GCS_RATE_LIMIT, 2),
    "500 though performed": (PERFORMED, 1),
    "409": (CONFLICT, 1),
    "empty 200": (EMPTY, 1),
}
LASTING: dict[str, Act] = {
    "requests lost": DropRequest(),
    "replies lost": DropReply(),
    "denied": GCS_FORBIDDEN,
    "expired": GCS_UNAUTHORIZED,
}
LANDED = (DropReply(),)
# Where a request that was performed without a whole answer has changed what others see.
UNKNOWN = {
    ("create", INSERT),
    ("stage", INSERT),
    ("publish", GET),
    ("publish", DELETE),
    ("publish_all", GET),
    ("publish_all", DELETE),
    ("discard", DELETE),
    ("delete", DELETE),
    ("delete_all", DELETE),
}
# Where a look, or a question to the upload, finds out that it was performed.
SETTLED = {
    ("replace_tagged", INSERT),
    ("publish", REWRITE),
    ("publish_all", REWRITE),
    ("stage_large", SEND),
}


@pytest.fixture
def address() -> str:
    return f"{BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture
def proxy(gcs: EmbeddedGcs) -> Iterator[FaultProxy]:
    with FaultProxy(gcs.endpoint) as proxy:
        yield proxy


@pytest.fixture
def faulty(gcs: EmbeddedGcs, proxy: FaultProxy, address: str) -> GcsStore:
    """The store behind the proxy."""
    return GcsStore(gcs.spec(address, endpoint=proxy.url), SOON)


@pytest.fixture
def plain(gcs: EmbeddedGcs, address: str) -> Iterator[GcsStore]:
    """Another client of the same place, without faults. What it holds is removed: it is memory."""
    store = GcsStore(gcs.spec(address), SOON)
    yield store
    assert store.delete_all(keys_of(store)) == set()


def each_request(faults: Iterable[tuple[str, Act]]) -> list[object]:
    """Every fault of every request; that a name is busy is said of new objects alone."""
    return [
        pytest.param(verb, operation, word, id=f"{verb.name}-{operation}-{word}")
        for verb in VERBS
        for operation in verb.operations
        for word, act in faults
        if act not in (GCS_RATE_LIMIT, CONFLICT) or operation in (INSERT, REWRITE)
    ]


@pytest.mark.parametrize(
    ("verb", "operation", "word"), each_request((word, act) for word, (act, _) in PASSING.items())
)
def test_a_fault_that_passes_changes_nothing(
    faulty: GcsStore,
    plain: GcsStore,
    proxy: FaultProxy,
    verb: Verb,
    operation: str,
    word: str,
) -> None:
    act, times = PASSING[word]
    if act == EMPTY and operation == DELETE:
        act = DropReply()  # a success says nothing else
    prepared = Prepared()
    verb.prepare(plain, prepared)
    proxy.rules.add(Rule(act, operation, times=times))
    verb.act(faulty, prepared)
    assert proxy.rules.unmet() == []
    verb.check(plain, prepared)


@pytest.mark.parametrize(("verb", "operation", "word"), each_request(LASTING.items()))
def test_a_fault_that_lasts_is_told_and_doing_it_again_ends_well(
    faulty: GcsStore,
    plain: GcsStore,
    proxy: FaultProxy,
    verb: Verb,
    operation: str,
    word: str,
) -> None:
    """Unknown never deletes: what was there before is there, and the verb can be repeated."""
    act = LASTING[word]
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


@pytest.mark.parametrize("operation", [INSERT, REWRITE, READ])
def test_a_stalled_reply_is_given_up_in_time(
    gcs: EmbeddedGcs, plain: GcsStore, proxy: FaultProxy, address: str, operation: str
) -> None:
    """S7: the read timeout ends the wait; the next try is answered."""
    verb = next(verb for verb in VERBS if operation in verb.operations)
    hasty = GcsStore(gcs.spec(address, endpoint=proxy.url, read_timeout="1s"), SOON)
    prepared = Prepared()
    verb.prepare(plain, prepared)
    proxy.rules.add(Rule(Stall(), operation))
    verb.act(hasty, prepared)
    assert proxy.rules.unmet() == []
    verb.check(plain, prepared)


def test_a_reply_that_stalls_or_ends_in_the_middle_is_read_again(
    gcs: EmbeddedGcs, plain: GcsStore, proxy: FaultProxy, address: str
) -> None:
    hasty = GcsStore(gcs.spec(address, endpoint=proxy.url, read_timeout="1s"), SOON)
    plain.create("a", LARGE)
    proxy.rules.add(Rule(Stall(100_000), READ), Rule(Truncate(100_000), READ, nth=2))
    assert hasty.read("a") == LARGE
    assert proxy.rules.unmet() == []


def test_a_store_that_is_down_is_told_as_that_and_nothing_is_lost(
    gcs: EmbeddedGcs, plain: GcsStore, address: str
) -> None:
    """Nothing listens there: certainly nothing happened, so it is not unknown."""
    with FaultProxy(gcs.endpoint) as proxy:
        url = proxy.url
    store = GcsStore(gcs.spec(address, endpoint=url), SOON)
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
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    """Goal: no entry of a dead owner after a newer claim. Method: all its tries are late."""
    proxy.rules.add(Rule(Late("entry"), INSERT, f"*/{KEY}", times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.create(KEY, b"of the old owner")
    assert plain.create(KEY, b"of the new owner") is True
    told = proxy.release("entry")
    assert set(told) == {412}
    assert len(told) > 1
    assert plain.read(KEY) == b"of the new owner"


def test_s9_a_late_beat_does_not_take_a_lease_back(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    tag = plain.replace_tagged(KEY, b"beat 1 of the old", None)
    proxy.rules.add(Rule(Late("beat"), INSERT, times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.replace_tagged(KEY, b"beat 2 of the old", tag)
    assert plain.replace_tagged(KEY, b"of the new", tag) is not None
    assert set(proxy.release("beat")) == {412}
    assert plain.read(KEY) == b"of the new"


def test_z4_a_late_rewrite_brings_nothing_back_that_was_published_and_removed(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    """Method: all rewrites of the old owner are late; the new one publishes, then compacts."""
    handle = stage(plain, FINAL, ROWS)
    proxy.rules.add(Rule(Late("rewrite"), REWRITE, times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.publish(handle)
    plain.publish(handle)
    plain.delete(FINAL)
    told = proxy.release("rewrite")
    assert set(told) == {404}
    assert len(told) > 1
    with pytest.raises(StagedGone):
        plain.publish(handle)
    assert keys_of(plain) == []


def test_z4_a_late_rewrite_does_not_take_what_was_staged_again_under_its_name(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    """The generation of the staged object stands in the handle: another one is not ours."""
    handle = stage(plain, FINAL, ROWS)
    proxy.rules.add(Rule(Late("rewrite"), REWRITE, times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.publish(handle)
    plain.publish(handle)
    plain.delete(FINAL)
    again = stage(plain, FINAL, ROWS)
    assert (again.staged, again.proof != handle.proof) == (handle.staged, True)
    assert set(proxy.release("rewrite")) == {412}
    assert plain.head(FINAL) is None
    plain.publish(again)
    assert plain.look(again).is_done


def test_z4_a_late_deletion_of_a_staged_object_takes_no_other_one(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    handle = stage(plain, FINAL, ROWS)
    proxy.rules.add(Rule(Late("delete"), DELETE, times=None))
    with pytest.raises(OutcomeUnknown):
        faulty.publish(handle)
    plain.publish(handle)
    again = stage(plain, f"{DAY}/{file_name('again')}", ROWS)
    assert again.staged == handle.staged
    assert set(proxy.release("delete")) == {412}
    plain.publish(again)
    assert plain.look(again).is_done


def test_z3_two_that_publish_the_same_file_both_return_and_it_is_there_once(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    """Method: the old owner's rewrite is held at the store's door until the new one is done."""
    handle = stage(plain, FINAL, ROWS)
    proxy.rules.add(Rule(Hold("old"), REWRITE))
    with ThreadPoolExecutor(1) as pool:
        old = pool.submit(faulty.publish, handle)
        proxy.waiting.wait_for("old")
        plain.publish(handle)
        proxy.release("old")
        old.result(60)
    assert plain.look(handle).is_done
    assert keys_of(plain) == [FINAL]


def test_a_file_that_arrives_after_its_publish_is_a_leftover_that_can_be_cleaned(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    """A dead task's upload: nobody's handle names its generation, so nobody publishes it."""
    proxy.rules.add(Rule(Late("upload"), INSERT))
    handle = stage(faulty, FINAL, ROWS)
    faulty.publish(handle)
    plain.delete(FINAL)
    assert proxy.release("upload") == [200]
    with pytest.raises(StagedGone):
        faulty.publish(handle)
    [ref] = staged(plain)
    plain.discard(ref)
    assert keys_of(plain) == []


def test_s3_a_staged_object_that_a_lifecycle_rule_deleted_is_gone_and_not_unknown(
    plain: GcsStore,
) -> None:
    handle = stage(plain, FINAL, ROWS)
    plain.delete(handle.staged)
    assert plain.look(handle).is_lost
    with pytest.raises(StagedGone):
        plain.publish(handle)
    again = stage(plain, FINAL, ROWS, "again")
    plain.publish(again)
    assert plain.look(handle).is_done  # the same rows, by another attempt


def test_s17_a_foreign_object_is_not_overwritten_whatever_the_replies_are(
    faulty: GcsStore, plain: GcsStore, proxy: FaultProxy
) -> None:
    handle = stage(plain, FINAL, ROWS)
    plain.create(FINAL, b"of somebody else")
    for act in (DropReply(), PERFORMED, GCS_BACKEND_ERROR, Truncate()):
        proxy.rules.clear()
        proxy.rules.add(Rule(act, REWRITE))
        with pytest.raises(ForeignFile):
            faulty.publish(handle)
    assert plain.read(FINAL) == b"of somebody else"
    assert plain.look(handle).staged is True


@pytest.mark.parametrize("act", [GCS_BACKEND_ERROR, DropReply(), Truncate(500)])
def test_s6_a_listing_of_many_pages_is_whole_with_a_fault_in_the_middle(
    gcs: EmbeddedGcs, faulty: GcsStore, plain: GcsStore, proxy: FaultProxy, act: Act
) -> None:
    keys = [f"d/{number:05}" for number in range(1100)]
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda key: plain.create(key, b""), keys))
    proxy.rules.add(Rule(act, LIST), Rule(act, LIST, nth=3))
    assert list_keys(faulty, "d") == keys
    assert proxy.rules.unmet() == []
    assert list_keys(faulty, "d", keys[0]) == keys[1:]


def test_files_need_few_requests(faulty: GcsStore, proxy: FaultProxy) -> None:
    """A small file: insert, rewrite, look, delete. A create and a beat are one each."""
    faulty.create(KEY, b"entry")
    assert proxy.records.count() == {INSERT: 1}
    proxy.records.clear()
    finals = [f"{DAY}/{file_name(f'topic-{number}')}" for number in range(10)]
    handles = [stage(faulty, final, ROWS, f"t{n}") for n, final in enumerate(finals)]
    assert faulty.publish_all(handles) == set()
    assert proxy.records.count() == {INSERT: 10, REWRITE: 10, GET: 10, DELETE: 10}
