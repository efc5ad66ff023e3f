"""What a window costs on a store that takes 40 ms for each request."""

from dataclasses import replace

import pytest

from penstock.care.clean import clean
from penstock.protocol.journal.checkpoints import write_checkpoint
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.tidying import TidyOrder, tidy
from penstock.testing.cost_store import Cost, CostStore
from penstock.testing.memory_store import MemoryStore
from tests.helpers.journals import LAYOUT, WatchedStore, a_room, an_owner, rows
from tests.simulator.kafka import SimKafka, SimSource
from tests.simulator.programs import Room


class Far:
    """A feed whose lake is far away; its tasks write to it without being counted."""

    def __init__(self, files: int = 1, windows: int = 300) -> None:
        """Each record of a window goes to a dataset of its own."""
        kafka = SimKafka({0: [f"d{n % files}" for n in range(files * windows)]})
        self.inner = MemoryStore(atomic_publish=True)
        self.store = CostStore(self.inner)
        room = a_room(kafka, self.store)
        self.room: Room = replace(room, around=replace(room.around, do_all=self.store.side_by_side))
        self.orders: list[TidyOrder] = []
        self.owner = self._owner(files)

    def _owner(self, files: int) -> Owner:
        room = self.room
        source = SimSource(room.kafka, self.inner, room.around)
        owner = an_owner(room, source, max_records=files)
        owner._hand_out = self.orders.append
        return owner

    def window(self) -> Cost:
        """Deliver one window; what that cost."""
        self.store.take()
        assert self.owner.run_window()
        return self.store.take()


@pytest.mark.parametrize(("files", "budget_s"), [(1, 0.4), (240, 2.5)])
def test_a_steady_window_keeps_to_its_budget(files: int, budget_s: float) -> None:
    far = Far(files, windows=3)
    far.window()
    for _ in range(2):
        cost = far.window()
        assert cost.seconds <= budget_s
        assert cost.requests == {"create": 3, "head": 1, "publish": 2 * files}


def test_the_window_that_comes_to_a_checkpoint_costs_what_others_cost() -> None:
    far = Far()
    far.window()
    costs = [far.window() for _ in range(250)]
    assert len(far.orders) == 2
    assert max(cost.seconds for cost in costs) == pytest.approx(costs[0].seconds)


def test_tidying_after_a_hundred_windows_takes_a_second_beside_them() -> None:
    far = Far()
    for _ in range(202):
        far.window()
    far.store.take()
    for order in far.orders:
        tidy(far.store, LAYOUT, order, far.room.around.sleep)
    cost = far.store.take()
    assert cost.requests["delete"] > 190
    assert cost.seconds < 1.5


def test_a_cleaning_that_finds_nothing_is_an_opening_and_a_few_requests() -> None:
    far = Far()
    for _ in range(20):
        far.window()
    far.store.take()
    far.room.journal().open()
    opening = far.store.take()
    assert clean(far.room.journal()).total == 0
    cost = far.store.take()
    assert cost.total == opening.total + 4
    assert cost.requests["list"] == opening.requests["list"] + 4


class Parked:
    """A feed of two datasets, one of which was parked for many windows, seen from far away."""

    def __init__(self, windows: int) -> None:
        self.inner = WatchedStore()
        room = a_room(SimKafka({0: ["a"] * windows, 1: ["b"] * windows}), self.inner)
        self.inner.broken = {"b"}
        owner = an_owner(room)
        while owner.run_window():
            pass
        write_checkpoint(room.journal(), owner.fold.state)
        assert len(owner.fold.state.undone) == windows
        self.store = CostStore(self.inner)
        self.room = replace(room, store=self.store)
        self.room = replace(self.room, around=replace(room.around, do_all=self.store.side_by_side))

    def taken_over(self) -> tuple[Owner, float]:
        """A new owner, and how long its start took."""
        self.store.take()
        owner = an_owner(self.room)
        return owner, self.store.take().seconds


def test_a_dataset_that_was_parked_for_500_windows_is_no_burden_for_others() -> None:
    """Goal: opening does not notice. Method: compare with two windows; then it works again."""
    few, many = Parked(2), Parked(500)
    _, with_few_s = few.taken_over()
    _, with_many_s = many.taken_over()
    assert with_many_s - with_few_s < 1.0
    many.inner.broken = set()
    owner, took_s = many.taken_over()
    assert owner.fold.state.undone == {}
    assert len(rows(many.inner, "b")) == 500
    assert took_s < 30.0, "entries are read side by side; markers come in journal order"


def test_datasets_that_fail_are_tried_side_by_side() -> None:
    """Goal: fifty that fail take as long as one. Method: count the time of one window."""
    inner = WatchedStore()
    kinds = [f"d{number}" for number in range(51)]
    room = a_room(SimKafka({0: kinds}), inner)
    inner.broken = set(kinds[:50])
    store = CostStore(inner)
    far = replace(room, store=store, around=replace(room.around, do_all=store.side_by_side))
    owner = an_owner(far, SimSource(room.kafka, inner, room.around), max_records=51, park_after=9)
    store.take()
    assert owner.run_window()
    assert len(owner.troubles.parts) == 50
    assert store.take().seconds < 2.0
