"""Moving a watermark by a person's word, over offsets that were never delivered."""

from penstock.care.beside import decide_beside
from penstock.errors import EntryRefused
from penstock.journal.journal import Fold, Journal
from penstock.model.entries import AnyBody, Gap, SealedEntry, Seek, Unpark
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.surroundings import Surroundings


def seek(
    journal: Journal,
    around: Surroundings,
    place: TopicPartition,
    to_offset: int,
    author: str,
    reason: str,
) -> SealedEntry:
    """Decide that the next offset to read of a partition is `to_offset`.

    Whoever asks keeps it within what Kafka holds: a watermark beyond the log's end looks like a
    truncated log to the owner, and stops it.
    """

    def build(fold: Fold, _window: str) -> AnyBody:
        known = fold.state.partition(place)
        if known is None:
            raise EntryRefused("seek", f"partition {place.partition} has no start")
        return Seek(
            known.topic,
            place.topic_id,
            place.partition,
            known.watermark,
            to_offset,
            author,
            reason,
        )

    return decide_beside(journal, around, build)


def accept_gap(
    journal: Journal, around: Surroundings, lost: OffsetRange, author: str, reason: str
) -> SealedEntry:
    """Decide that a range which Kafka no longer holds is given up."""
    return decide_beside(journal, around, lambda _fold, _window: Gap(lost, author, reason))


def unpark(journal: Journal, around: Surroundings, dataset: str, author: str) -> SealedEntry:
    """Let a parked dataset be tried again; the owner works off its queue."""
    return decide_beside(journal, around, lambda _fold, _window: Unpark(dataset, author))
