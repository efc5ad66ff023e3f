"""What fails again and again: how often each part was tried, and when it is tried next. Pure."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from penstock.model.value import Value
from penstock.runtime.run_figures import FeedCounters


class PublishPolicy(Value, frozen=True):
    """After how many tries a part is parked, and the pause between tries, which doubles."""

    tries: int = 5
    retry_after_s: float = 15.0
    retry_most_s: float = 3600.0

    def pause_s(self, tries: int) -> float:
        """How long to wait after so many tries in a row."""
        doubled = min(max(tries - 1, 0), 40)  # no pause is longer, and no float overflows
        return min(self.retry_after_s * 2.0**doubled, self.retry_most_s)


@dataclass(frozen=True, slots=True)
class Trouble:
    """How often a part failed in a row, when it is tried again, and why it failed."""

    tries: int
    next_try: float
    why: str


@dataclass
class Troubles:
    """The parts of one feed that fail, as its owner knows them. A new owner begins without any.

    `own` are parts that failed while other datasets worked, so it is not trouble of the store.
    `counters` count every try.
    """

    policy: PublishPolicy = field(default_factory=PublishPolicy)
    parts: dict[str, Trouble] = field(default_factory=dict)
    own: set[str] = field(default_factory=set)
    counters: FeedCounters = field(default_factory=FeedCounters)
    _parked: set[str] = field(default_factory=set)

    def failed(self, part: str, why: str, tick: float) -> Trouble:
        """Note that a part has failed once more."""
        tries = self.parts[part].tries + 1 if part in self.parts else 1
        trouble = Trouble(tries, tick + self.policy.pause_s(tries), why)
        self.parts[part] = trouble
        return trouble

    def is_too_often(self, part: str) -> bool:
        """True when a part has failed so often that it is to be parked."""
        return part in self.parts and self.parts[part].tries >= self.policy.tries

    def is_resting(self, part: str, tick: float) -> bool:
        """True while a part is not to be tried again yet."""
        return part in self.parts and tick < self.parts[part].next_try

    def over(self, part: str) -> None:
        """A part has been done."""
        self.parts.pop(part, None)
        self.own.discard(part)

    def follow(self, parked: Iterable[str], waiting: Container[str]) -> None:
        """Take note of what is parked now, and of all parts that wait to be done.

        What was parked and is not any more was let go by an operator: it is tried now, as if it had
        never failed. What does not wait any more was done by somebody else.
        """
        now = set(parked)
        gone = [part for part in self.parts if part not in waiting]
        for part in [*(self._parked - now), *gone]:
            self.over(part)
        self._parked = now

    def open_ones(self, parked: Container[str]) -> dict[str, Trouble]:
        """The parts that fail and are not parked: what is waited for."""
        return {part: each for part, each in self.parts.items() if part not in parked}
