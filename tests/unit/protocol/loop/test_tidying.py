"""Tidying: no part of a window, tried again until it works, and harmless however late it comes."""

import json

import msgspec
import pytest

from penstock.errors import FeedHalted, StagedSetWrong
from penstock.model.staged import StagingSpot
from penstock.model.window import StagedWindow, StageOrder
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.tidying import OwnWindows, TidyOrder, tidy
from penstock.testing.fault_store import Fault, FaultStore, What
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner
from tests.simulator.kafka import SimKafka, SimSource

TIDYING = {"list", "list_staged", "discard", "delete"}


def a_source() -> SimKafka:
    return SimKafka({0: ["a"] * 40})


def stray(store: MemoryStore, window: str) -> str:
    """A file that an attempt nobody waited for has staged; its place."""
    writer = store.open_staged("feed/a/stray", StagingSpot(LAYOUT.staging, window, "stray"))
    writer.write(b"rows")
    return writer.finish().staged


@pytest.mark.parametrize(
    ("call", "place", "nths"),
    [
        ("delete", "*_tail*", (1,)),
        ("delete", "*checkpoints*", (1,)),
        ("create", "*checkpoints*", (1, 2, 3)),
        ("list_objects", "*checkpoints", (2,)),
        ("discard", "*staging*", (1,)),
        ("list_staged", "*staging", (1,)),
    ],
)
@pytest.mark.parametrize("what", [What.FAIL_BEFORE, What.FAIL_AFTER])
def test_a_fault_while_tidying_fails_no_delivered_window_and_is_made_up_for(
    call: str, place: str, nths: tuple[int, ...], what: What
) -> None:
    inner = MemoryStore(atomic_publish=True)
    store = FaultStore(inner, [Fault(call, what, place, nth=nth) for nth in nths])
    owner = an_owner(a_room(a_source(), store), checkpoint_every=2)
    staged = stray(inner, "1-1")
    for turn in range(10):
        assert owner.run_window(), f"window {turn}"
    assert store.unmet() == []
    assert len(owner._journal.notices) == 1
    assert "tried again after the next window" in owner._journal.notices[0]
    assert staged not in inner.shelf.staged
    assert len(list_keys(inner, LAYOUT.checkpoints)) == 3
    assert len(list_keys(inner, LAYOUT.tails)) in (3, 4)


def with_orders(store: MemoryStore, checkpoint_every: int = 2) -> tuple[Owner, list[TidyOrder]]:
    """An owner whose orders are kept."""
    orders: list[TidyOrder] = []
    owner = an_owner(a_room(a_source(), store), checkpoint_every=checkpoint_every)
    owner._hand_out = orders.append
    return owner, orders


def test_a_window_makes_no_request_for_tidying() -> None:
    store = WatchedStore()
    owner, orders = with_orders(store)
    owner.run_window()
    store.acts.clear()
    for _ in range(10):
        owner.run_window()
    assert not [act for act in store.acts if act.name in TIDYING]
    assert store.created("checkpoints") == []
    assert len(orders) == 6


def test_an_order_is_about_the_state_as_it_was_when_it_was_made() -> None:
    store = MemoryStore()
    owner, orders = with_orders(store)
    for _ in range(4):
        owner.run_window()
    first = orders[0]
    tidy(store, LAYOUT, first, lambda _s: None)
    (key,) = list_keys(store, LAYOUT.checkpoints)
    assert key == LAYOUT.checkpoint(first.checkpoint.number)
    state = json.loads(store.read(key) or b"")["state"]
    assert state["number"] == first.checkpoint.number < owner.fold.state.number


def test_orders_that_come_late_and_in_any_order_leave_the_newest() -> None:
    store = MemoryStore()
    owner, orders = with_orders(store, checkpoint_every=1)
    for _ in range(8):
        owner.run_window()
    wanted = [order.checkpoint.number for order in orders[-3:]]
    for order in (*orders[::2], *reversed(orders), *orders):
        tidy(store, LAYOUT, order, lambda _s: None)
    tails, checkpoints = list_keys(store, LAYOUT.tails), list_keys(store, LAYOUT.checkpoints)
    assert checkpoints == [LAYOUT.checkpoint(number) for number in wanted]
    assert len(tails) == 3
    assert tails[-1] == LAYOUT.tail(owner.fold.state.number)


def test_settled_windows_are_garbage_and_no_others_are() -> None:
    own = OwnWindows(epoch=12, planned=7, kept=frozenset({"12-5"}))
    assert [w for w in range(-1, 10) if own.is_garbage(f"12-{w}")] == [1, 2, 3, 4, 6, 7]
    others = [
        "12-x1",
        "1-7",
        "11-7",
        "13-7",
        "2-7",
        "12-07",
        "12-",
        "-7",
        "12",
        "",
        "012-7",
        "12-٣",
    ]
    assert [window for window in others if own.is_garbage(window)] == []
    assert not OwnWindows().is_garbage("0-0")


def test_an_attempt_that_writes_after_its_window_was_tidied_is_removed_by_the_next_tidying() -> (
    None
):
    store = MemoryStore()
    owner = an_owner(a_room(a_source(), store), checkpoint_every=2)
    for _ in range(4):
        owner.run_window()
    staged = stray(store, "1-1")
    for _ in range(2):
        owner.run_window()
    assert staged not in store.shelf.staged


class WrongSource(SimSource):
    """Loses a file between staging and proof."""

    def stage(self, order: StageOrder) -> StagedWindow:
        staged = super().stage(order)
        return msgspec.structs.replace(staged, files=staged.files[1:])


def test_what_could_not_be_discarded_once_is_discarded_later() -> None:
    """Goal: an abandoned window leaves nothing for good, and why it was abandoned is told.

    Method: the discard of a window that failed its proof gets no answer.
    """
    inner = MemoryStore()
    store = FaultStore(inner, [Fault("discard", What.FAIL_BEFORE, nth=nth) for nth in (1, 2)])
    room = a_room(SimKafka({0: ["a", "b", "a", "b"]}), store)
    wrong = WrongSource(room.kafka, store, room.around)
    owner = an_owner(room, wrong, checkpoint_every=1)
    with pytest.raises(StagedSetWrong):
        owner.run_window()
    assert inner.shelf.staged
    assert "is removed later" in owner._journal.notices[0]
    owner._intake = SimSource(room.kafka, store, room.around)
    assert owner.run_window()
    assert inner.shelf.staged == {}


def test_a_discard_that_fails_does_not_hide_why_a_window_was_abandoned() -> None:
    assert not issubclass(StagedSetWrong, FeedHalted)
    store = FaultStore(MemoryStore(), [Fault("list_staged", What.FAIL_BEFORE)])
    room = a_room(SimKafka({0: ["a", "b"]}), store)
    owner = an_owner(room, WrongSource(room.kafka, store, room.around))
    with pytest.raises(StagedSetWrong):
        owner.run_window()
