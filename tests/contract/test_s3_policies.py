"""X5, X14, S13: the store works with exactly the rights that the policies in `deploy/s3` list.

The proxy enforces them, as IAM would. What only AWS can show is whether its own judgement is the
same; the policies use nothing but actions, prefixes and one condition.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.api.store import Store
from penstock.errors import OutcomeUnknown, StoreUnavailable
from penstock.model.layout import Layout
from penstock.model.staged import StagingSpot
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.s3.s3_store import S3Store
from penstock.testing.contracts.store import StoreContract
from penstock.testing.contracts.store_replacing import ReplacingContract
from penstock.testing.contracts.store_staged import file_name
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.s3_policy import Policy
from tests.helpers.object_stores import BUCKET

pytestmark = pytest.mark.xdist_group("objects")

FOLDER = Path(__file__).parents[2] / "deploy" / "s3"
INGEST, MAINTENANCE, READER = "ingest", "maintenance", "reader"
SOON = BackOff(tries=6, first_pause_s=0.005, longest_pause_s=0.05, within_s=60.0)
HOME = Layout("events")
DATA = "events/clicks/day=2024-02-29"
STAGING = "_penstock/events/staging"
LEASE = "_penstock/events/lease/held.json"
PREFIXES = ["events", "_penstock/events/quarantine"]


def policy(name: str, prefix: str) -> Policy:
    text = (FOLDER / f"{name}-policy.json").read_text()
    return Policy.from_json(text, {"BUCKET": BUCKET, "PREFIX": prefix})


@pytest.fixture
def prefix() -> str:
    return f"teams/{secrets.token_hex(8)}"


@pytest.fixture
def proxy(object_store: EmbeddedObjectStore) -> Iterator[FaultProxy]:
    with FaultProxy(object_store.endpoint) as proxy:
        yield proxy


@pytest.fixture
def store(object_store: EmbeddedObjectStore, proxy: FaultProxy, prefix: str) -> S3Store:
    return S3Store(object_store.spec(f"{BUCKET}/{prefix}", endpoint=proxy.url), SOON)


def window(store: Store, number: int) -> None:
    """All that a feed asks of a store, from the first claim to the cleaning of a dead attempt."""
    assert isinstance(store, S3Store)
    store.probe(f"_penstock/probe-{number}")
    found = store.read_tagged(LEASE)
    beat = f"beat {number}".encode()
    assert store.replace_tagged(LEASE, beat, None if found is None else found.tag)
    assert store.read(f"{HOME.journal}/never") is None
    assert store.create(f"{HOME.journal}/{number}", b"entry") is True
    finals = [
        f"{DATA}/{file_name('clicks', f'{number}-1')}",
        f"_penstock/events/quarantine/owner=a/dataset=b/{file_name('bad', f'{number}-1')}",
    ]
    handles = []
    for final in finals:
        writer = store.open_staged(final, StagingSpot(STAGING, f"{number}-1", "t0"))
        writer.write(b"rows")
        handles.append(writer.finish())
        dead = store.open_staged(final, StagingSpot(STAGING, f"{number}-1", "dead"))
        dead.write(b"rows")
        dead.sync()
    assert store.publish_all(handles) == set()
    assert all(store.look(handle).is_done for handle in handles)
    for ref in store.list_staged(STAGING, PREFIXES):
        store.discard(ref)
    assert list(store.list_staged(STAGING, PREFIXES)) == []
    store.create(HOME.tail(number), b"mark")
    assert store.delete_all([HOME.tail(number)]) == set()
    store.create(f"{HOME.done}/{number}", b"marker")
    store.delete(f"{HOME.done}/{number}")
    assert finals[0] in list_keys(store, "events")
    file = store.open_read(finals[0])
    assert file is not None
    with file:
        assert file.read() == b"rows"


def test_a_feed_works_with_the_rights_of_the_ingest_policy(
    store: S3Store, proxy: FaultProxy, prefix: str
) -> None:
    proxy.enforce(policy(INGEST, prefix))
    for number in range(2):
        window(store, number)
    assert [record for record in proxy.requests() if record.act] == []


def test_every_right_of_the_ingest_policy_is_needed(
    store: S3Store, proxy: FaultProxy, prefix: str
) -> None:
    """Without any one of them a window fails with a sentence that names the bucket and the right.

    Two are not needed for windows: those that only read the rules of the bucket.
    """
    allowed = policy(INGEST, prefix)
    actions = {action for statement in allowed.statements for action in statement.actions}
    optional = {"s3:GetLifecycleConfiguration", "s3:GetBucketVersioning"}
    for number, action in enumerate(sorted(actions - optional)):
        proxy.enforce(allowed.without(action))
        with pytest.raises((StoreUnavailable, OutcomeUnknown)) as told:
            window(store, number)
        assert f"access to bucket '{BUCKET}' was denied; allow " in str(told.value)
        assert action in str(told.value)
        proxy.enforce(allowed)
        window(store, number + 100)
    for action in optional:
        proxy.enforce(allowed.without(action))
        window(store, 200 + len(action))


@pytest.mark.parametrize(
    "act",
    [
        lambda store: store.delete(f"{DATA}/file"),
        lambda store: store.create("../other/a", b""),
    ],
)
def test_ingest_does_not_delete_data_and_leaves_its_prefix_alone(
    object_store: EmbeddedObjectStore,
    store: S3Store,
    proxy: FaultProxy,
    prefix: str,
    act: Callable[[Store], object],
) -> None:
    store.create(f"{DATA}/file", b"rows")
    proxy.enforce(policy(INGEST, prefix))
    with pytest.raises(Exception, match=r"was denied|BAD_KEY"):
        act(store)
    assert store.delete_all([f"{DATA}/file"]) == {f"{DATA}/file"}
    assert store.read(f"{DATA}/file") == b"rows"
    neighbour = object_store.spec(f"{BUCKET}/{prefix}-other", endpoint=proxy.url)
    with pytest.raises(StoreUnavailable, match="was denied"):
        S3Store(neighbour, SOON).create("a", b"")
    with pytest.raises(StoreUnavailable, match="was denied"):
        list_keys(S3Store(neighbour, SOON), "")


def test_a_reader_reads_and_changes_nothing(store: S3Store, proxy: FaultProxy, prefix: str) -> None:
    store.create(f"{DATA}/file", b"rows")
    proxy.enforce(policy(READER, prefix))
    assert list_keys(store, "") == [f"{DATA}/file"]
    assert store.read(f"{DATA}/file") == b"rows"
    assert store.read("nothing") is None
    spot = StagingSpot(STAGING, "0-1", "t0")
    for act in (
        lambda: store.create("a", b""),
        lambda: store.delete(f"{DATA}/file"),
        lambda: store.open_staged(f"{DATA}/{file_name()}", spot).sync(),
    ):
        with pytest.raises(StoreUnavailable, match="was denied"):
            act()


def test_s13_a_denial_in_the_middle_halts_and_what_was_decided_is_published_later(
    store: S3Store, proxy: FaultProxy, prefix: str
) -> None:
    allowed = policy(INGEST, prefix)
    proxy.enforce(allowed)
    writer = store.open_staged(f"{DATA}/{file_name()}", StagingSpot(STAGING, "0-1", "t0"))
    writer.write(b"rows")
    handle = writer.finish()
    final = json.dumps([f"arn:aws:s3:::{BUCKET}/{prefix}/events/*"])
    denying = Policy.from_json(
        f'{{"Statement": [{{"Effect": "Deny", "Action": "s3:PutObject", "Resource": {final}}}]}}'
    )
    proxy.enforce(Policy((*allowed.statements, *denying.statements)))
    with pytest.raises(StoreUnavailable, match="was denied"):
        store.publish(handle)
    assert store.publish_all([handle]) == {handle.final}
    assert store.create(f"{HOME.journal}/7", b"entry") is True  # only the data are denied
    proxy.enforce(allowed)
    store.publish(handle)
    assert store.look(handle).is_done


class TestS3StoreWithMaintenanceRights(StoreContract, ReplacingContract):
    """The whole contract, deletes everywhere below the prefix included."""

    sorts_odd_names = False
    replaces_in_one_act = False  # s3proxy compares and replaces in two acts

    @pytest.fixture
    def store(self, object_store: EmbeddedObjectStore, proxy: FaultProxy, prefix: str) -> S3Store:
        proxy.enforce(policy(MAINTENANCE, prefix))
        return S3Store(object_store.spec(f"{BUCKET}/{prefix}", endpoint=proxy.url), SOON)
