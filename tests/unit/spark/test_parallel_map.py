"""How work is split between tasks; the job itself runs in the integration tests."""

from threading import get_ident
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from penstock.errors import StoreUnavailable
from penstock.runtime.carried_error import CarriedError
from penstock.spark.parallel_map import (
    ITEM_BYTES,
    TASK_BYTES,
    balanced,
    cancel_aside,
    task_count,
    working,
)


def test_parts_weigh_about_the_same_and_hold_every_item_once() -> None:
    items = [ITEM_BYTES * weight for weight in (90, 50, 40, 30, 30, 20, 10, 10, 5, 5)]
    parts = balanced(items, lambda item: item, 3)
    assert sorted(item for part in parts for item in part) == sorted(items)
    loads = [sum(part) for part in parts]
    assert max(loads) - min(loads) <= 10 * ITEM_BYTES


def test_items_without_weight_are_spread_too() -> None:
    parts = balanced(list(range(100)), lambda _item: 0, 8)
    assert {len(part) for part in parts} == {12, 13}


def test_there_are_never_more_parts_than_items() -> None:
    assert balanced(["a", "b"], lambda _item: 1, 8) == [["a"], ["b"]]


def test_a_task_works_on_one_item_after_the_other() -> None:
    assert list(working(abs)([-1, 2, -3])) == [1, 2, 3]


def test_little_work_gets_a_task_per_core_and_much_work_some_more() -> None:
    assert task_count([1, 2, 3], lambda _item: 10, cores=2) == 2
    assert task_count(range(10), lambda _item: TASK_BYTES // 2, cores=2) == 5
    assert task_count(range(1000), lambda _item: TASK_BYTES, cores=2) == 8


def test_jobs_are_cancelled_from_another_thread_than_the_one_that_was_interrupted() -> None:
    """In the middle of an answer of the JVM this thread's connection is of no use any more."""
    asked: list[tuple[str, int]] = []

    class Context:
        def cancelJobGroup(self, group: str) -> None:  # noqa: N802
            asked.append((group, get_ident()))
            raise Py4JNetworkError("the JVM has ended")

    context: Any = Context()
    cancel_aside(context, "penstock rows")
    [(group, thread)] = asked
    assert group == "penstock rows"
    assert thread != get_ident()


def test_an_error_of_ours_is_an_answer_and_any_other_is_raised() -> None:
    def refuse(item: int) -> int:
        if item == 2:
            raise StoreUnavailable("read", "x", "Permission denied")
        return item

    kept, error = list(working(refuse)([1, 2, 3]))
    assert kept == 1
    assert isinstance(error, CarriedError)
    assert "Permission denied" in str(error.error())
    with pytest.raises(ValueError, match="invalid literal"):
        list(working(int)(["x"]))
