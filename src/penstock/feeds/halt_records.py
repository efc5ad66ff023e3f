"""Leaving word in the lake that a feed has ended and waits for a person."""

from contextlib import suppress
from datetime import datetime

from penstock.api.store import Store
from penstock.errors import JournalError, PenstockError
from penstock.feeds.halting import HaltMoment, halted_by, samples_of
from penstock.model.layout import Layout
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedBeat, last_beat
from penstock.protocol.feed_book.halted_objects import write_halted
from penstock.protocol.journal.beats import STALE_S
from penstock.protocol.journal.lake_identity import known_identity
from penstock.runtime.surroundings import Surroundings
from penstock.runtime.this_process import is_dead


def record_halt(
    journal: FeedJournal, feed: FeedSpec, error: PenstockError, moment: HaltMoment
) -> None:
    """Write down why a feed has ended. A feed that never ran has no entry to write it beside."""
    if not moment.state.is_new:
        write_halted(journal, halted_by(error, feed, moment), samples_of(error))


def record_unopened(
    store: Store, around: Surroundings, feed: FeedSpec, owner: str, error: PenstockError
) -> None:
    """The same for a feed that could not even be opened, as with a schema that is refused.

    While another instance works on the feed, nothing is written: it is not the feed that waits for
    a person, but this instance. A journal that cannot be read needs no word, because whoever reads
    it finds that.
    """
    lake = known_identity(store)
    if lake is None:
        return
    journal = FeedJournal(store, Layout(feed.name), lake, around)
    with suppress(JournalError):
        state = journal.open().state
        if not _is_held(last_beat(store, journal.layout), around.now()):
            moment = HaltMoment(lake, state, around.timestamp(), owner)
            record_halt(journal, feed, error, moment)


def _is_held(beat: FeedBeat | None, now_s: float) -> bool:
    """Whether another instance seems to own the feed. By wall clocks: nothing depends on it."""
    if beat is None or beat.released or is_dead(beat.process):
        return False
    try:
        return now_s - datetime.fromisoformat(beat.at).timestamp() < STALE_S
    except ValueError:
        return False
