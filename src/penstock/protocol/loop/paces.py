"""When the parts of a feed are cut: each by its own pace, all of them within the feed's rate."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from penstock.model.ranges import OffsetRange
from penstock.protocol.loop.pace import Pace, Rate
from penstock.protocol.loop.topic_plan import SHARED, WaitingPart


@dataclass(frozen=True, slots=True)
class PaceSpec:
    """How often something is cut, and how many records per second it may take."""

    every_s: float = 60.0
    max_rate: float | None = None


@dataclass(frozen=True, slots=True)
class FeedPaces:
    """The pace of a feed, and those of topics with a window policy of their own."""

    feed: PaceSpec = field(default_factory=PaceSpec)
    topics: Mapping[str, PaceSpec] = field(default_factory=dict)


class Paces:
    """The pacing of one feed. Used by its thread; asked before every plan with all that waits.

    With `eager` nothing waits for its age, but rates still hold.
    """

    def __init__(self, spec: FeedPaces, tick: Callable[[], float], *, eager: bool = False) -> None:
        own = {SHARED: PaceSpec(spec.feed.every_s), **spec.topics}
        self._paces = {name: Pace(each.every_s, tick, eager=eager) for name, each in own.items()}
        self._rates = {name: Rate(each.max_rate, each.every_s, tick) for name, each in own.items()}
        self._rate = Rate(spec.feed.max_rate, spec.feed.every_s, tick)
        self.is_held_back = False  # records wait, and only a rate keeps them from being read

    def choose(self, waiting: Sequence[WaitingPart]) -> dict[str, int]:
        """The parts to cut now, those that have waited longest first, and how much of each."""
        due = [each for each in waiting if self._is_due(each)]
        ready = {each.part: most for each in due if (most := self._allowed(each))}
        allowed = self._rate.allowed(sum(ready.values()))
        self.is_held_back = bool(due) and not (ready and allowed)
        chosen: dict[str, int] = {}
        for part in sorted(ready, key=lambda name: self._paces[name].in_line_since):
            chosen[part] = min(ready[part], allowed)
            allowed -= chosen[part]
        return {part: most for part, most in chosen.items() if most}

    def delivered(self, ranges: Iterable[OffsetRange]) -> None:
        """A window of these ranges was delivered; what is left came later, or did not fit."""
        taken: dict[str, int] = {}
        for each in ranges:
            part = each.topic if each.topic in self._paces else SHARED
            taken[part] = taken.get(part, 0) + len(each)
        for part, records in taken.items():
            self._paces[part].delivered(records)
            self._rates[part].spend(records)
        self._rate.spend(sum(taken.values()))

    def _is_due(self, each: WaitingPart) -> bool:
        """A part is full at what fits into a window, or at what the rate allows in one `every`."""
        cap = min(self._rates[each.part].most(each.cap), self._rate.most(each.cap))
        return self._paces[each.part].is_due(each.records, cap)

    def _allowed(self, each: WaitingPart) -> int:
        """How many records of a part may be taken now; 0: its rate keeps it back."""
        return self._rates[each.part].allowed(min(each.records, each.cap))
