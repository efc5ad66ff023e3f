"""Parallel work on many items; the caller passes in how it is distributed."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class ParallelMap(Protocol):
    """Applies a picklable function to many items, in any order, and returns all results.

    Called on the driver. The function runs on executors, at least once per item: the items of a
    lost task run again, and only one result per item is returned. Raises when an item failed.
    """

    def __call__(
        self, what: str, work: Callable[[T], R], items: Sequence[T], weight: Callable[[T], int], /
    ) -> list[R]:
        """The results, in no order.

        `weight` is the cost of an item, in bytes; `what` names the work in progress messages.
        """
        ...


def in_this_process(
    _what: str, work: Callable[[T], R], items: Sequence[T], _weight: Callable[[T], int], /
) -> list[R]:
    """A `ParallelMap` in one process: item after item, on this thread."""
    return [work(item) for item in items]
