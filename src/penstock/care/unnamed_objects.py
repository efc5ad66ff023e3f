"""Manifests and corrected records that no entry names: their authors died before they decided.

Both are created before the entry that names them, and carry the id of its window. An entry of epoch
e comes after the claim of e, and before that of e + 1. So whoever has read all entries since an
entry of an older epoch knows everything that can ever name an object of epoch e.
"""

import re
from collections.abc import Callable, Iterator

from penstock.model.entries import AnyBody, Deciding, Replay
from penstock.model.layout import number_in
from penstock.model.names import epoch_of
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState

# `<window>-<word>.json`, and `<window>-<n>.<suffix>`
_NAME = re.compile(r"(\d+-[0-9a-z]+)-[0-9a-z]+\.[a-z0-9.]+", re.ASCII)

Keys = tuple[str, ...]


def unnamed_objects(
    journal: FeedJournal, state: FeedState, is_over: Callable[[str], bool], *, thorough: bool
) -> tuple[Keys, Keys]:
    """The manifests and the corrected records of windows that are over and that no entry names.

    Reads the entries since the oldest checkpoint, and only if there is something to find. What was
    left before that was looked at by the cleanings of that time; `thorough` reads all entries.
    """
    store, layout = journal.store, journal.layout
    rooms = [_windows_of(list_keys(store, room)) for room in (layout.manifests, layout.corrections)]
    candidates = {k: w for room in rooms for k, w in room.items() if is_over(w)}
    if not candidates:
        return (), ()
    first = 0 if thorough else _oldest_checkpoint(journal)
    since = journal.require(first).entry.epoch
    candidates = {key: window for key, window in candidates.items() if epoch_of(window) > since}
    if candidates:
        for number in range(first, state.number + 1):
            for key in named_by(journal.require(number).body):
                candidates.pop(key, None)
    manifests, corrections = (tuple(key for key in room if key in candidates) for room in rooms)
    return manifests, corrections


def named_by(body: AnyBody) -> Iterator[str]:
    """The objects that an entry's body names."""
    if isinstance(body, Deciding) and body.manifest is not None:
        yield body.manifest.key
    if isinstance(body, Replay) and body.corrections is not None:
        yield from (each.key for each in body.corrections.files)


def window_of_key(key: str) -> str | None:
    """The window in whose name an object was created; None for a stranger."""
    found = _NAME.fullmatch(key.rpartition("/")[2])
    return found[1] if found else None


def _windows_of(keys: list[str]) -> dict[str, str]:
    return {key: window for key in keys if (window := window_of_key(key)) is not None}


def _oldest_checkpoint(journal: FeedJournal) -> int:
    """The entry of the oldest checkpoint that is kept; the first entry when there is none."""
    keys = list_keys(journal.store, journal.layout.checkpoints)
    numbers = [number_in(key.rpartition("/")[2]) for key in keys]
    return min((number for number in numbers if number is not None), default=0)
