"""Finalizing: days and hours of datasets are declared complete, by entries of the journal.

What is complete gets the mark `_SUCCESS`, oldest first and hours before their days; an entry names
a bounded number of directories. Only what is visible counts: a dataset of which anything is decided
and not done is left out, and comes with a later entry. What is decided later is late.
"""

from collections.abc import Iterable, Iterator

from penstock.care.command_entries import decide_for_command
from penstock.care.done_files import inventory_of
from penstock.errors import EntryRefused
from penstock.model.entries import AnyBody, Finalize, SealedEntry
from penstock.model.final_days import Frontier, Level, newly_final
from penstock.model.finalized import Finalized
from penstock.model.manifest import QUARANTINE, Content, Group
from penstock.model.spec import FinalizeSpec
from penstock.model.steps import FINALIZE
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.feed_lease import Note
from penstock.protocol.feed_book.reached_time import frontier_at, reached_s
from penstock.protocol.feed_book.shard_names import Wanted, dataset_in, day_of_shard
from penstock.protocol.feed_book.state import FeedState, datasets_with_days, has_undone
from penstock.runtime.surroundings import Surroundings

MOST_DIRECTORIES = 1_000  # of one entry, but for what one day has
MOST_ENTRIES = 10  # of one round beside the loop: one thread does the upkeep of all feeds
TRIES = 10  # of one entry, when others are decided meanwhile
PAUSE_S = 0.2


def finalize(
    journal: FeedJournal,
    around: Surroundings,
    spec: FinalizeSpec,
    zone: str,
    seen: Note | None,
    author: str,
) -> tuple[Finalized, ...]:
    """Declare complete what is, by what was delivered and what the owner saw of the source."""
    state = journal.open().state
    reached = reached_s(state, seen, around.now())
    if reached is None:
        return ()
    frontier = frontier_at(reached, spec, zone)
    return tuple(_entry_by_entry(journal, around, state, frontier, author))


def finalize_to(
    journal: FeedJournal, around: Surroundings, frontier: Frontier, author: str
) -> Iterator[Finalized]:
    """Declare all complete that lies before a frontier, entry by entry, as far as it is visible."""
    return _entry_by_entry(journal, around, journal.open().state, frontier, author)


def _entry_by_entry(
    journal: FeedJournal, around: Surroundings, state: FeedState, frontier: Frontier, author: str
) -> Iterator[Finalized]:
    if frontier == Frontier() or _is_through(state, frontier):
        return
    fold = journal.open_partial(_of_newly_final(state, frontier))
    for _ in range(MOST_ENTRIES):
        finalized = _finalize_some(journal, around, fold, frontier, author)
        if finalized is None:
            return
        yield finalized


def _is_through(state: FeedState, frontier: Frontier) -> bool:
    """True when all datasets that can become complete are so far: then nothing is looked up."""
    known = [state.final.get(name, Frontier()) for name in datasets_with_days(state)]
    return bool(state.final) and all(each.furthest(frontier) == each for each in known)


def _of_newly_final(state: FeedState, frontier: Frontier) -> Wanted:
    """The shards of days that are final by a frontier, or partly so, and were not before."""
    last = max(frontier.days_before, frontier.hours_before)

    def wanted(shard: str) -> bool:
        day, old = day_of_shard(shard), state.final.get(dataset_in(shard), Frontier())
        begin = old.days_before
        if not frontier.days_before:
            begin = max(begin, old.hours_before.partition("T")[0])
        return bool(day) and begin <= day < last

    return wanted


def _finalize_some(
    journal: FeedJournal, around: Surroundings, fold: FeedFold, frontier: Frontier, author: str
) -> Finalized | None:
    """One entry, about the oldest directories; None if nothing more can be declared now."""
    for tried in range(1, TRIES + 1):
        journal.fold_on(fold)
        journal.see_done(fold.state)
        if _next_body(fold, "0-0", frontier, author) is None:
            return None
        try:
            sealed = _decide(journal, around, fold, frontier, author)
        except EntryRefused:
            if tried == TRIES:
                return None  # a busy feed: the next round comes soon
            around.sleep(PAUSE_S)
        else:
            return _told(journal, sealed)
    return None


def _decide(
    journal: FeedJournal, around: Surroundings, fold: FeedFold, frontier: Frontier, author: str
) -> SealedEntry:
    def build(now: FeedFold, window: str) -> AnyBody:
        found = _next_body(now, window, frontier, author)
        if found is None:
            raise EntryRefused("finalize", "nothing more is complete")
        return journal.with_content(*found)

    return decide_for_command(journal, around, build, fold, deep=False)


def _told(journal: FeedJournal, sealed: SealedEntry) -> Finalized | None:
    if not isinstance(sealed.body, Finalize):
        return None
    complete = journal.content_of(sealed.body).complete
    return Finalized(sealed.number, sealed.body.frontier, sealed.body.datasets, complete)


def _next_body(
    fold: FeedFold, window: str, frontier: Frontier, author: str
) -> tuple[Finalize, Content] | None:
    """The next entry by what is decided and done now, with its content; None if there is none."""
    datasets = open_datasets(fold)
    levels = sorted(
        {level for each in datasets for level in _newly_final(fold, each, frontier)},
        key=Level.order,
    )
    some, reached = within(levels, frontier)
    final = fold.state.final
    moving = [d for d in datasets if (old := final.get(d, Frontier())).furthest(reached) != old]
    if not moving:
        return None
    content = Content(complete=tuple(level.directory for level in some))
    marked = sorted({level.directory.split("/")[1] for level in some})
    body = Finalize(
        window=window,
        groups=tuple(Group(dataset, 0, 0, 0, FINALIZE) for dataset in marked),
        content=content,
        as_of=fold.state.number,
        frontier=reached,
        datasets=tuple(moving),
        author=author,
    )
    return body, content


def open_datasets(fold: FeedFold) -> list[str]:
    """The datasets with days of which everything that is decided is visible, too."""
    inventory, state = inventory_of(fold), fold.state
    by_entry = {name for name, keys in state.directories.items() if "day" in keys}
    known = by_entry | (inventory.datasets() - state.directories.keys())
    return sorted(each for each in known - {QUARANTINE} if not has_undone(state, each))


def within(levels: Iterable[Level], frontier: Frontier) -> tuple[list[Level], Frontier]:
    """The oldest of these directories, as many as an entry may name, and how far they go.

    What one day has is never cut, so an entry may be larger than it should.
    """
    every = list(levels)
    if len(every) <= MOST_DIRECTORIES:
        return every, frontier
    first_left = every[MOST_DIRECTORIES].day
    if first_left == every[0].day:
        later = [level.day for level in every if level.day > first_left]
        if not later:
            return every, frontier
        first_left = min(later)
    some = [level for level in every if level.day < first_left]
    return some, Frontier(
        min(frontier.days_before, first_left),
        min(frontier.hours_before, f"{first_left}T00") if frontier.hours_before else "",
    )


def _newly_final(fold: FeedFold, dataset: str, frontier: Frontier) -> Iterator[Level]:
    old = fold.state.final.get(dataset, Frontier())
    for final in inventory_of(fold).files_of(dataset):
        yield from newly_final(old, frontier, final)
