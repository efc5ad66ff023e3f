"""Owners that die at any request of a whole life on S3.

Goal: whatever request a dead owner sent last, and whenever it arrives, the next owner brings every
record to its one place. Method: the requests of one undisturbed life are counted on the wire. Then
for each that writes: the owner is cut off before it, or right after it was performed, or it arrives
only when the next owner has finished. The store is a real object store, the source is simulated.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress

import pytest

from penstock.errors import PenstockError
from penstock.model.layout import Layout
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.s3.s3_store import S3Store
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.loop.owner import Owner, OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.testing.memory_store import Shelf
from penstock.testing.object_store_server import EmbeddedObjectStore
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import DropReply, DropRequest, Late, Rule
from tests.helpers.object_stores import BUCKET
from tests.simulator.kafka import BAD, SimKafka, SimSource
from tests.simulator.oracle import Oracle
from tests.simulator.programs import FEED, LAKE, GivenRules, is_stopping, surroundings
from tests.simulator.world import beyond_claims

pytestmark = pytest.mark.xdist_group("objects")

ONCE = BackOff(tries=1, within_s=60.0)  # whoever is dead does not try again
READS = ("GetObject", "HeadObject", "List")
LATE = "late"


def small_kafka() -> SimKafka:
    return SimKafka({0: ["a", BAD], 1: ["b"]})


def run_owner(store: S3Store, name: str) -> None:
    """A whole life: claim, recover, and up to nine windows."""
    around = surroundings(name)
    journal = FeedJournal(store, Layout(FEED), LAKE, around)
    source = SimSource(small_kafka(), store, around)
    spec = OwnerSpec(owner=name, policy=WindowPolicy(2), files="parquet")
    owner = Owner(journal, source, around, spec, GivenRules(stopping=is_stopping))
    owner.take_over()
    for _ in range(9):
        if not owner.run_window():
            break


def shelf_of(store: S3Store) -> Shelf:
    """What is visible in the lake, as the oracle reads it."""
    shelf = Shelf.empty()
    for key in list_keys(store, ""):
        shelf = shelf.with_object(key, store.read(key))
    return shelf


def new_store(server: EmbeddedObjectStore, address: str, endpoint: str = "") -> S3Store:
    more = {"endpoint": endpoint} if endpoint else {}
    return S3Store(server.spec(address, **more), ONCE if endpoint else None)


def writes_of_a_life(server: EmbeddedObjectStore) -> list[int]:
    """The numbers, from 1 on, of the requests that change something."""
    with FaultProxy(server.endpoint) as proxy:
        run_owner(new_store(server, f"{BUCKET}/{secrets.token_hex(8)}", proxy.url), "first")
        sent = proxy.requests()
    return [
        number
        for number, record in enumerate(sent, start=1)
        if not record.operation.startswith(READS)
    ]


def cut_before(number: int) -> list[Rule]:
    return [Rule(DropRequest(), nth=number, times=None)]


def cut_after(number: int) -> list[Rule]:
    return [Rule(DropReply(), nth=number), Rule(DropRequest(), nth=number + 1, times=None)]


def arrives_late(number: int) -> list[Rule]:
    return [Rule(Late(LATE), nth=number), Rule(DropRequest(), nth=number + 1, times=None)]


def die_and_recover(server: EmbeddedObjectStore, rules: list[Rule], note: str) -> None:
    """One owner dies; the next finishes; what is late arrives; a third finds nothing to do."""
    address = f"{BUCKET}/{secrets.token_hex(8)}"
    store, oracle = new_store(server, address), Oracle(small_kafka())
    try:
        with FaultProxy(server.endpoint, rules) as proxy:
            with suppress(PenstockError):
                run_owner(new_store(server, address, proxy.url), "first")
            run_owner(store, "second")
            oracle.check_end(shelf_of(store))
            before = beyond_claims(shelf_of(store))
            proxy.release(LATE)
        assert beyond_claims(shelf_of(store)) == before, "a late request changed something"
        run_owner(store, "third")
        assert beyond_claims(shelf_of(store)) == before, "recovering twice changed something"
        oracle.check_end(shelf_of(store))
    except BaseException as error:
        error.add_note(note)
        raise


@pytest.mark.parametrize("how", [cut_before, cut_after, arrives_late])
def test_an_owner_that_dies_at_any_write_loses_and_doubles_nothing(
    object_store: EmbeddedObjectStore, how: Callable[[int], list[Rule]]
) -> None:
    numbers = writes_of_a_life(object_store)
    assert len(numbers) > 10
    for number in numbers:
        die_and_recover(object_store, how(number), f"{how.__name__} request {number}")
    print(f"{len(numbers)} writes")
