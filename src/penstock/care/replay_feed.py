"""Replays the quarantine of a feed."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial

from penstock.care.replay import CorrectedRecords, live_records, lives, replay
from penstock.care.replay_stager import ReplayStager
from penstock.datapath.driver.shape_of_feed import shape_of
from penstock.datapath.schemas.learning import Learning
from penstock.errors import EntryRefused
from penstock.model.broken_groups import BrokenGroup, merged
from penstock.model.entries import SealedEntry
from penstock.model.lanes import datasets_in
from penstock.model.manifest import RecordSet
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.owner import check_format
from penstock.protocol.loop.written_directories import check_partition, known_directories
from penstock.runtime.parallel import ParallelMap
from penstock.runtime.surroundings import Surroundings


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Which records to replay, and the author of the decision.

    Without a `fingerprint`, records of every group; without `datasets`, records of every dataset
    and records without one, whose name is empty. With `corrected`, those records alone.
    """

    author: str
    fingerprint: str = ""
    datasets: frozenset[str] | None = None
    corrected: CorrectedRecords | None = None

    def meant(self, live: Iterable[RecordSet]) -> list[RecordSet]:
        """The records some of which may be meant. Only the files have fingerprints."""
        if self.corrected is not None:
            return list(self.corrected.records)
        return [each for each in live if self.datasets is None or each.dataset in self.datasets]


@dataclass(frozen=True, slots=True)
class ReplayTools:
    """The tools of a replay. The last two are slow, and are called only if there is work."""

    feed: FeedSpec
    around: Surroundings
    open_learning: Callable[[], Learning]
    open_parallel: Callable[[], AbstractContextManager[ParallelMap]]


@dataclass(slots=True)
class Replayed:
    """The result: by which entries records were delivered, and why others stay.

    `broken` has the records that stay by group, within bounds, as they were decoded now.
    `held_back` are datasets whose records are not visible yet. `refused` says why nothing was
    decided for some topics.
    """

    tried: int = 0
    delivered: int = 0
    stays: Counter[str] = field(default_factory=Counter)
    broken: tuple[BrokenGroup, ...] = ()
    entries: list[int] = field(default_factory=list)
    held_back: list[str] = field(default_factory=list)
    refused: EntryRefused | None = None

    @property
    def is_untried(self) -> bool:
        """True when there was no record to decode."""
        return not self.tried and not self.entries


def replay_feed(
    journal: FeedJournal, fold: FeedFold, request: ReplayRequest, tools: ReplayTools
) -> Replayed:
    """Deliver what can be delivered, by one entry for each group of topic ids.

    `fold` is a deep fold; it is kept up to date, so the journal is folded once. May run while an
    owner runs, and again after it was killed: no record is delivered twice.
    """
    check_format(tools.feed.name, tools.feed.format, fold.state)
    directories = known_directories(journal, fold.state)
    shape = shape_of(tools.feed)
    check_partition(tools.feed.name, shape, directories)
    done = Replayed()
    meant = request.meant(live_records(fold))
    if meant:
        learning = tools.open_learning()
        with tools.open_parallel() as parallel:
            for topic_ids in lives(meant):
                stager = ReplayStager(
                    tools.feed,
                    journal.store,
                    learning,
                    parallel,
                    tools.around,
                    request.fingerprint,
                    request.datasets,
                )
                deliver = partial(
                    replay,
                    journal,
                    tools.around,
                    request.author,
                    stager,
                    topic_ids,
                    fold,
                    request.corrected,
                    shape.config,
                )
                _replay_one_life(done, stager, deliver)
    done.held_back = held_back(fold.state, done.entries)
    return done


def _replay_one_life(
    done: Replayed, stager: ReplayStager, deliver: Callable[[], SealedEntry]
) -> None:
    """Deliver what can be delivered of some topics, by one entry."""
    try:
        done.entries.append(deliver().number)
    except EntryRefused as error:
        if stager.delivered:
            raise
        done.refused = done.refused or error
    done.tried += stager.tried
    done.delivered += stager.delivered
    done.stays += stager.stays
    done.broken = merged((*done.broken, *stager.broken))


def held_back(state: FeedState, entries: Iterable[int]) -> list[str]:
    """The datasets of these entries that are parked, so their records are not visible yet."""
    undone = [state.undone[number] for number in entries if number in state.undone]
    return datasets_in(part for each in undone for part in each.parts if part in state.parked)
