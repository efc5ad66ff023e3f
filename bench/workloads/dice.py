"""Chance that depends on a number alone: every run makes the same records, in any order."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from bench.events import DAY_MS, DAYS, HOUR_MS, NOON_MS

T = TypeVar("T")


class Dice:
    """What chance says of one record: a few quick questions, always answered alike."""

    __slots__ = ("_random", "bits")

    def __init__(self, number: int, salt: int = 0) -> None:
        generator = Random(number << 8 | salt)
        self._random = generator.random
        self.bits = generator.getrandbits

    def up_to(self, limit: int) -> int:
        """A whole number from 0, below the limit."""
        return int(self._random() * limit)

    def between(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both possible."""
        return low + int(self._random() * (high - low + 1))

    def one_in(self, times: int) -> bool:
        """True once in so many times."""
        return self._random() * times < 1

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[int(self._random() * len(choices))]

    def words(self, choices: Sequence[str], low: int, high: int) -> str:
        """So many words in a row, with spaces."""
        return " ".join([self.pick(choices) for _ in range(self.between(low, high))])

    def hex(self, digits: int) -> str:
        """So many hexadecimal digits."""
        return f"{self.bits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """A text in the form of a UUID."""
        text = self.hex(32)
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"

    def address(self) -> str:
        """An IP address of a private network."""
        return f"10.{self.up_to(256)}.{self.up_to(256)}.{self.up_to(256)}"

    def time_ms(self) -> int:
        """A time on one of three days, in the hour before noon."""
        return NOON_MS - self.up_to(DAYS) * DAY_MS - self.up_to(HOUR_MS)
