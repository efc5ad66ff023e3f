"""What `penstock check` says of a feed that has halted: would a run halt again?"""

from typing import Protocol

from penstock.feeds.halting import feed_digest
from penstock.feeds.topic_watch import missing_topics
from penstock.model.halted import Halted
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.protocol.feed_book.acceptance import acceptance_of
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.halted_objects import shown_halted
from penstock.protocol.feed_book.state import FeedState

# Causes that `check` finds itself when the source answers: if it does not, they are gone.
FOUND_BY_CHECK = frozenset(
    {"GAP", "TOPIC_MISSING", "TOPIC_REPLACED", "LOG_TRUNCATED", "CLUSTER_CHANGED"}
)


class HaltFinding(Protocol):
    """The result of the checks of one feed, as far as a halt changes it."""

    def warn(self, sentence: str) -> None:
        """Add a warning."""
        ...

    def halt(self, sentence: str) -> None:
        """Add what would halt a run."""
        ...


def tell_halted(
    finding: HaltFinding,
    feed: FeedSpec,
    journal: FeedJournal,
    state: FeedState,
    available: Available | None,
) -> None:
    """Add that a feed has halted, if it has.

    `available` is what its source has, in which nothing was found that stops an owner; None if the
    source was not asked, or did not answer.
    """
    halted = shown_halted(journal, state)
    if halted is None:
        return
    since = f" since {halted.since}" if halted.since else ""
    sentence = f"halted{since}: {halted.code}: {halted.sentence}"
    gone = _why_it_may_go_on(halted, feed, journal, state, available)
    if gone:
        finding.warn(f"{sentence} {gone}")
    else:
        finding.halt(f"{sentence} {halted.advice}")


def _why_it_may_go_on(
    halted: Halted,
    feed: FeedSpec,
    journal: FeedJournal,
    state: FeedState,
    available: Available | None,
) -> str:
    """Why a run might not halt again; empty if nothing is known to have changed."""
    accepted = acceptance_of(journal, state) if halted.window else None
    if accepted is not None:
        return f"This window is accepted by {accepted.author}: the next run goes on."
    if available is not None and halted.code in FOUND_BY_CHECK:
        if missing_topics(feed, state.topics, available):
            return ""
        return "The cause is gone: the next run goes on."
    if halted.window and halted.config != feed_digest(feed):
        return "The configuration of the feed has changed since: the next run judges again."
    return ""
