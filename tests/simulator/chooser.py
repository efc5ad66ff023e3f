"""Choices: where a schedule comes from. A run is its list of choices, and can be run again."""

from collections.abc import Sequence
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Chooser(Protocol):
    """Chooses one of so many; remembers what it chose."""

    taken: list[int]

    def index(self, count: int) -> int:
        """A number below `count`."""
        ...


class RandomChooser:
    """Chooses by a seed."""

    def __init__(self, seed: int) -> None:
        self.taken: list[int] = []
        self._random = Random(seed)

    def index(self, count: int) -> int:
        """A number below `count`, all alike."""
        chosen = self._random.randrange(count)
        self.taken.append(chosen)
        return chosen


class ListChooser:
    """Chooses as it was chosen before; past the end it takes the first of everything."""

    def __init__(self, choices: Sequence[int]) -> None:
        self.taken: list[int] = []
        self._choices = choices

    def index(self, count: int) -> int:
        """The next recorded choice, made to fit."""
        at = len(self.taken)
        chosen = self._choices[at] % count if at < len(self._choices) else 0
        self.taken.append(chosen)
        return chosen


def pick(chooser: Chooser, options: Sequence[T]) -> T:
    """One of the options."""
    return options[chooser.index(len(options))]


def shrink(choices: list[int], still_fails: object, rounds: int = 300) -> list[int]:
    """A shorter list of choices that fails as well: drop chunks while the failure stays."""
    if not callable(still_fails):
        raise TypeError("still_fails must be callable")
    size = max(len(choices) // 2, 1)
    tried = 0
    while size >= 1 and tried < rounds:
        at = 0
        while at < len(choices) and tried < rounds:
            shorter = choices[:at] + choices[at + size :]
            tried += 1
            if still_fails(shorter):
                choices = shorter
            else:
                at += size
        size //= 2
    return choices
