"""The files of a feed: those that lie there against those that the journal names."""

from collections.abc import Iterator

from penstock.api.store import OddName, ShowsOddNames, Store
from penstock.audit.ledger import Ledger, Progress
from penstock.audit.receipt import Difference, Pending
from penstock.datapath.formats.formats_by_ending import known_endings
from penstock.model.layout import Layout
from penstock.ports.store.keys import UNTEXT
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.state import JournalState

HIDDEN = ("_", ".")  # what readers of a lake pass over, mostly


def visible_files(store: Store, layout: Layout) -> list[str]:
    """Every file that a reader of the datasets or of the quarantine would take for data."""
    return [
        key
        for directory in directories_of(layout)
        for key in store.list_after(directory)
        if is_visible(directory, key)
    ]


def visible_odd_names(store: Store, layout: Layout) -> list[OddName]:
    """What readers may follow or open, and no listing shows: links, and names that are no text."""
    if not isinstance(store, ShowsOddNames):
        return []
    return [
        odd
        for directory in directories_of(layout)
        for odd in store.list_odd(directory)
        if is_visible(directory, odd.key)
    ]


def directories_of(layout: Layout) -> tuple[str, str]:
    """Where the files of a feed lie."""
    return layout.data, layout.quarantine


def is_visible(directory: str, key: str) -> bool:
    """True unless readers pass over a name on the way down."""
    return not any(map(is_hidden, key.removeprefix(f"{directory}/").split("/")))


def is_hidden(component: str) -> bool:
    """True for names that every reader takes for no data.

    Spark reads what has `=` in its name, whatever it starts with; a pattern such as `**/*.parquet`
    finds every name with that end.
    """
    is_marked = component.startswith(HIDDEN) and "=" not in component
    return is_marked and not component.endswith(known_endings())


class Odd:
    """The odd names of a lake, and which live files they stand in place of."""

    def __init__(self, names: list[OddName]) -> None:
        self.names = names
        self._by_key = {odd.key: odd.what for odd in names if odd.what != UNTEXT}

    def at(self, final: str) -> str:
        """What lies in place of a file, or of a directory on the way to it; empty if nothing."""
        parts = final.split("/") if self._by_key else []
        ways = ("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        return next((self._by_key[way] for way in ways if way in self._by_key), "")


def is_pending(state: JournalState, number: int, dataset: str) -> bool:
    """True while no marker proves that this group of an entry is visible."""
    undone = state.undone.get(number)
    return undone is not None and dataset in undone.groups


def pending_groups(state: JournalState, ledger: Ledger) -> tuple[Pending, ...]:
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
            parked=state.parked.get(dataset, ""),
        )
        for number in sorted(state.undone)
        for dataset in sorted(state.undone[number].groups)
    )


def file_differences(
    journal: Journal, state: JournalState, ledger: Ledger, odd: Odd, progress: Progress
) -> Iterator[Difference]:
    """Files that should be visible and are not, or have another size.

    Those of pending groups may be absent, but what lies there must be theirs.
    """
    for done, (final, live) in enumerate(sorted(ledger.files.items()), start=1):
        progress("files", done, len(ledger.files))
        recorded = ledger.recorded[final]
        if what := odd.at(final):
            words = not_a_file(what, live.evidence.count)
            yield Difference("file_missing", words, final, recorded.ranges, live.number)
            continue
        size_bytes = journal.store.head(final)
        if size_bytes is None and is_pending(state, live.number, live.dataset):
            continue
        if size_bytes is None:
            words = f"it is gone, with {live.evidence.count} rows"
            yield Difference("file_missing", words, final, recorded.ranges, live.number)
        elif size_bytes != recorded.size_bytes:
            words = f"it has {size_bytes} bytes, and {recorded.size_bytes} were written"
            yield Difference("file_size", words, final, recorded.ranges, live.number)


def not_a_file(what: str, rows: int) -> str:
    """That something else has a live file's name, or that of a directory on the way to it."""
    return f"{what}, not a file, lies there; {rows} rows were written"


def odd_differences(ledger: Ledger, odd: Odd) -> Iterator[Difference]:
    """Odd names that are nobody's; those in place of live files are told with the files."""
    for each in odd.names:
        if each.key not in ledger.files or each.what == UNTEXT:
            words = f"{each.what}, and no live entry names it"
            yield Difference("file_foreign", words, each.key)


def foreign_files(
    journal: Journal, state: JournalState, ledger: Ledger, listed: list[str]
) -> Iterator[Difference]:
    """Files that readers take for data, and that no live entry names.

    What a compaction took is gone before it counts as done, so a file that was listed before the
    journal was read, and is still there, is nobody's.
    """
    leaving = inputs_of_undone(journal, state)
    for key in listed:
        if key in ledger.files or key in leaving:
            continue
        if journal.store.head(key) is not None:
            yield Difference("file_foreign", "no live entry names it", key)


def inputs_of_undone(journal: Journal, state: JournalState) -> set[str]:
    """Files that a decided entry takes out of the lake, and that may still be there."""
    return {
        taken.final
        for number in state.undone
        for taken in journal.content_of(journal.require(number).body).inputs
    }
