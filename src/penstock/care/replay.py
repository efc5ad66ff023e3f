"""Entries that take records out of the quarantine: replay delivers them, drop gives them up."""

from collections.abc import Callable, Iterable
from typing import Protocol

from penstock.care.command_entries import decide_for_command
from penstock.errors import EntryRefused, OutcomeUnknown
from penstock.model.entries import AnyBody, Corrections, Drop, Replay, SealedEntry
from penstock.model.evidence import RangeEvidence
from penstock.model.manifest import (
    QUARANTINE,
    Content,
    ManifestFile,
    RecordSet,
    schema_versions,
)
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.row_config import RowConfig
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.late_rows import delivered_groups, late_rows
from penstock.protocol.feed_book.row_configs import RowConfigs
from penstock.protocol.feed_book.state import is_pending
from penstock.protocol.loop.written_directories import directories_of
from penstock.runtime.surroundings import Surroundings


class ReplayOrder(Value, frozen=True):
    """Which quarantined records to decode again, and where to stage them.

    `files` are the files with these records, and the ranges that each covers.
    """

    window: str
    staging: str
    records: tuple[RecordSet, ...]
    files: tuple[tuple[str, tuple[OffsetRange, ...]], ...] = ()


class StagedReplay(Value, frozen=True):
    """The staged files, and which records are in them.

    `evidence` is that of additional rows of records that become several rows, known only now.
    """

    files: tuple[ManifestFile, ...]
    records: tuple[RecordSet, ...]
    evidence: tuple[RangeEvidence, ...] = ()


StageReplay = Callable[[ReplayOrder], StagedReplay]


class KeptRecords(Value, frozen=True):
    """Corrected records in the lake: as the entry names them, and the ranges of each file."""

    corrections: Corrections
    files: tuple[tuple[str, tuple[OffsetRange, ...]], ...]


class CorrectedRecords(Protocol):
    """Records that a person has corrected. Driver only."""

    @property
    def records(self) -> tuple[RecordSet, ...]:
        """Which records these are."""
        ...

    def keep(self, fold: FeedFold, window: str, topic_ids: frozenset[str]) -> KeptRecords:
        """Put the corrected bytes of these topic ids into the lake; once for every window id."""
        ...


def lives(records: Iterable[RecordSet]) -> list[frozenset[str]]:
    """Topic ids in groups; no group has two ids of the same topic name. Never empty.

    A topic that was deleted and created again has two ids with the same offsets. File names do not
    contain the id, so one replay handles one id of each topic.
    """
    found: dict[str, set[str]] = {}
    for each in records:
        found.setdefault(each.topic, set()).add(each.topic_id)
    by_name = [sorted(ids) for ids in found.values()]
    most = max(map(len, by_name), default=1)
    return [frozenset(ids[turn] for ids in by_name if turn < len(ids)) for turn in range(most)]


def replay(
    journal: FeedJournal,
    around: Surroundings,
    author: str,
    stage: StageReplay,
    topic_ids: frozenset[str] | None = None,
    known: FeedFold | None = None,
    corrected: CorrectedRecords | None = None,
    config: RowConfig | None = None,
) -> SealedEntry:
    """Deliver quarantined records of these topic ids, or of the first id of every topic.

    Records that fail again are not named and stay where they are. `known` is a deep fold of the
    caller, which is brought up to date. With `corrected` only those records are delivered, from
    their corrected bytes, which lie in the lake before the entry that names them. `config` is the
    configuration that shapes the rows; the entry names it.
    """

    def build(fold: FeedFold, window: str) -> AnyBody:
        live = live_records(fold)
        mine = lives(live)[0] if topic_ids is None else topic_ids
        records = tuple(each for each in live if each.topic_id in mine)
        order = ReplayOrder(window, journal.layout.staging, records, live_files(fold))
        if corrected is None:
            return _staged_body(journal, fold, author, order, stage, config)
        records = _still_waiting(corrected.records, records, mine)
        kept = corrected.keep(fold, window, mine)
        order = ReplayOrder(window, journal.layout.staging, records, kept.files)
        try:
            return _staged_body(journal, fold, author, order, stage, config, kept.corrections)
        except OutcomeUnknown:
            raise
        except BaseException:
            for each in kept.corrections.files:
                journal.store.delete(each.key)
            raise

    return decide_for_command(journal, around, build, known)


