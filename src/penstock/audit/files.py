"""The files of a feed: those that lie there against those that the journal names."""

from collections.abc import Iterator

from penstock.audit.ledger import Ledger, Progress
from penstock.audit.receipt import Difference, Pending
from penstock.journal.journal import Journal
from penstock.journal.layout import Layout
from penstock.journal.state import JournalState
from penstock.store.protocol import Store

HIDDEN = ("_", ".")  # what readers of a lake pass over; nothing that starts with these is data


def quarantine_directory(layout: Layout) -> str:
    """Where the quarantine files of a feed lie."""
    return f"_penstock/{layout.feed}/quarantine"


def visible_files(store: Store, layout: Layout) -> list[str]:
    """Every file that a reader of the datasets or of the quarantine would take for data."""
    found = []
    for directory in (layout.data, quarantine_directory(layout)):
        for key in store.list_after(directory):
            below = key.removeprefix(f"{directory}/").split("/")
            if not any(component.startswith(HIDDEN) for component in below):
                found.append(key)
    return found


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
    journal: Journal, state: JournalState, ledger: Ledger, progress: Progress
) -> Iterator[Difference]:
    """Files that should be visible and are not, or have another size.

    Those of pending groups may be absent, but what lies there must be theirs.
    """
    for done, (final, live) in enumerate(sorted(ledger.files.items()), start=1):
        progress("files", done, len(ledger.files))
        recorded = ledger.recorded[final]
        size_bytes = journal.store.head(final)
        if size_bytes is None and is_pending(state, live.number, live.dataset):
            continue
        if size_bytes is None:
            words = f"it is gone, with {live.evidence.count} rows"
            yield Difference("file_missing", words, final, recorded.ranges, live.number)
        elif size_bytes != recorded.size_bytes:
            words = f"it has {size_bytes} bytes, and {recorded.size_bytes} were written"
            yield Difference("file_size", words, final, recorded.ranges, live.number)


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
