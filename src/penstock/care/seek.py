"""Moving a watermark by an operator's decision, over offsets that were never delivered."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from penstock.care.command_entries import TRIES, decide_for_command
from penstock.errors import EntryRefused, Fenced
from penstock.model.entries import (
    AnyBody,
    Gap,
    PartitionStart,
    Rebind,
    SealedEntry,
    Seek,
    Unpark,
)
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.value import Value
from penstock.protocol.feed_book.feed_journal import FeedFold, FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.publish.groups import leave_tail_mark
from penstock.runtime.surroundings import Surroundings

T = TypeVar("T")


class Approval(Value, frozen=True):
    """The author and the reason of a decision; the journal keeps both for ever."""

    author: str
    reason: str


def seek_all(
    journal: FeedJournal, targets: Mapping[TopicPartition, int], approval: Approval
) -> list[SealedEntry]:
    """Decide the next offsets to read, by partition: one fold, an entry each.

    The caller keeps them within what Kafka has: a watermark beyond the log's end looks like a
    truncated log to the owner, and halts the feed. Entries before an error stay.
    """

    def build(state: FeedState, target: tuple[TopicPartition, int]) -> AnyBody:
        return _seek_body(state, *target, approval)

    return _decide_one_by_one(journal, targets.items(), build)


def accept_gaps(
    journal: FeedJournal, lost: Iterable[OffsetRange], approval: Approval
) -> list[SealedEntry]:
    """Give up many ranges with one fold, an entry each. Entries before an error stay."""

    def build(_state: FeedState, each: OffsetRange) -> AnyBody:
        return Gap(each, approval.author, approval.reason)

    return _decide_one_by_one(journal, lost, build)


def rebind(
    journal: FeedJournal,
    around: Surroundings,
    topic: str,
    old_id: str,
    starts: tuple[PartitionStart, ...],
    approval: Approval,
) -> SealedEntry:
    """Accept a topic that was created again on purpose, and where reading of it starts.

    `old_id` is the life that the feed was bound to before the source was asked what the topic is
    now. If it is bound to another one by now, that may be newer than what was asked: refused.
    `starts` name every partition of the new topic; partitions added later start at the log's
    beginning.
    """

    def build(fold: FeedFold, _window: str) -> AnyBody:
        if topic not in fold.state.topics:
            raise EntryRefused("rebind", f"topic {topic} was never read")
        if not starts:
            raise EntryRefused("rebind", f"topic {topic} has no partition to start at")
        new_id = starts[0].topic_id
        return Rebind(topic, old_id, new_id, starts, approval.author, approval.reason)

    return decide_for_command(journal, around, build, deep=False)


def unpark(
    journal: FeedJournal,
    around: Surroundings,
    dataset: str,
    author: str,
    reason: str = "",
    *,
    stopped: bool | None = None,
) -> SealedEntry:
    """Let a parked dataset be tried again; the owner publishes its queue in order.

    `stopped` says whether the author has seen it stopped by records that do not fit: who wants a
    failed one to be tried again has not accepted those. None: either way.
    """

    def build(fold: FeedFold, _window: str) -> AnyBody:
        if stopped is not None and (dataset in fold.state.stopped) != stopped:
            now = "let go" if stopped else "stopped"
            raise EntryRefused("unpark", f"dataset {dataset} was {now} meanwhile; look again")
        return Unpark(dataset, author, reason)

    return decide_for_command(journal, around, build, deep=False)


def _seek_body(state: FeedState, place: TopicPartition, to_offset: int, approval: Approval) -> Seek:
    known = state.partition(place)
    if known is None:
        raise EntryRefused("seek", f"partition {place.partition} has no start")
    return Seek(
        known.topic,
        place.topic_id,
        place.partition,
        known.watermark,
        to_offset,
        approval.author,
        approval.reason,
    )


def _decide_one_by_one(
    journal: FeedJournal, wanted: Iterable[T], build: Callable[[FeedState, T], AnyBody]
) -> list[SealedEntry]:
    """Append entries that consume nothing, one after the other, while an owner may run."""
    fold = journal.open()
    landed: list[SealedEntry] = []
    try:
        for each in wanted:
            landed.append(_decide(journal, fold, each, build))
    finally:
        if landed:
            leave_tail_mark(journal, landed[-1].number, landed[-1].sha256)
    return landed


def _decide(
    journal: FeedJournal, fold: FeedFold, each: T, build: Callable[[FeedState, T], AnyBody]
) -> SealedEntry:
    """Append one entry. If an owner was faster, build it again; a refusal by the rules is final."""
    for _ in range(TRIES):
        body = build(fold.state, each)
        try:
            return journal.append(fold, body, fold.state.epoch)
        except Fenced:
            continue
        except EntryRefused:
            if build(fold.state, each) == body:
                raise
    raise EntryRefused("command", f"owners were faster {TRIES} times")
