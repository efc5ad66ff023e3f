"""A store far away: every request takes 40 ms on a clock of its own."""

import math
from collections import Counter
from collections.abc import Callable, Sequence

from penstock.model.staged import StagedHandle
from penstock.runtime.surroundings import AT_ONCE, Acts
from penstock.testing.memory_store import Act, Answer, MemoryStore

LATENCY_S = 0.040
PAGE = 1_000
PUBLISHED_AT_ONCE = 16


class FarStore(MemoryStore):
    """A store in memory that adds up how long its answers would have taken."""

    def __init__(self) -> None:
        super().__init__(self._far, atomic_publish=True)
        self.seconds = 0.0
        self.requests: Counter[str] = Counter()
        self.made: Callable[[str], bytes | None] = lambda _key: None  # what is not kept here

    def reset(self) -> None:
        """Count from nothing."""
        self.seconds = 0.0
        self.requests.clear()

    def side_by_side(self, acts: Acts) -> None:
        """For `Surroundings.do_all`: acts in order, counted as if threads did them."""
        for start in range(0, len(acts), AT_ONCE):
            began, longest = self.seconds, 0.0
            for act in acts[start : start + AT_ONCE]:
                self.seconds = began
                act()
                longest = max(longest, self.seconds - began)
            self.seconds = began + longest

    def publish_all(self, handles: Sequence[StagedHandle]) -> set[str]:
        """Completed and looked at, 16 at a time."""
        before = self.seconds
        left = super().publish_all(handles)
        self.seconds = before + math.ceil(len(handles) / PUBLISHED_AT_ONCE) * 2 * LATENCY_S
        return left

    def _far(self, act: Act) -> Answer:
        answer = self._perform(act)
        if answer is None and act.name in ("read", "head"):
            made = self.made(act.key)
            answer = len(made) if made is not None and act.name == "head" else made
        pages = max(1, math.ceil(len(answer) / PAGE)) if isinstance(answer, tuple) else 1
        self.requests[act.name] += pages
        self.seconds += LATENCY_S * pages
        return answer
