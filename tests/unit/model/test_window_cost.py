"""What a window took, as its entry has it, and what is learned from that."""

import msgspec
import pytest

from penstock.model.learned import Learned
from penstock.model.staged import StagedHandle
from penstock.model.window_cost import (
    Spent,
    TaskSpent,
    WindowCost,
    added_spent,
    added_task_spent,
    requests_of,
    with_more_time,
)


def a_handle(**proof: str) -> StagedHandle:
    return StagedHandle("s", "staged", "final", 7, "sum", proof)


def test_the_form_on_disk_is_short_and_its_order_is_fixed() -> None:
    cost = WindowCost(1500, (Spent("click", 1, 2, 3, 4, 5, 6, 7),), (Spent("t"),))
    text = msgspec.json.encode(cost)
    assert text == (
        b'{"elapsed_ms":1500,"datasets":[["click",1,2,3,4,5,6,7]],"topics":[["t",0,0,0,0,0,0,0]]}'
    )
    assert msgspec.json.decode(text, type=WindowCost) == cost
    assert msgspec.json.encode(Learned(1.5, 2, 3, 4, 5, 6, 7, 8)) == b"[1.5,2,3,4,5,6,7,8]"


def test_sums_are_by_name() -> None:
    parts = [Spent("b", 1), Spent("a", 2, 3, 4, 5, 6, 7, 8), Spent("b", 1, 1, 1, 1, 1, 1, 1)]
    assert added_spent(parts) == (
        Spent("a", 2, 3, 4, 5, 6, 7, 8),
        Spent("b", 2, 1, 1, 1, 1, 1, 1),
    )
    tasks = [TaskSpent("t", "a", 1, 2, 0.5), TaskSpent("t", "", 1), TaskSpent("t", "a", 1, 2, 0.5)]
    assert added_task_spent(tasks) == (TaskSpent("t", "", 1), TaskSpent("t", "a", 2, 4, 1.0))


def test_more_seconds_are_shared_by_those_that_each_has() -> None:
    parts = (TaskSpent("t", "a", 1, 2, 3.0), TaskSpent("t", "b", 1, 2, 1.0))
    assert [each.task_s for each in with_more_time(parts, 8.0)] == [9.0, 3.0]
    assert with_more_time(parts, 0.0) == parts
    assert with_more_time((TaskSpent("t", "a", 1),), 8.0) == (TaskSpent("t", "a", 1),)


@pytest.mark.parametrize(("proof", "requests"), [({}, 2), ({"requests": "7"}, 7)])
def test_a_store_may_say_how_many_requests_a_file_needs(
    proof: dict[str, str], requests: int
) -> None:
    assert requests_of(a_handle(**proof)) == requests


def test_every_window_counts_half_as_much_as_the_one_after_it() -> None:
    learned = Learned()
    for records in (400, 200, 100):
        learned = learned.after(Spent("a", records, records * 10, 2_000_000), 500)
    assert (learned.windows, learned.records) == (1.75, 300.0)
    assert learned.record_bytes == 10.0
    assert (learned.mean().task_s, learned.mean().elapsed_s) == (2.0, 0.5)
    assert (Learned().record_bytes, Learned().mean()) == (0.0, Learned())
