"""Reading one feed again and again: its journal is folded once, and then only what came since."""

from collections.abc import Callable, Sequence
from itertools import islice

from penstock.api.errors import PluginError
from penstock.api.store import StagesAsUploads, Store
from penstock.model.spec import FeedSpec
from penstock.ports.store.split_store import lake_of
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.feed_lease import last_beat
from penstock.protocol.feed_book.state import FeedState
from penstock.runtime.run_figures import FeedFigures
from penstock.serve.brief_entries import WALK, BriefEntries, BriefEntry
from penstock.serve.dataset_facts import datasets_of
from penstock.serve.feed_facts import FeedFacts
from penstock.serve.headroom import headroom_records, headroom_s
from penstock.serve.hidden_offsets import hidden_offsets, spreads
from penstock.status.cost_lines import Amount, CostLine, cost_lines, spending
from penstock.status.halted_feed import halt_of
from penstock.status.snapshot import ends_of, snapshot

MOST_UNDONE = 2_000  # undone entries that are read, the oldest first


class FeedReader:
    """One feed. Used by one thread at a time; after an error, the next read folds again."""

    def __init__(
        self,
        feed: FeedSpec,
        open_journal: Callable[[str], FeedJournal],
        amount: Amount,
        currency: str,
    ) -> None:
        self.feed = feed
        self._open = open_journal
        self._amount = amount
        self._currency = currency
        self._folded: tuple[FeedJournal, FeedFold, BriefEntries] | None = None

    def read(self, now_s: float, live: FeedFigures | None = None) -> FeedFacts:
        """All that is known of the feed now. Raises what a journal raises."""
        try:
            return self._read(now_s, live)
        except Exception:
            self._folded = None
            raise

    def windows(self, most: int) -> list[BriefEntry]:
        """The last windows as of the last read, the newest first."""
        if self._folded is None:
            return []
        _, fold, entries = self._folded
        return list(islice(entries.windows_before(fold.state.number + 1, WALK + 2 * most), most))

    def journal(self) -> FeedJournal:
        """A client of the journal that shares nothing with this reader."""
        return self._open(self.feed.name)

    def _read(self, now_s: float, live: FeedFigures | None) -> FeedFacts:
        journal, fold, entries = self._fold_on()
        state = fold.state
        beat = last_beat(journal.store, journal.layout)
        status = snapshot(
            self.feed.name,
            state,
            beat,
            ends_of(beat),
            now_s,
            halted=halt_of(journal, state),
            topics=self.feed.topics,
        )
        decided = {(each.topic, each.partition): each.watermark for each in status.partitions}
        undone = entries.some(sorted(state.undone)[:MOST_UNDONE])
        hidden = hidden_offsets(state, undone)
        cost = self._cost(state)
        return FeedFacts(
            at_s=now_s,
            status=status,
            datasets=tuple(datasets_of(state, undone, hidden, entries, now_s)),
            refused={name: dict(reasons) for name, reasons in state.refused.items()},
            spread=spreads(decided, hidden, state.schemas),
            last_done_s=_last_done_s(state, entries),
            task_s=cost.task_s,
            cost=cost.amount,
            currency=self._currency,
            headroom_s=None if beat is None else headroom_s(state, beat.note, now_s),
            headroom_records=None if beat is None else headroom_records(state, beat.note),
            oldest_upload_s=_oldest_upload_s(journal.store, undone, now_s),
            phase="" if beat is None else beat.note.phase,
            live=live,
        )

    def _fold_on(self) -> tuple[FeedJournal, FeedFold, BriefEntries]:
        """The fold of now: after the first time only what came since is read."""
        if self._folded is None:
            journal = self._open(self.feed.name)
            self._folded = journal, journal.open(), BriefEntries(journal)
        else:
            journal, fold, _ = self._folded
            journal.fold_on(fold)
            journal.see_done(fold.state)
        return self._folded

    def _cost(self, state: FeedState) -> CostLine:
        """What all windows took; without money if the plug-in for prices fails."""
        found = [spending(self.feed.name, state)]
        try:
            (line,) = cost_lines("feed", found, (), self._amount, self._currency)
        except PluginError:
            (line,) = cost_lines("feed", found, (), lambda _used: None, self._currency)
        return line


def _oldest_upload_s(store: Store, undone: Sequence[BriefEntry], now_s: float) -> float | None:
    """How long the oldest upload of an undone entry has been open, by the time of the entry."""
    if not isinstance(lake_of(store), StagesAsUploads):
        return None
    ages_s = (now_s - entry.at_s for entry in undone if entry.at_s is not None)
    return max(0.0, *ages_s, 0.0)


def _last_done_s(state: FeedState, entries: BriefEntries) -> float | None:
    """When the newest window was decided of which nothing is left to do but what is parked."""
    for entry in entries.windows_before(state.number + 1):
        if not state.open_parts(entry.number):
            return entry.at_s
    return None
