"""Which errors pass, which mean another owner, and with which a feed waits for a person. Pure."""

from penstock.api.source import ReadFailed, SourceUnavailable
from penstock.errors import (
    Fenced,
    OutcomeUnknown,
    PenstockError,
    StagedSetWrong,
    StoreUnavailable,
)
from penstock.feeds.errors import LeaseHeld, LeaseLost
from penstock.model.exit_codes import HALTED, REFUSED
from penstock.ports.registry.errors import RegistryTrouble
from penstock.protocol.feed_book.state import FeedState

PASSING = (
    SourceUnavailable,
    RegistryTrouble,
    ReadFailed,
    StoreUnavailable,
    OutcomeUnknown,
    StagedSetWrong,
)
OWNED_BY_ANOTHER = (Fenced, LeaseLost)


def waits_for_a_person(error: PenstockError) -> bool:
    """Whether a feed that ended with an error would end with it again if it were just started."""
    passes = isinstance(error, (*PASSING, *OWNED_BY_ANOTHER, LeaseHeld))
    return error.exit_code == HALTED or not passes


def may_be_resumed(error: PenstockError) -> bool:
    """Whether an operator's decision may let a feed go on in a run that has read its configuration.

    What only another configuration can mend ends the feed for this run.
    """
    return waits_for_a_person(error) and error.exit_code != REFUSED


def outcome_of(error: PenstockError) -> str:
    """What an error means for the window that it ended, in one word."""
    if isinstance(error, OWNED_BY_ANOTHER):
        return "fenced"
    return "failed" if isinstance(error, PASSING) else "halted"


def failing_and_stopped(state: FeedState) -> tuple[dict[str, str], dict[str, str]]:
    """The parked datasets, with why: those that could not be published, and those to wait."""
    parked = state.parked_datasets
    stopped = {name: why for name, why in parked.items() if name in state.stopped}
    return {name: why for name, why in parked.items() if name not in stopped}, stopped
