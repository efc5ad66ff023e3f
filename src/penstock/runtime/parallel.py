"""Work on many items: who spreads it over processes is handed in."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class ParallelMap(Protocol):
    """Does picklable work for each of many items, in any order, and returns all answers.

    Called on the driver. The work runs on executors, for each item once or more: what a lost task
    did is done again, and only one answer per item is returned. Raises when some work failed.
    """

    def __call__(
        self, what: str, work: Callable[[T], R], items: Sequence[T], weight: Callable[[T], int], /
    ) -> list[R]:
        """The answers, in no order.

        `weight` is what an item costs, in bytes; `what` names the work while it goes on.
        """
        ...


def in_this_process(
    _what: str, work: Callable[[T], R], items: Sequence[T], _weight: Callable[[T], int], /
) -> list[R]:
    """A `ParallelMap` of one process: item after item, on this thread."""
    return [work(item) for item in items]
