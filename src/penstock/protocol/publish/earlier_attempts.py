"""Files of an earlier attempt that became visible after they were taken for lost.

Any attempt that an entry or its `replace` entries name is ours: the rows are the same, the bytes
may differ. A store can say that an upload is gone while a request to complete it is on its way.
"""

from collections.abc import Iterator

from penstock.model.entries import Replace, SealedEntry, Window
from penstock.model.manifest import ManifestFile
from penstock.model.outcome import FinalState
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.publish.derive_again import decide_replacement, discard_staged
from penstock.protocol.publish.groups import load_content


def take_back(
    journal: FeedJournal, fold: FeedFold, epoch: int, sealed: SealedEntry, dataset: str
) -> bool:
    """Decide for the files of earlier attempts that are there; False if none of them is.

    What was staged in their place is destroyed first: once the files are done, nothing may be left
    that could bring rows back after a compaction. Only an owner does this. Safe to repeat.
    """
    if not isinstance(sealed.body, Window):
        return False
    look = journal.store.look
    earlier = list(_earlier_files(journal, fold, sealed))
    current = [
        file for file in load_content(journal, fold, sealed).files if file.dataset == dataset
    ]
    given_up: list[ManifestFile] = []
    found: list[ManifestFile] = []
    for file in current:
        if look(file.handle).final is not FinalState.FOREIGN:
            continue
        others = (each for each in earlier if each.handle.final == file.handle.final)
        ours = next((e for e in others if look(e.handle).final is FinalState.OURS), None)
        if ours is not None:
            given_up.append(file)
            found.append(ours)
    if found:
        discard_staged(journal, sealed.body.window, given_up)
        decide_replacement(journal, fold, epoch, sealed, tuple(found))
    return bool(found)


def _earlier_files(
    journal: FeedJournal, fold: FeedFold, sealed: SealedEntry
) -> Iterator[ManifestFile]:
    """The files that an entry and all its replacements have named."""
    yield from journal.content_of(sealed.body).files
    undone = fold.state.undone.get(sealed.number)
    for number in undone.replaced_by if undone is not None else ():
        replacing = journal.read(number)
        if replacing is not None and isinstance(replacing.body, Replace):
            yield from journal.content_of(replacing.body).files
