"""What is done beside the turns of a feed: checkpoints, inventory, removing garbage, sealing."""

from collections.abc import Callable
from functools import partial

from penstock.feeds.cleaning import Job
from penstock.feeds.run_events import Event, Fact
from penstock.model.cleaned import Cleaned
from penstock.model.plural import number_of
from penstock.model.retired import Retired, retired_sentence
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.inventory_writer import update_inventory
from penstock.protocol.journal.sealing import SealPolicy, seal_old
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.tidying import OwnWindows, TidyOrder, tidy
from penstock.runtime.surroundings import Surroundings

MOST_SEGMENTS = 4  # of one round: one thread does the upkeep of all feeds

Retire = Callable[[FeedJournal, Surroundings, float, str], tuple[Retired, ...]]
Clean = Callable[[FeedJournal, OwnWindows], Cleaned]


class FeedUpkeep:
    """The jobs of one feed. The feed's thread leaves orders; another one does the jobs.

    `owner` is the one of now. Without `clean` nothing is cleaned, and nothing is retired without
    `retire`. What else is done, the configuration says.
    """

    def __init__(
        self,
        journal: FeedJournal,
        around: Surroundings,
        owner: Callable[[], Owner],
        feed: FeedSpec,
        clean: Clean | None = None,
        retire: Retire | None = None,
    ) -> None:
        self._journal = journal
        self._around = around
        self._owner = owner
        self._clean_feed = clean
        self._feed = feed
        self._retire_old = retire
        self._order: TidyOrder | None = None

    def keep_order(self, order: TidyOrder) -> None:
        """What has to be tidied after the last windows; a newer order does what an older would."""
        self._order = order

    def regular_jobs(self) -> list[Job]:
        """What is done after a claim and every hour. Any thread."""
        inventory = Job("inventory", self._update_inventory)
        cleaning = [] if self._clean_feed is None else [Job("cleaning", self._clean)]
        return [*cleaning, inventory, *self._sealing(thorough=True), *self._retention()]

    def due_jobs(self) -> list[Job]:
        """What the last windows have left to be done, once."""
        order, self._order = self._order, None
        if order is None:
            return []
        inventory = Job("inventory", self._update_inventory)
        tidying = Job("tidying", partial(self._tidy, order))
        return [tidying, inventory, *self._sealing(thorough=False)]

    def _sealing(self, *, thorough: bool) -> list[Job]:
        if self._feed.seal_s is None:
            return []
        return [Job("sealing", partial(self._seal, self._feed.seal_s, thorough=thorough))]

    def _retention(self) -> list[Job]:
        if self._feed.retain_s is None or self._retire_old is None:
            return []
        zone = self._feed.time.zone
        return [
            Job("retention", partial(self._retire, self._retire_old, self._feed.retain_s, zone))
        ]

    def _retire(self, retire_old: Retire, retain_s: float, zone: str) -> Event | None:
        """Remove the days that are past retention, of each dataset."""
        retired = retire_old(self._another_journal(), self._around, retain_s, zone)
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
            journal, now_s = self._another_journal(), self._around.now()
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
        if self._clean_feed is None:
            return None
        removed = self._clean_feed(self._another_journal(), self._owner().own_windows)
        if not removed.files + removed.objects:
            return None
        facts: dict[str, Fact] = {"files": removed.files, "objects": removed.objects}
        return Event(self._journal.layout.feed, "cleaned", removed.sentence(), facts)

    def _tidy(self, order: TidyOrder) -> None:
        """Leave a checkpoint and remove what it makes unnecessary, however late."""
        tidy(self._journal.store, self._journal.layout, order, self._around.sleep)

    def _update_inventory(self) -> None:
        """Bring the inventory checkpoint up to date, if enough entries have come since the last."""
        update_inventory(self._another_journal(), self._around)

    def _another_journal(self) -> FeedJournal:
        """A client of the same journal for another thread than the feed's."""
        mine = self._journal
        return FeedJournal(mine.store, mine.layout, mine.lake, self._around)
