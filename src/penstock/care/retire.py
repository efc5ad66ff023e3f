"""Retention: removes files of old days, by entries of the journal.

An entry is about one dataset and a bounded number of files, oldest days first. So entries stay
small, and a death in the middle leaves the newest of what was to go. What comes late into a day
that was retired is delivered as always, and goes with the next round.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby, islice
from zoneinfo import ZoneInfo

from penstock.api.store import Store
from penstock.care.command_entries import decide_for_command
from penstock.care.done_files import done_files, inventory_of
from penstock.care.seek import Approval
from penstock.errors import EntryRefused
from penstock.model.day_directories import day_in, down_to_day
from penstock.model.entries import AnyBody, Retire, SealedEntry
from penstock.model.manifest import QUARANTINE, Content, Group, Input
from penstock.model.retired import Retired
from penstock.model.steps import REMOVE
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.inventory import Inventory
from penstock.protocol.feed_book.shard_names import of_days_before
from penstock.protocol.feed_book.state import FeedState, is_pending
from penstock.runtime.surroundings import Surroundings

MOST_FILES = 1_000  # of one entry
MOST_ENTRIES = 200  # of one round beside the loop: one thread does the upkeep of all feeds
TRIES = 5  # of one entry, when others consume some of its files meanwhile


class OldDay(Value, frozen=True):
    """A day of a dataset that is to go: its files with their rows.

    `waiting` are files that cannot go yet, because they are decided and not visible: those of a
    parked dataset, for one.
    """

    dataset: str
    day: str
    files: tuple[str, ...]
    rows: int
    waiting: int = 0


def first_day_kept(now_s: float, retain_s: float, zone: str) -> str:
    """The first day that is not wholly older than `retain_s`; the days before it may go."""
    moment = datetime.fromtimestamp(now_s, UTC) - timedelta(seconds=retain_s)
    return moment.astimezone(ZoneInfo(zone)).date().isoformat()


def days_before(journal: FeedJournal, before: str, dataset: str = "") -> list[OldDay]:
    """The days of a dataset, or of all, that are older than a day. Loads nothing of other days."""
    return days_in(journal.open_partial(of_days_before(before, dataset)), dataset)


def days_in(fold: FeedFold, dataset: str = "") -> list[OldDay]:
    """The days that a partial fold has, of one dataset or of all."""
    inventory = inventory_of(fold)
    named = [dataset] if dataset else sorted(inventory.datasets() - {QUARANTINE})
    return [day for each in named for day in _days_of(fold.state, inventory, each)]


def without_days(directories: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The datasets whose directory keys have no day: nothing says how old their files are."""
    return sorted(each for each, keys in directories.items() if "day" not in keys)


def size_of(store: Store, old: OldDay) -> int:
    """The bytes of its files, by listings."""
    files = set(old.files)
    found = chain.from_iterable(map(store.list_objects, sorted(set(map(down_to_day, files)))))
    return sum(each.size_bytes for each in found if each.key in files)


def retire_old(
    journal: FeedJournal, around: Surroundings, retain_s: float, zone: str
) -> tuple[Retired, ...]:
    """What `retain` in the configuration asks for, a bounded part of it at a time."""
    before = first_day_kept(around.now(), retain_s, zone)
    why = f"days before {before} are older than the configuration keeps"
    days = days_before(journal, before)
    return tuple(islice(retire_days(journal, around, days, Approval("retain", why)), MOST_ENTRIES))


def retire_days(
    journal: FeedJournal, around: Surroundings, days: Iterable[OldDay], approval: Approval
) -> Iterator[Retired]:
    """Remove these days, dataset by dataset, the oldest first.

    What a compaction has made of their files meanwhile goes too.
    """
    wanted = sorted(
        (each for each in days if each.files), key=lambda each: (each.dataset, each.day)
    )
    known = journal.open(deep=True) if wanted else journal.empty_fold()
    for _, mine in groupby(wanted, lambda each: each.dataset):
        old = list(mine)
        for _ in range(sum(len(each.files) for each in old) // MOST_FILES + 1):
            retired = _retire_some(journal, around, old, approval, known)
            if retired is None:
                break
            yield retired


def retire(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    inputs: tuple[str, ...],
    author: str,
    reason: str,
) -> SealedEntry:
    """Remove the named files of done windows, for retention."""

    def build(fold: FeedFold, window: str) -> AnyBody:
        return _body(journal, fold, window, dataset, inputs, Approval(author, reason))

    return decide_for_command(journal, around, build)


def _days_of(state: FeedState, inventory: Inventory, dataset: str) -> list[OldDay]:
    """All days of a dataset that a partial inventory has."""
    found: dict[str, list[tuple[str, int, bool]]] = {}
    for final, live in sorted(inventory.files_of(dataset).items()):
        waits = is_pending(state, live.number, dataset)
        found.setdefault(day_in(final), []).append((final, live.evidence.count, waits))
    return [
        OldDay(
            dataset,
            day,
            tuple(final for final, _, waits in files if not waits),
            sum(rows for _, rows, waits in files if not waits),
            sum(waits for _, _, waits in files),
        )
        for day, files in sorted(found.items())
    ]


def _retire_some(
    journal: FeedJournal,
    around: Surroundings,
    old: list[OldDay],
    approval: Approval,
    known: FeedFold,
) -> Retired | None:
    """One entry, about the oldest files that are left of a dataset; None if there are none."""
    dataset, rows = old[0].dataset, 0

    def build(fold: FeedFold, window: str) -> AnyBody:
        nonlocal rows
        inputs = _oldest(fold, old)
        if not inputs:
            raise EntryRefused("retention", f"nothing old is left of {dataset}")
        found = [inventory_of(fold).live(final) for final in inputs]
        rows = sum(live.evidence.count for live in found if live is not None)
        return _body(journal, fold, window, dataset, inputs, approval)

    for tried in range(1, TRIES + 1):
        if not _oldest(known, old):
            return None
        try:
            sealed = decide_for_command(journal, around, build, known)
        except EntryRefused:
            if tried == TRIES:
                raise
            journal.fold_on(known)
            journal.see_done(known.state)
        else:
            inputs = journal.content_of(sealed.body).inputs
            return Retired(dataset, sealed.number, tuple(each.final for each in inputs), rows)
    return None


def _oldest(fold: FeedFold, old: list[OldDay]) -> tuple[str, ...]:
    """The files that the next entry may take."""
    every = chain.from_iterable(done_files(fold, each.dataset, each.day) for each in old)
    return tuple(islice(every, MOST_FILES))


def _body(
    journal: FeedJournal,
    fold: FeedFold,
    window: str,
    dataset: str,
    inputs: tuple[str, ...],
    approval: Approval,
) -> Retire:
    taken = tuple(Input(dataset, final) for final in inputs)
    content = Content(inputs=taken)
    body = Retire(
        window=window,
        groups=(Group(dataset, 0, 0, 0, REMOVE),),
        content=content,
        consumes=inventory_of(fold).groups_of(taken),
        author=approval.author,
        reason=approval.reason,
    )
    return journal.with_content(body, content)
