"""An operator's decision that one window may have as many bad records as it has.

It lies beside the journal under the number of windows decided so far: it is about the window that
comes next. Once that window is decided the number has grown, so the decision does not apply to
any later window.
"""

import msgspec

from penstock.errors import EntryNewer
from penstock.model.ranges import OffsetRange
from penstock.model.value import Value
from penstock.model.wire_formats import newer_or
from penstock.protocol.feed_book.errors import AcceptanceDamaged
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState

ACCEPTANCE_FORMAT = 2  # 1 had no ranges
MOST_RANGES = 1_000


class Accepted(Value, frozen=True):
    """Who accepted the window after the first `windows` ones, why, and when.

    `ranges` are those of the window that was shown when it was accepted, the first of them if they
    are many; none if no window was shown. They are a record of that: the decision is about the
    next window, which may reach further by then.
    """

    feed: str
    lake: str
    windows: int
    author: str
    reason: str
    at: str
    format: int = 1
    ranges: tuple[OffsetRange, ...] = ()


_decoder = msgspec.json.Decoder(Accepted)


def accept_next(
    journal: FeedJournal,
    state: FeedState,
    author: str,
    reason: str,
    at: str,
    ranges: tuple[OffsetRange, ...] = (),
) -> bool:
    """Let the next window through. False: somebody has said so before. Safe to repeat."""
    mine = Accepted(
        journal.layout.feed,
        journal.lake,
        state.windows,
        author,
        reason,
        at,
        ACCEPTANCE_FORMAT,
        ranges[:MOST_RANGES],
    )
    key = _key(journal, state)
    other = journal.create(key, msgspec.json.encode(mine))
    if other is None:
        return True
    _check(journal, state, key, other)
    return False


def is_accepted(journal: FeedJournal, state: FeedState) -> bool:
    """True when the window that would be decided next may be as broken as it is."""
    return acceptance_of(journal, state) is not None


def acceptance_of(journal: FeedJournal, state: FeedState) -> Accepted | None:
    """Who accepted the window that would be decided next; None: nobody."""
    key = _key(journal, state)
    found = journal.store.read(key)
    return None if found is None else _check(journal, state, key, found)


def _key(journal: FeedJournal, state: FeedState) -> str:
    return f"{journal.layout.accepted}/{state.windows:020}.json"


def _check(journal: FeedJournal, state: FeedState, key: str, raw: bytes) -> Accepted:
    """It must say of itself that it is about this window: a copied file is not a decision."""
    try:
        found = _decoder.decode(raw)
    except msgspec.MsgspecError as error:
        damaged = AcceptanceDamaged(key, f"it is not an acceptance: {error}")
        raise newer_or(damaged, raw, ACCEPTANCE_FORMAT) from error
    if found.format > ACCEPTANCE_FORMAT:
        raise EntryNewer(key, found.format, ACCEPTANCE_FORMAT)
    wanted = (journal.layout.feed, journal.lake, state.windows)
    if (found.feed, found.lake, found.windows) != wanted:
        raise AcceptanceDamaged(
            key, f"it is about window {found.windows + 1} of feed {found.feed!r}, or another lake"
        )
    return found
