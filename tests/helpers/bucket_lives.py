"""A whole life of an owner on a store in a bucket, which dies at one request of it.

The store is behind a proxy, the source is simulated, and the simulator's oracle judges what is
visible. `tests/crash` goes through all requests of a life.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from penstock.api.store import Store
from penstock.errors import PenstockError
from penstock.model.layout import Layout
from penstock.model.store_spec import StoreSpec
from penstock.ports.store.back_off import BackOff
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.protocol.loop.window_plan import WindowPolicy
from penstock.testing.memory_store import Shelf
from penstock.testing.proxy.fault_proxy import FaultProxy
from penstock.testing.proxy.proxy_rules import DropReply, DropRequest, Late, Rule
from tests.helpers.object_stores import BUCKET
from tests.simulator.kafka import BAD, SimKafka, SimSource
from tests.simulator.oracle import Oracle
from tests.simulator.programs import FEED, LAKE, GivenRules, is_stopping, surroundings
from tests.simulator.world import beyond_claims

ONCE = BackOff(tries=1, within_s=60.0)  # whoever is dead does not try again
STAGED = ".staged"  # what nobody has published is in nobody's way
LATE = "late"


class ServesLakes(Protocol):
    """A server that stores are opened on."""

    @property
    def endpoint(self) -> str: ...

    def spec(self, address: str, **settings: str) -> StoreSpec:
        """A store in `bucket/prefix`."""
        ...


@dataclass(frozen=True)
class Place:
    """A server, the stores that are opened on it, and the beginnings of its reading calls."""

    server: ServesLakes
    make: Callable[[StoreSpec, BackOff | None], Store]
    reads: tuple[str, ...]

    def store(self, address: str, endpoint: str = "") -> Store:
        """One that tries once, behind a proxy; else one that tries again."""
        more = {"endpoint": endpoint} if endpoint else {}
        return self.make(self.server.spec(address, **more), ONCE if endpoint else None)


def small_kafka() -> SimKafka:
    return SimKafka({0: ["a", BAD], 1: ["b"]})


def run_owner(store: Store, name: str) -> None:
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


def shelf_of(store: Store) -> Shelf:
    """What is visible in the lake, as the oracle reads it."""
    shelf = Shelf.empty()
    for key in list_keys(store, ""):
        if key.endswith(STAGED):
            continue
        shelf = shelf.with_object(key, store.read(key))
    return shelf


def writes_of_a_life(place: Place) -> list[int]:
    """The numbers, from 1 on, of the requests that change something."""
    with FaultProxy(place.server.endpoint) as proxy:
        run_owner(place.store(f"{BUCKET}/{secrets.token_hex(8)}", proxy.url), "first")
        sent = proxy.requests()
    return [
        number
        for number, record in enumerate(sent, start=1)
        if not record.operation.startswith(place.reads)
    ]


def cut_before(number: int) -> list[Rule]:
    return [Rule(DropRequest(), nth=number, times=None)]


def cut_after(number: int) -> list[Rule]:
    return [Rule(DropReply(), nth=number), Rule(DropRequest(), nth=number + 1, times=None)]


def arrives_late(number: int) -> list[Rule]:
    return [Rule(Late(LATE), nth=number), Rule(DropRequest(), nth=number + 1, times=None)]


def die_and_recover(place: Place, rules: list[Rule], note: str) -> None:
    """One owner dies; the next finishes; what is late arrives; a third finds nothing to do."""
    address = f"{BUCKET}/{secrets.token_hex(8)}"
    store, oracle = place.store(address), Oracle(small_kafka())
    try:
        with FaultProxy(place.server.endpoint, rules) as proxy:
            with suppress(PenstockError):
                run_owner(place.store(address, proxy.url), "first")
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


def die_at_each_write(place: Place, how: Callable[[int], list[Rule]]) -> int:
    """Once for each request of a life that changes something; how many there are."""
    numbers = writes_of_a_life(place)
    for number in numbers:
        die_and_recover(place, how(number), f"{how.__name__} request {number}")
    return len(numbers)
