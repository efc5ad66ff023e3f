"""What is done beside the turns of a feed: tidying, inventory, cleaning, sealing, care of days."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from penstock.feeds.cleaning import Job
from penstock.feeds.run_events import Event, Fact
from penstock.model.cleaned import Cleaned
from penstock.model.final_days import Frontier
from penstock.model.finalized import Finalized, finalized_sentence
from penstock.model.plural import number_of
from penstock.model.retired import Retired, retired_sentence
from penstock.model.spec import FeedSpec, FinalizeSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import Note
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.feed_book.reached_time import frontier_at, reached_s
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.tidying import OwnWindows, TidyOrder, tidy
from penstock.runtime.surroundings import Surroundings

ASK_AGAIN_S = 60.0  # what could not be declared complete is tried again after so long
MOST_SEGMENTS = 4  # of one round: one thread does the upkeep of all feeds

Retire = Callable[[FeedJournal, Surroundings, float, str], tuple[Retired, ...]]
FinalizeDays = Callable[
    [FeedJournal, Surroundings, FinalizeSpec, str, Note | None, str], tuple[Finalized, ...]
]
Clean = Callable[[FeedJournal, OwnWindows], Cleaned]


@dataclass(frozen=True, slots=True)
class Caring:
    """What is done for feeds beside their loops, where the configuration asks for it.

    `clean` removes what nobody needs any more; `retire` days that are past retention; `finalize`
    declares days complete. What is not given is not done.
    """

    clean: Clean | None = None
    retire: Retire | None = None
    finalize: FinalizeDays | None = None


class FeedUpkeep:
    """The jobs of one feed. The feed's thread leaves orders; another one does the jobs.

    `owner` is the one of now, and `seen` what it saw of the source last.
    """

    def __init__(
        self,
        journal: FeedJournal,
        around: Surroundings,
        owner: Callable[[], Owner],
        feed: FeedSpec,
        caring: Caring,
        seen: Callable[[], Note],
    ) -> None:
        self._journal = journal
        self._around = around
        self._owner = owner
        self._caring = caring
        self._seen = seen
        self._asked_for = Frontier()
        self._ask_again = -float("inf")
        self._feed = feed
        self._order: TidyOrder | None = None

    def keep_order(self, order: TidyOrder) -> None:
        """What has to be tidied after the last windows; a newer order does what an older would."""
        self._order = order

    def regular_jobs(self) -> list[Job]:
        """What is done after a claim and every hour. Any thread."""
        inventory = Job("inventory", self._update_inventory)
        cleaning = [] if self._caring.clean is None else [Job("cleaning", self._clean)]
        kept = [*self._finalizing(), *self._retention()]
        return [*cleaning, inventory, *self._sealing(thorough=True), *kept]

    def due_jobs(self) -> list[Job]:
        """What the last windows have left to be done, once."""
        order, self._order = self._order, None
        finalizing = self._finalizing() if self._has_newly_final() else []
        if order is None:
            return finalizing
        inventory = Job("inventory", self._update_inventory)
        tidying = Job("tidying", partial(self._tidy, order))
        return [tidying, inventory, *self._sealing(thorough=False), *finalizing]

    def _finalizing(self) -> list[Job]:
        spec, finalize = self._feed.finalize, self._caring.finalize
        if spec is None or finalize is None:
            return []
        return [Job("finalizing", partial(self._finalize, finalize, spec))]

    def _has_newly_final(self) -> bool:
        """True when days may be declared complete that were not yet, or not asked for recently.

        It costs no request; so days are complete soon after the last record of them was decided.
        """
        spec, state = self._feed.finalize, self._owner().fold.state
        reached = None if spec is None else reached_s(state, self._seen(), self._around.now())
        if spec is None or reached is None:
            return False
        frontier, tick = frontier_at(reached, spec, self._feed.time.zone), self._around.tick()
        if frontier == self._asked_for and tick < self._ask_again:
            return False
        known = {name: state.final.get(name, Frontier()) for name in state.directories}
        if all(each.furthest(frontier) == each for each in known.values()):
            return False
        self._asked_for, self._ask_again = frontier, tick + ASK_AGAIN_S
        return True

    def _finalize(self, finalize: FinalizeDays, spec: FinalizeSpec) -> Event | None:
        """Declare complete what is, with a look of its own at the journal."""
        zone, journal = self._feed.time.zone, self.another_journal()
        found = finalize(journal, self._around, spec, zone, self._seen(), "finalize")
        if not found:
            return None
        facts: dict[str, Fact] = {
            "days_before": found[-1].frontier.days_before,
            "hours_before": found[-1].frontier.hours_before,
            "datasets": len({name for each in found for name in each.datasets}),
            "directories": sum(len(each.directories) for each in found),
        }
        return Event(self._journal.layout.feed, "finalized", finalized_sentence(found), facts)

    def _sealing(self, *, thorough: bool) -> list[Job]:
        if self._feed.seal_s is None:
            return []
        return [Job("sealing", partial(self._seal, self._feed.seal_s, thorough=thorough))]

    def _retention(self) -> list[Job]:
        if self._feed.retain_s is None or self._caring.retire is None:
            return []
        zone = self._feed.time.zone
        return [
            Job("retention", partial(self._retire, self._caring.retire, self._feed.retain_s, zone))
        ]

    def _retire(self, retire_old: Retire, retain_s: float, zone: str) -> Event | None:
        """Remove the days that are past retention, of each dataset."""
        retired = retire_old(self.another_journal(), self._around, retain_s, zone)
        if not retired:
            return None
        facts: dict[str, Fact] = {
            "datasets": len({each.dataset for each in retired}),
            "files": sum(len(each.files) for each in retired),
            "rows": sum(each.rows for each in retired),
        }
        return Event(self._journal.layout.feed, "retired", retired_sentence(retired), facts)

    def _seal(self, age_s: float, *, thorough: bool) -> Event | None:
        """Pack what is old of the journal, a segment at a time."""
        policy, epoch, sealed = SealPolicy(age_s), self._owner().epoch, 0
        for _ in range(MOST_SEGMENTS):
            journal, now_s = self.another_journal(), self._around.now()
            seal = seal_old(journal, policy, epoch, now_s, thorough=thorough and not sealed)
            if seal is None:
                break
            sealed += seal.last - seal.first + 1
        if not sealed:
            return None
        entries = number_of(sealed, "journal entry", "journal entries")
        facts: dict[str, Fact] = {"entries": sealed}
        sentence = f"{entries} were packed into segments"
        return Event(self._journal.layout.feed, "sealed", sentence, facts)

    def _clean(self) -> Event | None:
        """Remove what nobody needs any more, with a look of its own at the journal."""
        if self._caring.clean is None:
            return None
        removed = self._caring.clean(self.another_journal(), self._owner().own_windows)
        if not removed.files + removed.objects:
            return None
        facts: dict[str, Fact] = {"files": removed.files, "objects": removed.objects}
        return Event(self._journal.layout.feed, "cleaned", removed.sentence(), facts)

    def _tidy(self, order: TidyOrder) -> None:
        """Leave a checkpoint and remove what it makes unnecessary, however late."""
        tidy(self._journal.store, self._journal.layout, order, self._around.sleep)

    def _update_inventory(self) -> None:
        """Bring the inventory checkpoint up to date, if enough entries have come since the last."""
        update_inventory(self.another_journal(), self._around)

    def another_journal(self) -> FeedJournal:
        """A client of the same journal for another thread than the feed's."""
        mine = self._journal
        return FeedJournal(mine.store, mine.layout, mine.lake, self._around)
