"""What only a running process knows of its feeds: tries that failed, and seconds of phases.

These figures begin at 0 with every process. Whatever the journal records is not counted here.
"""

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field

import msgspec

from penstock.model.debt import Debt
from penstock.model.value import Value

PHASES = frozenset({"stage", "prove", "decide", "publish"})  # of a window that was begun

# Upper bounds of the classes of a histogram; the last class has none.
BOUNDS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


class Histogram(Value, frozen=True):
    """How many spans fell into each class of `BOUNDS_S`, one more than bounds, and their sum."""

    counts: tuple[int, ...]
    sum_s: float


class FeedFigures(Value, frozen=True):
    """The figures of one feed at one moment.

    `windows` are the tries at a window that were not delivered, by outcome. `phases` are the
    seconds of each phase. `attempts` and `failures` are tries to publish a dataset. `debt` is what
    the last round of compaction has left; None: there was none yet.
    """

    windows: dict[str, int] = msgspec.field(default_factory=dict)
    phases: dict[str, Histogram] = msgspec.field(default_factory=dict)
    attempts: dict[str, int] = msgspec.field(default_factory=dict)
    failures: dict[str, int] = msgspec.field(default_factory=dict)
    debt: Debt | None = None


@dataclass
class _Spans:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_s: float = 0.0


class FeedCounters:
    """Counts for one feed. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._windows: Counter[str] = Counter()
        self._phases: dict[str, _Spans] = {}
        self._attempts: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()
        self._debt: Debt | None = None

    def window_ended(self, outcome: str) -> None:
        """Count a try at a window that was not delivered."""
        with self._lock:
            self._windows[outcome] += 1

    def phase_took(self, phase: str, seconds: float) -> None:
        """Count the seconds of a phase."""
        with self._lock:
            spans = self._phases.setdefault(phase, _Spans())
            spans.counts[bisect_left(BOUNDS_S, seconds)] += 1
            spans.sum_s += seconds

    def publish_tried(self, dataset: str, *, has_failed: bool) -> None:
        """Count a try to publish a dataset of a window."""
        with self._lock:
            self._attempts[dataset] += 1
            if has_failed:
                self._failures[dataset] += 1

    def debt_is(self, debt: Debt) -> None:
        """Note what a round of compaction has left."""
        with self._lock:
            self._debt = debt

    def figures(self) -> FeedFigures:
        """The figures of now."""
        with self._lock:
            phases = {
                name: Histogram(tuple(spans.counts), spans.sum_s)
                for name, spans in self._phases.items()
            }
            windows, attempts = dict(self._windows), dict(self._attempts)
            return FeedFigures(windows, phases, attempts, dict(self._failures), self._debt)


class RunFigures:
    """The counters of all feeds of a process. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._feeds: dict[str, FeedCounters] = {}

    def of(self, feed: str) -> FeedCounters:
        """The counters of a feed."""
        with self._lock:
            return self._feeds.setdefault(feed, FeedCounters())
