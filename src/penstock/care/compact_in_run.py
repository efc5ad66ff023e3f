"""Compaction inside a run: the directories that are due, one after the other, in one slot."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

import msgspec

from penstock.care.closed_directories import is_due
from penstock.care.compact_feed import CompactionTools, compact_directories
from penstock.care.compaction_plan import debt_of, policy_of
from penstock.care.feed_plan import planned
from penstock.errors import EntryRefused, PenstockError
from penstock.model.compacted import Compacted
from penstock.model.debt import Debt
from penstock.model.spec import CompactSpec, FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.parallel import ParallelMap
from penstock.runtime.surroundings import Surroundings

T = TypeVar("T")
R = TypeVar("R")

Held = Callable[[], AbstractContextManager[None]]
GoOn = Callable[[], None]


class RunCompaction:
    """Compacts feeds of a run. Called by a thread beside their own.

    `open_parallel` gives the map for one feed; while it works it calls what it was given, now and
    then, which raises when the work has to end.
    """

    def __init__(
        self, open_parallel: Callable[[FeedSpec, GoOn], ParallelMap], around: Surroundings
    ) -> None:
        self._open_parallel = open_parallel
        self._around = around

    def __call__(self, feed: FeedSpec, journal: FeedJournal, held: Held, go_on: GoOn) -> Compacted:
        """One round. Tasks run only within `held`, a slot of the run.

        What fails in one directory is raised after all others were tried.
        """
        parallel = _InSlot(self._open_parallel(feed, go_on), held)

        @contextmanager
        def opened() -> Iterator[ParallelMap]:
            yield parallel

        policy, now_s = policy_of(feed), self._around.now()
        fold = journal.open(deep=True)
        plans = list(planned(journal, fold, policy))
        due = [p for p in plans if is_due(p.directory, feed.compact, feed.time.zone, now_s)]
        why = f"the configuration compacts, {_when(feed.compact)}"
        tools = CompactionTools(feed, self._around, "compact", policy, opened, reason=why)
        failed: list[PenstockError] = []
        done = Compacted()
        left = debt_of(plans)
        for each in compact_directories(journal, fold, due, tools):
            if each.refused is None:
                plan = debt_of([each.plan])
                left = Debt(left.files - plan.files, left.size_bytes - plan.size_bytes)
                done = Compacted(
                    done.directories + 1,
                    done.files + plan.files,
                    done.into + each.files,
                    done.size_bytes + plan.size_bytes,
                )
            elif not isinstance(each.refused, EntryRefused):
                failed.append(each.refused)
            go_on()
        if failed:
            raise failed[0]
        return msgspec.structs.replace(done, debt=left)


def _when(spec: CompactSpec) -> str:
    """`when: hour_closed`, `when: 3600s`."""
    return f"when: {spec.every_s:g}s" if spec.when == "every" else f"when: {spec.when}"


class _InSlot:
    """A parallel map that works only while a slot of the run is held."""

    def __init__(self, parallel: ParallelMap, held: Held) -> None:
        self._parallel = parallel
        self._held = held

    def __call__(
        self, what: str, work: Callable[[T], R], items: Sequence[T], weight: Callable[[T], int], /
    ) -> list[R]:
        """As the map."""
        with self._held():
            return self._parallel(what, work, items, weight)
