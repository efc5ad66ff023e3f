"""What a decided entry has to publish: its content as it is now, and its groups as work."""

from collections.abc import Container

from penstock.model.entries import AnyBody, Deciding, Replace, SealedEntry
from penstock.model.final_days import dataset_of_directory
from penstock.model.lanes import lanes_of, part_of
from penstock.model.manifest import Content
from penstock.model.staged import StagedHandle
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.journal.book import B, L
from penstock.protocol.journal.book_state import S
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.markers import Marker, create_marker
from penstock.protocol.publish.group_work import GroupWork


def load_content(journal: FeedJournal, fold: FeedFold, sealed: SealedEntry) -> Content:
    """What an undone entry delivers now: its own files, or those that replaced lost ones."""
    content = journal.content_of(sealed.body)
    undone = fold.state.undone.get(sealed.number)
    for number in undone.replaced_by if undone is not None else ():
        replacing = journal.read(number)
        if replacing is not None and isinstance(replacing.body, Replace):
            content = with_replaced(content, journal.content_of(replacing.body))
    return content


def with_replaced(content: Content, replacing: Content) -> Content:
    """The content with files exchanged for those of the same final name."""
    derived = {file.handle.final: file for file in replacing.files}
    return Content(
        files=tuple(derived.get(file.handle.final, file) for file in content.files),
        evidence=content.evidence,
        quarantined=content.quarantined,
        inputs=content.inputs,
        records=content.records,
        complete=content.complete,
    )


def leave_tail_mark(journal: Journal[S, B, L], number: int, sha256: str) -> None:
    """Leave a mark beside the data that names an entry.

    Before anything of it becomes visible; and right after one that publishes nothing. Safe to
    repeat, and harmless if it comes late: only the newest mark is looked at.
    """
    mark = Marker(number, sha256)
    create_marker(journal.store, journal.layout.tail(number), mark, journal.sleep)


def append_marked(journal: FeedJournal, fold: FeedFold, body: AnyBody, epoch: int) -> SealedEntry:
    """Decide what publishes nothing by itself, and leave the mark that publishing would have left.

    Without one, nobody could tell that the entry was the last and was cut off. A death in between
    leaves the entry without a mark until the next one is left.
    """
    sealed = journal.append(fold, body, epoch)
    leave_tail_mark(journal, sealed.number, sealed.sha256)
    return sealed


def works_of(sealed: SealedEntry, content: Content, parts: Container[str]) -> list[GroupWork]:
    """What is to be done for some parts of an entry, in the entry's order."""
    if not isinstance(sealed.body, Deciding):
        return []
    handles: dict[str, list[StagedHandle]] = {}
    rows: dict[str, list[int]] = {}
    for file in sorted(content.files, key=lambda file: file.handle.final):
        handles.setdefault(file.dataset, []).append(file.handle)
        rows.setdefault(file.dataset, []).append(file.evidence.count)
    inputs: dict[str, list[str]] = {}
    for taken in content.inputs:
        inputs.setdefault(taken.dataset, []).append(taken.final)
    complete: dict[str, list[str]] = {}
    for directory in content.complete:
        complete.setdefault(dataset_of_directory(directory), []).append(directory)
    return [
        GroupWork(
            sealed,
            group,
            lane,
            tuple(handles.get(group.dataset, ())),
            tuple(inputs.get(group.dataset, ())),
            tuple(rows.get(group.dataset, ())),
            tuple(complete.get(group.dataset, ())),
        )
        for group in sealed.body.groups
        for lane in lanes_of(group.steps)
        if part_of(group.dataset, lane) in parts
    ]
