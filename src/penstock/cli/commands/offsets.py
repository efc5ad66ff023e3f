"""`penstock offsets`: show and move a feed's watermarks; each change is a journal entry."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.api.source import SourceUnavailable
from penstock.care.reset_targets import (
    Move,
    TopicChoice,
    check_moves,
    held_offsets,
    lost_ranges,
    moves_to,
)
from penstock.care.seek import accept_gaps, rebind, seek_all
from penstock.cli.approval import approval_of
from penstock.cli.common import (
    TAKEN_UP,
    feed_named,
    print_rows,
    surroundings,
)
from penstock.cli.errors import UsageMistake
from penstock.cli.reset_offsets import given_offsets
from penstock.cli.source_connection import (
    AskedSource,
    asking_sources,
    not_answered,
)
from penstock.errors import ClusterChanged
from penstock.model.entries import PartitionStart, SealedEntry
from penstock.model.plural import number_of
from penstock.model.ranges import TopicPartition
from penstock.model.spec import FeedSpec
from penstock.model.window import Available, TopicOffsets
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.window_plan import check_identity

Row = dict[str, object]


@dataclass(frozen=True, slots=True)
class Sight:
    """A feed's journal and what its source has now."""

    feed: FeedSpec
    journal: FeedJournal
    state: FeedState
    source: AskedSource
    available: Available
    unavailable: Callable[[str], SourceUnavailable]

    @property
    def bound(self) -> dict[str, str]:
        """The topics read so far that the feed still wants."""
        return self.feed.still_wanted(self.state.topics)

    def topic(self, name: str) -> TopicOffsets | None:
        """The topic as it is in Kafka now."""
        return next((topic for topic in self.available.topics if topic.topic == name), None)

    def check_led(self, places: Iterable[tuple[str, int]]) -> None:
        """Raise if a partition has no leader now."""
        for topic, partition in places:
            why = self.available.unreadable.get((topic, partition))
            if why is not None:
                raise self.unavailable(f"{topic}/{partition}: {why}")


@contextmanager
def looking(chosen: argparse.Namespace) -> Iterator[Sight]:
    """Read the journal, then ask the source. Raises for a feed that never ran."""
    spec, feed, journal = feed_named(chosen, chosen.feed)
    state = journal.open().state
    if not state.topics:
        raise UsageMistake(
            f"Feed {feed.name!r} was never run: it has no offsets yet.",
            "It will begin at its `start:` in the configuration; `penstock check` shows where.",
        )
    with asking_sources(spec) as sources:
        source = sources.of(feed)
        available = source.look()
        if available.cluster_id != state.cluster_id:
            raise ClusterChanged(state.cluster_id, available.cluster_id)
        yield Sight(feed, journal, state, source, available, not_answered(spec, feed))


def show(chosen: argparse.Namespace) -> int:
    """Print a row per partition."""
    with looking(chosen) as sight:
        print_rows(_rows_shown(sight), chosen.output)
    return 0


def reset(chosen: argparse.Namespace) -> int:
    """Print the moves; make them with --execute."""
    approval = approval_of(chosen)
    with looking(chosen) as sight:
        places = _chosen_places(sight, chosen.topic)
        given = given_offsets(sight.source, sight.feed, sight.state, places, chosen.target)
        moves = moves_to(sight.state, sight.available, places, chosen.target, given)
    entries: dict[TopicPartition, SealedEntry] = {}
    if approval is not None and not any(move.is_refused for move in moves):
        targets = {m.place: m.to_offset for m in moves if m.to_offset != m.from_offset}
        landed = seek_all(sight.journal, targets, approval)
        entries = dict(zip(targets, landed, strict=True))
    print_rows([_moved_row(move, entries.get(move.place)) for move in moves], chosen.output)
    check_moves(sight.feed.name, moves)
    skipped, again = sum(m.skipped for m in moves), sum(m.read_again for m in moves)
    _tell(chosen, f"{number_of(skipped, 'offset')} never delivered, {again} read again")
    return 0


def accept_gap(chosen: argparse.Namespace) -> int:
    """Print the lost ranges; accept them with --execute."""
    approval = approval_of(chosen)
    with looking(chosen) as sight:
        check_identity(sight.state.cluster_id, sight.bound, sight.available)
        lost = lost_ranges(sight.state, sight.available)
    if not lost:
        print(
            f"no gap: the source has all records that {sight.feed.name} has not read yet",
            file=sys.stderr,
        )
        return 0
    entries = accept_gaps(sight.journal, lost, approval) if approval is not None else []
    numbers = dict(enumerate(entry.number for entry in entries))
    rows: list[Row] = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "from": each.start,
            "to": each.end,
            "lost": len(each),
            "entry": numbers.get(index),
        }
        for index, each in enumerate(lost)
    ]
    print_rows(rows, chosen.output)
    _tell(chosen, f"{number_of(sum(map(len, lost)), 'offset')} given up")
    return 0


