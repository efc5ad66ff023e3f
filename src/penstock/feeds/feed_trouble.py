"""The trouble of a feed: when it is tried again, and what its signs of life say about it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.source import ReadFailed, SourceUnavailable
from penstock.errors import OutcomeUnknown, PenstockError
from penstock.model.lanes import dataset_of
from penstock.model.plural import number_of
from penstock.protocol.feed_book.feed_lease import FeedTrouble
from penstock.protocol.publish.troubles import Trouble as PartTrouble

LONGEST_SENTENCE = 500  # characters; a beat is written every few seconds
NOT_PUBLISHED = "PUBLISH_FAILED"


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a feed rests: how often in a row it failed, and when to try it again.

    `told` is for whoever asks; `is_of_source` when a window that is read shows that it has passed.
    """

    tries: int
    next_try: float
    start_over: bool
    told: FeedTrouble
    is_of_source: bool = False


def trouble_of(
    error: PenstockError, before: Trouble | None, at: str, *, tries: int, next_try: float
) -> Trouble:
    """The trouble after one more failure."""
    told = None if before is None else before.told
    return Trouble(
        tries,
        next_try,
        # After an unknown outcome only a fresh fold can tell what landed.
        isinstance(error, OutcomeUnknown) or (before is not None and before.start_over),
        FeedTrouble(
            error.code,
            sentence_of(error)[:LONGEST_SENTENCE],
            at if told is None else told.since,
            1 if told is None else told.tries + 1,
        ),
        isinstance(error, SourceUnavailable) and not error.while_reading,
    )


def sentence_of(error: PenstockError) -> str:
    """What has failed, without values of records: a failed job may quote some of them."""
    if isinstance(error, ReadFailed):
        return f"The job that reads window {error.window} failed; the log of the run says why."
    return error.found


def unpublished(
    failing: Mapping[str, PartTrouble], before: FeedTrouble | None, at: str
) -> FeedTrouble | None:
    """What cannot be published now, and is tried again; None when there is nothing."""
    if not failing:
        return None
    worst = max(failing, key=lambda part: (failing[part].tries, part))
    datasets = sorted({dataset_of(part) for part in failing})
    others = len(datasets) - 1
    who = f"{dataset_of(worst)} and {number_of(others, 'other dataset')} are"
    if not others:
        who = f"{dataset_of(worst)} is"
    sentence = f"{who} decided and not visible yet: {failing[worst].why}"
    since = at if before is None else before.since
    return FeedTrouble(NOT_PUBLISHED, sentence[:LONGEST_SENTENCE], since, failing[worst].tries)
