"""The directory keys that a feed has written, by dataset, and whether the configuration keeps them.

Readers take the directory of a dataset for one table. They fail when some of its files lie in
`day=.../` and others in `day=.../hour=.../`. So the keys of a dataset stand in the entry that first
delivers it, and a configuration with others is refused.
"""

from collections.abc import Mapping

from penstock.model.entries import Deciding, Generation, Replay, Window
from penstock.model.feed_shape import FeedShape
from penstock.model.manifest import QUARANTINE, Content
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.errors import PartitionChanged

Directories = dict[str, tuple[str, ...]]


def known_directories(journal: FeedJournal, state: FeedState) -> Directories:
    """The directory keys of every dataset that was delivered.

    Entries of formats before 3 do not record them. Then the newest files of each dataset tell:
    entries are read from the end until nothing is missing. The next window records what was found.
    """
    known = dict(state.directories)
    missing = state.schemas.keys() - known.keys()
    for number in range(state.number, -1, -1):
        if not missing:
            break
        body = journal.require(number).body
        if not isinstance(body, Window | Replay | Generation) or not missing & _datasets(body):
            continue
        found = directories_of(journal.layout.data, journal.content_of(body))
        known |= {dataset: keys for dataset, keys in found.items() if dataset in missing}
        missing -= found.keys()
    return known


def directories_of(data: str, content: Content) -> Directories:
    """The directory keys of the datasets of an entry, by the names of its files."""
    found: Directories = {}
    for file in content.files:
        if file.dataset == QUARANTINE or file.dataset in found:
            continue
        levels = file.handle.final.removeprefix(f"{data}/{file.dataset}/").split("/")[:-1]
        keys = tuple(level.partition("=")[0] for level in levels)
        if keys:
            found[file.dataset] = keys
    return found


def new_directories(
    journal: FeedJournal, known: Mapping[str, tuple[str, ...]], content: Content
) -> Directories:
    """The directories to record with an entry: those of datasets without known ones.

    Raises `PartitionChanged` if a dataset has others, as when another owner was the first to
    deliver it.
    """
    found = directories_of(journal.layout.data, content)
    changed = {
        dataset: (known[dataset], keys)
        for dataset, keys in found.items()
        if known.get(dataset, keys) != keys
    }
    if changed:
        raise PartitionChanged(journal.layout.feed, changed)
    return {dataset: keys for dataset, keys in found.items() if dataset not in known}


def check_partition(feed: str, shape: FeedShape, known: Mapping[str, tuple[str, ...]]) -> None:
    """Raise `PartitionChanged` when datasets would get other directories than they have."""
    changed = {
        dataset: (before, shape.keys_of(dataset))
        for dataset, before in known.items()
        if before != shape.keys_of(dataset)
    }
    if changed:
        raise PartitionChanged(feed, changed)


def changed_settings(shape: FeedShape, state: FeedState) -> dict[str, str]:
    """The settings that no entry has recorded yet, or that have another value than recorded."""
    return {name: now for name, now in shape.settings.items() if state.settings.get(name) != now}


def _datasets(body: Deciding) -> set[str]:
    return {group.dataset for group in body.groups}