def rebind_topic(chosen: argparse.Namespace) -> int:
    """Print where the new topic would start; bind to it with --execute."""
    approval = approval_of(chosen)
    with looking(chosen) as sight:
        old_id = sight.state.topics.get(chosen.topic)
        if old_id is None or not sight.feed.wants(chosen.topic):
            raise _unknown_topic(sight, chosen.topic)
        topic = sight.topic(chosen.topic)
        if topic is not None and topic.topic_id == old_id:
            raise UsageMistake(
                f"Topic {chosen.topic!r} was not recreated: it still has the id {old_id}.",
                "Nothing was changed; to move offsets, use `penstock offsets reset`.",
            )
        if topic is None:
            raise UsageMistake(
                f"Topic {chosen.topic!r} does not exist.", "Create it first, then rebind."
            )
        sight.check_led(
            sorted(place for place in sight.available.unreadable if place[0] == chosen.topic)
        )
    starts = tuple(
        PartitionStart(topic.topic, topic.topic_id, partition,
                       offsets.latest if chosen.latest else offsets.earliest)
        for partition, offsets in sorted(topic.partitions.items())
    )  # fmt: skip
    entry = None
    if approval is not None:
        life = topic.topic, old_id
        entry = rebind(sight.journal, surroundings(), *life, starts, approval).number
    rows: list[Row] = [
        {
            "topic": start.topic,
            "partition": start.partition,
            "old_id": old_id,
            "new_id": start.topic_id,
            "start": start.offset,
            "log_end": topic.partitions[start.partition].latest,
            "entry": entry,
        }
        for start in starts
    ]
    print_rows(rows, chosen.output)
    done = "is bound" if chosen.execute else "would be bound"
    _tell(chosen, f"{topic.topic} {done} to its new id")
    return 0


def _rows_shown(sight: Sight) -> Iterator[Row]:
    held = held_offsets(sight.available)
    now = {topic.topic: topic for topic in sight.available.topics}
    for name in sorted(sight.state.topics.keys() | now.keys()):
        bound_id = sight.state.topics.get(name) or now[name].topic_id
        known = sight.state.partitions.get(bound_id, {})
        added = now[name].partitions if name in now and now[name].topic_id == bound_id else {}
        for partition in sorted(known.keys() | added.keys()):
            place = TopicPartition(bound_id, partition)
            state = known.get(partition)
            watermark = state.watermark if state is not None else None
            offsets = held.get(place)
            yield {
                "topic": name,
                "partition": partition,
                "start": state.first_offset if state is not None else None,
                "watermark": watermark,
                "log_start": offsets.earliest if offsets else None,
                "log_end": offsets.latest if offsets else None,
                "lag": max(offsets.latest - watermark, 0)
                if offsets and watermark is not None
                else None,
                "last_window": (state.last_window or None) if state is not None else None,
                "note": _note(sight, name, place),
            }


def _note(sight: Sight, name: str, place: TopicPartition) -> str:
    """What is wrong with a partition; empty if nothing is."""
    topic = sight.topic(name)
    if topic is None:
        return "the topic is gone" if sight.feed.wants(name) else "no longer in the feed"
    if topic.topic_id != place.topic_id:
        return f"the topic was recreated: {topic.topic_id}"
    known = sight.state.partition(place)
    if known is None:
        return "not started yet"
    offsets = topic.partitions.get(place.partition)
    if offsets is None:
        return sight.available.unreadable.get((name, place.partition), "the partition is gone")
    if known.watermark < offsets.earliest:
        return f"gap [{known.watermark}, {offsets.earliest})"
    if known.watermark > offsets.latest:
        return "the log ends before the watermark"
    return ""


def _chosen_places(sight: Sight, choices: list[TopicChoice]) -> list[TopicPartition]:
    """The partitions that were named, or all. Each is in the journal and has a leader in Kafka."""
    state = sight.state
    bound = sight.bound
    for choice in choices:
        known = state.partitions.get(bound.get(choice.topic, ""), {})
        absent = [partition for partition in choice.partitions if partition not in known]
        if choice.topic not in bound or absent:
            raise _unknown_topic(sight, choice.topic, absent)
    named = {name for name in bound if not choices or any(c.topic == name for c in choices)}
    check_identity(state.cluster_id, {name: bound[name] for name in named}, sight.available)
    found = [
        (name, partition)
        for name in sorted(named)
        for partition in sorted(state.partitions.get(bound[name], {}))
        if not choices or any(choice.covers(name, partition) for choice in choices)
    ]
    sight.check_led(found)
    held = held_offsets(sight.available)
    places = [TopicPartition(bound[name], partition) for name, partition in found]
    return [place for place in places if place in held]


def _unknown_topic(sight: Sight, topic: str, partitions: Iterable[int] = ()) -> UsageMistake:
    listed = ",".join(map(str, partitions))
    what = f"{topic}:{listed}" if listed else topic
    known = ", ".join(
        f"{name} with {number_of(len(sight.state.partitions.get(topic_id, {})), 'partition')}"
        for name, topic_id in sorted(sight.bound.items())
    )
    return UsageMistake(
        f"Feed {sight.feed.name!r} has not read {what!r}.", f"It has read: {known or 'nothing'}."
    )


def _moved_row(move: Move, entry: SealedEntry | None) -> Row:
    return {
        "topic": move.topic,
        "partition": move.place.partition,
        "from": move.from_offset,
        "to": move.to_offset,
        "skipped": move.skipped,
        "read_again": move.read_again,
        "entry": None if entry is None else entry.number,
        "note": move.note,
    }


def _tell(chosen: argparse.Namespace, what: str) -> None:
    """Print the result on stderr, so that stdout has only data."""
    if chosen.execute:
        print(f"done: {what}; {TAKEN_UP}", file=sys.stderr)
    else:
        wanted = "--execute" if chosen.reason.strip() else "--reason and --execute"
        print(f"dry run, nothing was changed: {what}. Add {wanted} to do it.", file=sys.stderr)
