"""The way back from the quarantine: records delivered after all, or given up by name."""

from collections.abc import Callable

from penstock.care.beside import decide_beside
from penstock.errors import EntryRefused
from penstock.journal.journal import Fold, Journal
from penstock.model.entries import AnyBody, Drop, Replay, SealedEntry
from penstock.model.evidence import RangeEvidence
from penstock.model.manifest import QUARANTINE, Content, ManifestFile, RecordSet, groups_of
from penstock.model.ranges import OffsetRange
from penstock.model.surroundings import Surroundings
from penstock.model.value import Value


class DecodeOrder(Value, frozen=True):
    """Which quarantined records to decode again, and where to stage them.

    `files` are those that hold them, with the ranges that each covers.
    """

    window: str
    staging: str
    records: tuple[RecordSet, ...]
    files: tuple[tuple[str, tuple[OffsetRange, ...]], ...] = ()


class DecodedAgain(Value, frozen=True):
    """The staged files, and which records are in them.

    `evidence` tells of rows beyond one for each record, which only showed now.
    """

    files: tuple[ManifestFile, ...]
    records: tuple[RecordSet, ...]
    evidence: tuple[RangeEvidence, ...] = ()


Decode = Callable[[DecodeOrder], DecodedAgain]


def replay(journal: Journal, around: Surroundings, author: str, decode: Decode) -> SealedEntry:
    """Deliver quarantined records once.

    Records that fail again are not named, stay where they are, and get no second row.
    """

    def build(fold: Fold, window: str) -> AnyBody:
        order = DecodeOrder(window, journal.layout.staging, live_records(fold), live_files(fold))
        if not order.records:
            raise EntryRefused("replay", "the quarantine is empty")
        found = decode(order)
        if not found.records:
            raise EntryRefused("replay", "none of the records can be delivered as things are")
        content = Content(files=found.files, evidence=found.evidence, records=found.records)
        groups = groups_of(content, ("publish_files",))
        body = Replay(window=window, groups=groups, content=content, author=author)
        return journal.with_content(body, content)

    return decide_beside(journal, around, build)


def drop(
    journal: Journal,
    around: Surroundings,
    records: tuple[RecordSet, ...],
    author: str,
    reason: str,
) -> SealedEntry:
    """Give quarantined records up, by name."""

    def build(_fold: Fold, _window: str) -> AnyBody:
        return Drop(content=Content(records=records), author=author, reason=reason)

    return decide_beside(journal, around, build)


def live_files(fold: Fold) -> tuple[tuple[str, tuple[OffsetRange, ...]], ...]:
    """The files of the quarantine that are visible, with what they cover."""
    if fold.inventory is None:
        raise ValueError("replay needs a deep fold")
    waiting = {n for n, undone in fold.state.undone.items() if QUARANTINE in undone.groups}
    return tuple(
        (final, ranges)
        for final, ranges in sorted(fold.inventory.quarantine.items())
        if fold.inventory.files[final].number not in waiting
    )


def live_records(fold: Fold) -> tuple[RecordSet, ...]:
    """Every quarantined record that nothing has consumed yet."""
    if fold.inventory is None:
        raise ValueError("replay needs a deep fold")
    return tuple(
        RecordSet(topic, topic_id, partition, dataset, offsets, row)
        for (topic, topic_id, partition, dataset, row), offsets in sorted(
            fold.inventory.records.items()
        )
        if offsets.runs
    )
