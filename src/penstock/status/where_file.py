"""Where the rows of one data file came from, and whether readers should still see it."""

import msgspec

from penstock.model.entries import Deciding, SealedEntry
from penstock.model.manifest import Content, ManifestFile
from penstock.model.names import parse_name
from penstock.model.ranges import OffsetRange
from penstock.protocol.feed_book.entry_search import OF_COMMANDS, TAKING, EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState, is_pending
from penstock.status.file_trail import LiveFiles, facts_of
from penstock.status.whereabouts import FileWhereabouts


def where_file(
    journal: FeedJournal, state: FeedState, search: EntrySearch, key: str
) -> FileWhereabouts | None:
    """What is known of a file by its key in the lake; None: no entry names it."""
    found = _entry_of(journal, state, search, key)
    if found is None:
        return None
    sealed, file = found
    answer = FileWhereabouts(
        file=key,
        dataset=file.dataset,
        state="live",
        delivered_by=facts_of(sealed),
        rows=file.evidence.count,
        size_bytes=file.handle.size_bytes,
        ranges=file.ranges,
        schema=file.schema,
    )
    if LiveFiles(journal, state, search).has(file):
        return answer
    for taking in search.of_kinds(TAKING, sealed.number + 1, state.files_taken_at + 1):
        content = journal.content_of(taking.body)
        if any(each.final == key for each in content.inputs):
            return _taken(answer, taking, content)
    if is_pending(state, sealed.number, file.dataset):
        return msgspec.structs.replace(answer, state="pending")
    return msgspec.structs.replace(answer, state="missing")


def _entry_of(
    journal: FeedJournal, state: FeedState, search: EntrySearch, key: str
) -> tuple[SealedEntry, ManifestFile] | None:
    """The entry that delivered a file: its name has the window. Else every command is asked."""
    name = parse_name(key)
    sealed = None if name is None else search.window(name.window)
    if sealed is not None:
        file = _file_in(journal, sealed, key)
        return None if file is None else (sealed, file)
    if name is not None:
        return None
    for command in search.of_kinds(OF_COMMANDS, 0, state.number + 1):
        file = _file_in(journal, command, key)
        if file is not None:
            return command, file
    return None


def _file_in(journal: FeedJournal, sealed: SealedEntry, key: str) -> ManifestFile | None:
    if not isinstance(sealed.body, Deciding):
        return None
    content = journal.content_of(sealed.body)
    return next((each for each in content.files if each.handle.final == key), None)


def _share(some: tuple[OffsetRange, ...], others: tuple[OffsetRange, ...]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)


def _taken(answer: FileWhereabouts, taking: SealedEntry, content: Content) -> FileWhereabouts:
    """A file that was rewritten or removed. What it became has rows of its ranges."""
    into = tuple(
        each.handle.final
        for each in content.files
        if each.dataset == answer.dataset
        and (not each.ranges or _share(each.ranges, answer.ranges))
    )
    return msgspec.structs.replace(
        answer, state="compacted" if into else "retired", taken_by=facts_of(taking), into=into
    )