def _staged_body(
    journal: FeedJournal,
    fold: FeedFold,
    author: str,
    order: ReplayOrder,
    stage: StageReplay,
    config: RowConfig | None,
    corrections: Corrections | None = None,
) -> Replay:
    """Stage what can be delivered, and say so in a body."""
    if not order.records:
        raise EntryRefused("replay", "the quarantine is empty")
    found = stage(order)
    if not found.records:
        raise EntryRefused("replay", "none of the records can be delivered now")
    content = Content(files=found.files, evidence=found.evidence, records=found.records)
    body = Replay(
        window=order.window,
        groups=delivered_groups(fold.state, content),
        content=content,
        author=author,
        schemas=schema_versions(content.files),
        consumed=sum(len(part.offsets) for part in content.records),
        directories=replayed_directories(journal, fold, content),
        corrections=corrections,
        config=RowConfigs(journal).keep(config),
        finalized_at=fold.state.finalized_at,
        late=late_rows(fold.state, content),
    )
    return journal.with_content(body, content)


def _still_waiting(
    wanted: Iterable[RecordSet], live: Iterable[RecordSet], topic_ids: frozenset[str]
) -> tuple[RecordSet, ...]:
    """The records of these topic ids that are to be corrected; all of them have to be live."""
    waiting = {_place(each): each.offsets for each in live}
    mine = tuple(each for each in wanted if each.topic_id in topic_ids)
    gone = sum(len(each.offsets - waiting.get(_place(each), OffsetSet())) for each in mine)
    if gone:
        why = f"{gone} of the corrected records have left the quarantine meanwhile"
        raise EntryRefused("replay", why)
    return mine


def _place(records: RecordSet) -> tuple[str, str, int, str, int]:
    return records.topic, records.topic_id, records.partition, records.dataset, records.row


def replayed_directories(
    journal: FeedJournal, fold: FeedFold, content: Content
) -> dict[str, tuple[str, ...]]:
    """The directories of datasets that only this replay delivers."""
    found = directories_of(journal.layout.data, content)
    delivered = fold.state.schemas.keys() | fold.state.directories.keys()
    return {dataset: keys for dataset, keys in found.items() if dataset not in delivered}


def drop(
    journal: FeedJournal,
    around: Surroundings,
    records: tuple[RecordSet, ...],
    author: str,
    reason: str,
) -> SealedEntry:
    """Give up the named quarantined records."""

    def build(_fold: FeedFold, _window: str) -> AnyBody:
        return Drop(content=Content(records=records), author=author, reason=reason)

    return decide_for_command(journal, around, build)


def live_files(fold: FeedFold) -> tuple[tuple[str, tuple[OffsetRange, ...]], ...]:
    """The visible files of the quarantine, with the ranges they cover."""
    if fold.inventory is None:
        raise ValueError("replay needs a deep fold")
    return tuple(
        (final, fold.inventory.quarantine[final])
        for final, live in sorted(fold.inventory.files_of(QUARANTINE).items())
        if not is_pending(fold.state, live.number, QUARANTINE)
    )


def live_records(fold: FeedFold) -> tuple[RecordSet, ...]:
    """Every quarantined record that no entry has consumed."""
    if fold.inventory is None:
        raise ValueError("replay needs a deep fold")
    return tuple(
        RecordSet(topic, topic_id, partition, dataset, offsets, row)
        for (topic, topic_id, partition, dataset, row), offsets in sorted(
            fold.inventory.records.items()
        )
        if offsets.runs
    )
