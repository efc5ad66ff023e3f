"""An operator's decision that one window may have as many bad records as it has.

It lies beside the journal under the number of windows decided so far: it is about the window that
comes next. Once that window is decided the number has grown, so the decision does not apply to
any later window.
"""

import msgspec

from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.ports.store.create_once import create_once
from penstock.protocol.feed_book.errors import AcceptanceDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState

ACCEPTANCE_FORMAT = 1


class Accepted(Value, frozen=True):
    """Who accepted the window after the first `windows` ones, why, and when."""

    feed: str
    lake: str
    windows: int
    author: str
    reason: str
    at: str


_decoder = msgspec.json.Decoder(Accepted)


def accept_next(journal: FeedJournal, state: FeedState, author: str, reason: str, at: str) -> bool:
    """Let the next window through. False: somebody has said so before. Safe to repeat."""
    mine = Accepted(journal.layout.feed, journal.lake, state.windows, author, reason, at)
    key = _key(journal, state)
    other = create_once(journal.store, key, msgspec.json.encode(mine))
    if other is None:
        return True
    _check(journal, state, key, other)
    return False


def is_accepted(journal: FeedJournal, state: FeedState) -> bool:
    """True when the window that would be decided next may be as broken as it is."""
    key = _key(journal, state)
    found = journal.store.read(key)
    if found is None:
        return False
    _check(journal, state, key, found)
    return True


def _key(journal: FeedJournal, state: FeedState) -> str:
    return f"{journal.layout.accepted}/{state.windows:020}.json"


def _check(journal: FeedJournal, state: FeedState, key: str, raw: bytes) -> None:
    """It must say of itself that it is about this window: a copied file is not a decision."""
    try:
        found = _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        damaged = AcceptanceDamaged(key, f"it is not an acceptance: {error}")
        raise newer_or(damaged, raw, ACCEPTANCE_FORMAT) from error
    wanted = (journal.layout.feed, journal.lake, state.windows)
    if (found.feed, found.lake, found.windows) != wanted:
        raise AcceptanceDamaged(
            key, f"it is about window {found.windows + 1} of feed {found.feed!r}, or another lake"
        )
