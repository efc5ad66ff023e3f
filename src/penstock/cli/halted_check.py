"""What `penstock check` says of a feed that has halted: would a run halt again?"""

from typing import Protocol

from penstock.errors import PenstockError
from penstock.feeds.configured_rules import stops
from penstock.feeds.endings import failing_and_stopped
from penstock.feeds.errors import (
    DatasetsParked,
    SchemasIncompatible,
    StartBeyondLog,
    StartIncomplete,
    StartNotResolved,
)
from penstock.feeds.halting import feed_digest
from penstock.feeds.topic_watch import missing_topics
from penstock.model.exit_codes import HALTED, REFUSED, REFUSED_CODES
from penstock.model.halted import Halted
from penstock.model.spec import FeedSpec
from penstock.model.window import Available
from penstock.protocol.feed_book.acceptance import acceptance_of
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import last_beat
from penstock.protocol.feed_book.halted_objects import shown_halted
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.errors import FormatChanged, PartitionChanged
from penstock.status.snapshot import is_alive, trouble_told
from penstock.status.trouble_text import trouble_line

# Causes that `check` finds itself when the source answers: if it does not, they are gone.
FOUND_BY_CHECK = frozenset(
    {
        "GAP",
        "TOPIC_MISSING",
        "TOPIC_REPLACED",
        "LOG_TRUNCATED",
        "CLUSTER_CHANGED",
        StartNotResolved.code,
        StartIncomplete.code,
        StartBeyondLog.code,
    }
)
# Causes that the journal shows, whether the source answers or not.
FOUND_IN_JOURNAL = frozenset(
    {
        DatasetsParked.code,
        SchemasIncompatible.code,
        FormatChanged.code,
        PartitionChanged.code,
    }
)


class HaltFinding(Protocol):
    """The result of the checks of one feed, as far as a halt changes it."""

    codes: set[str]  # of the errors that were found

    def warn(self, sentence: str) -> None:
        """Add a warning."""
        ...

    def halt(self, sentence: str, exit_code: int) -> None:
        """Add what would end a run."""
        ...

    def fail(self, error: PenstockError) -> None:
        """Add an error that would end a run."""
        ...


def tell_held_back(finding: HaltFinding, feed: FeedSpec, state: FeedState) -> None:
    """Add the datasets that are parked or stopped, with which `run --once` would end.

    A run tries what is parked, and lets go what the configuration would not stop now.
    """
    parked, stopped = failing_and_stopped(state)
    if parked:
        finding.fail(DatasetsParked(feed.name, parked))
    held = {name: why for name, why in stopped.items() if stops(feed, name)}
    if held:
        finding.fail(SchemasIncompatible(feed.name, held))
    for name in sorted(stopped.keys() - held.keys()):
        finding.warn(f"{name} is stopped; the next run lets it go on")


def tell_trouble(finding: HaltFinding, journal: FeedJournal, now_s: float) -> None:
    """Add what fails now in the run that owns the feed, if one does."""
    beat = last_beat(journal.store, journal.layout)
    trouble = trouble_told(beat)
    if trouble is not None and is_alive(beat, now_s):
        finding.warn(f"the run that owns the feed is {trouble_line(trouble)}")


def tell_halted(
    finding: HaltFinding,
    feed: FeedSpec,
    journal: FeedJournal,
    state: FeedState,
    available: Available | None,
) -> None:
    """Add that a feed has halted, if it has.

    `available` is what its source has, in which nothing was found that stops an owner, nor keeps a
    new partition from its start; None if the source was not asked, or did not answer.
    """
    halted = shown_halted(journal, state)
    if halted is None:
        return
    since = f" since {halted.since}" if halted.since else ""
    word = "refused" if halted.code in REFUSED_CODES else "halted"
    if halted.code in finding.codes:
        finding.warn(f"{word}{since} with {halted.code}")
        return
    sentence = f"{word}{since}: {halted.code}: {halted.sentence}"
    gone = _why_it_may_go_on(halted, feed, journal, state, available)
    if gone:
        finding.warn(f"{sentence} {gone}")
    else:
        finding.halt(f"{sentence} {halted.advice}", exit_code_of(halted.code))


def exit_code_of(code: str) -> int:
    """The exit code of a run that ends with an error; that of a halt if the error is not known."""
    kinds: list[type[PenstockError]] = [PenstockError]
    while kinds:
        kind = kinds.pop()
        if kind.code == code:
            return kind.exit_code
        kinds += kind.__subclasses__()
    return HALTED


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
    if halted.code in FOUND_IN_JOURNAL:
        return "The cause is gone: the next run goes on."
    is_of_config = halted.window or exit_code_of(halted.code) == REFUSED
    if is_of_config and halted.config != feed_digest(feed):
        return "The configuration of the feed has changed since: the next run judges again."
    return ""
