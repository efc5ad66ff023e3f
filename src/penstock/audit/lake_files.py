"""Compares the files of a feed in the lake with those that the journal names."""

from collections.abc import Iterable, Iterator, Mapping

from penstock.api.store import OddName, ShowsOddNames, Store
from penstock.audit.ledger import Ledger, Opened, Progress
from penstock.audit.receipt import Difference, Pending
from penstock.datapath.formats.formats_by_ending import known_endings
from penstock.model.lanes import datasets_in, part_of
from penstock.model.layout import Layout
from penstock.model.plural import number_of
from penstock.ports.store.keys import UNTEXT
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, is_pending

Sizes = Mapping[str, int]
"""Sizes in bytes by key."""

HIDDEN = ("_", ".")  # most readers ignore such names


def visible_files(store: Store, layout: Layout) -> dict[str, int]:
    """Every file that a reader of the datasets or of the quarantine would read as data.

    With its size in bytes; in order within each directory.
    """
    return {
        listed.key: listed.size_bytes
        for directory in layout.data_prefixes
        for listed in store.list_objects(directory)
        if is_visible(directory, listed.key)
    }


def visible_odd_names(store: Store, layout: Layout) -> list[OddName]:
    """Links, and names that are not UTF-8: readers may open them, but listings leave them out."""
    if not isinstance(store, ShowsOddNames):
        return []
    return [
        odd
        for directory in layout.data_prefixes
        for odd in store.list_odd(directory)
        if is_visible(directory, odd.key)
    ]


def is_visible(directory: str, key: str) -> bool:
    """True unless readers ignore a component of the name."""
    return not any(map(is_hidden, key.removeprefix(f"{directory}/").split("/")))


def is_hidden(component: str) -> bool:
    """True for names that every reader ignores.

    Spark reads names with `=` in them, whatever they start with; a pattern such as `**/*.parquet`
    finds every name with that ending.
    """
    is_marked = component.startswith(HIDDEN) and "=" not in component
    return is_marked and not component.endswith(known_endings())


class OddNames:
    """Links and names that are not UTF-8, and which live files they replace."""

    def __init__(self, names: list[OddName]) -> None:
        self.names = names
        self._by_key = {odd.key: odd.what for odd in names if odd.what != UNTEXT}

    def at(self, final: str) -> str:
        """What is in place of a file or of one of its directories; empty if nothing."""
        parts = final.split("/") if self._by_key else []
        ways = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return next((self._by_key[way] for way in ways if way in self._by_key), "")


def pending_groups(state: FeedState, ledger: Ledger) -> tuple[Pending, ...]:
    """The groups that are decided and not yet visible, in journal order."""
    files: dict[tuple[int, str], int] = {}
    rows: dict[tuple[int, str], int] = {}
    for live in ledger.files.values():
        group = (live.number, live.dataset)
        if is_pending(state, *group):
            files[group] = files.get(group, 0) + 1
            rows[group] = rows.get(group, 0) + live.evidence.count
    return tuple(
        Pending(
            entry=number,
            dataset=dataset,
            files=files.get((number, dataset), 0),
            rows=rows.get((number, dataset), 0),
            parked=state.parked.get(part_of(dataset), ""),
        )
        for number in sorted(state.undone)
        for dataset in datasets_in(state.undone[number].parts)
    )


def file_differences(
    journal: FeedJournal, opened: Opened, listed: Sizes, odd: OddNames, progress: Progress
) -> Iterator[Difference]:
    """Files that should be visible and are not, or have another size.

    Files of pending groups may be absent, but a file that is there must be theirs. The sizes are
    those of the listing; only a file that it does not have as recorded is asked for by itself,
    because it may have been published or derived again since.
    """
    state, ledger = opened.state, opened.ledger
    for done, (final, live) in enumerate(sorted(ledger.files.items()), start=1):
        progress("files", done, len(ledger.files))
        recorded = ledger.recorded[final]
        if what := odd.at(final):
            words = not_a_file(what, live.evidence.count)
            yield Difference("file_missing", words, final, recorded.ranges, live.number)
            continue
        if listed.get(final) == recorded.size_bytes:
            continue
        size_bytes = journal.store.head(final)
        if size_bytes is None and is_pending(state, live.number, live.dataset):
            continue
        if size_bytes is None:
            words = f"it is gone, with {number_of(live.evidence.count, 'row')}"
            yield Difference("file_missing", words, final, recorded.ranges, live.number)
        elif size_bytes != recorded.size_bytes:
            words = f"it has {size_bytes} bytes, and {recorded.size_bytes} were written"
            yield Difference("file_size", words, final, recorded.ranges, live.number)


def not_a_file(what: str, rows: int) -> str:
    """The message for something else in place of a live file or of one of its directories."""
    return f"{what} is there instead of the file; {rows} rows were written"


def odd_differences(ledger: Ledger, odd: OddNames) -> Iterator[Difference]:
    """Differences for odd names; those in place of live files are reported with the files."""
    for each in odd.names:
        if each.key not in ledger.files or each.what == UNTEXT:
            words = f"{each.what}, which no live entry names"
            yield Difference("file_foreign", words, each.key)


def foreign_files(
    journal: FeedJournal, state: FeedState, ledger: Ledger, listed: Iterable[str]
) -> Iterator[Difference]:
    """Differences for files that readers read as data and that no live entry names.

    A compaction removes its inputs before it counts as done. So a file that was listed before the
    journal was read, and is still there, belongs to no entry.
    """
    leaving = inputs_owed(journal, state)
    for key in listed:
        if key in ledger.files or key in leaving:
            continue
        if journal.store.head(key) is not None:
            yield Difference("file_foreign", "no live entry names it", key)


def inputs_owed(journal: FeedJournal, state: FeedState) -> set[str]:
    """Files that a decided entry removes, and that may still be there."""
    return {
        taken.final
        for number in state.owed
        for taken in journal.content_of(journal.require(number).body).inputs
    }
