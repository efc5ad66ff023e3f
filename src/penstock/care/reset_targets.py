"""Computes the moves of a reset from the operator's target and what Kafka has. Pure."""

from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from penstock.care.errors import ResetRefused
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.value import Value
from penstock.model.window import Available, PartitionOffsets
from penstock.protocol.feed_book.state import FeedState

TargetKind = Literal["earliest", "latest", "time", "offset", "shift", "group", "file"]


class Target(Value, frozen=True):
    """The target of a reset. `number` is a time in ms, an offset, or a difference of offsets.

    `word` is the name of a consumer group, or of a file with offsets.
    """

    kind: TargetKind
    number: int = 0
    word: str = ""


class TopicChoice(Value, frozen=True):
    """`--topic events:0,1`: a topic, and some of its partitions or all of them."""

    topic: str
    partitions: tuple[int, ...] = ()

    def covers(self, topic: str, partition: int) -> bool:
        """True when this choice names the partition."""
        return topic == self.topic and (not self.partitions or partition in self.partitions)


class Move(Value, frozen=True):
    """One watermark to move, with what was delivered and what Kafka has."""

    topic: str
    place: TopicPartition
    from_offset: int
    to_offset: int
    floor: int
    held: PartitionOffsets
    wanted: int

    @property
    def skipped(self) -> int:
        """How many offsets will never be delivered."""
        return max(self.to_offset - self.from_offset, 0)

    @property
    def read_again(self) -> int:
        """How many offsets that were skipped before will be read now."""
        return max(self.from_offset - self.to_offset, 0)

    @property
    def is_refused(self) -> bool:
        """True when it goes back over delivered offsets."""
        return self.to_offset < self.floor and self.to_offset != self.from_offset

    @property
    def note(self) -> str:
        """A note for the operator, or nothing."""
        notes = []
        if self.is_refused:
            notes.append(f"refused: delivered up to {self.floor}")
        if self.wanted < self.held.earliest:
            notes.append(f"{self.wanted} is before the log, which starts at {self.held.earliest}")
        if self.wanted > self.held.latest:
            notes.append(f"{self.wanted} is after the log, which ends at {self.held.latest}")
        gone = min(self.held.earliest, self.to_offset) - self.from_offset
        if gone > 0:
            notes.append(f"{gone} of the skipped offsets are no longer in Kafka")
        return "; ".join(notes)


def moves_to(
    state: FeedState,
    available: Available,
    chosen: Iterable[TopicPartition],
    target: Target,
    given: Mapping[TopicPartition, int],
) -> tuple[Move, ...]:
    """The moves of a reset, limited to what Kafka has, as in Kafka's own tool.

    `chosen` are partitions that the state and Kafka have; `given` has their offsets, if the target
    is a time, a group or a file.
    """
    held = held_offsets(available)
    moves = []
    for place in chosen:
        known = state.partitions[place.topic_id][place.partition]
        offsets = held[place]
        wanted = _wanted(target, known.watermark, offsets, given.get(place, 0))
        inside = min(max(wanted, offsets.earliest), offsets.latest)
        moves.append(
            Move(known.topic, place, known.watermark, inside, known.floor, offsets, wanted)
        )
    return tuple(moves)


def check_moves(feed: str, moves: Iterable[Move]) -> None:
    """Refuse all moves when one goes back over delivered offsets."""
    refused = tuple(
        f"{move.topic}/{move.place.partition} was delivered up to {move.floor}, and "
        f"{move.to_offset} is the target"
        for move in moves
        if move.is_refused
    )
    if refused:
        raise ResetRefused(feed, refused)


def lost_ranges(state: FeedState, available: Available) -> tuple[OffsetRange, ...]:
    """The ranges between watermarks and log starts, which Kafka no longer has."""
    watermarks = state.watermarks()
    return tuple(
        OffsetRange(topic.topic, topic.topic_id, partition, watermark, offsets.earliest)
        for topic in available.topics
        for partition, offsets in sorted(topic.partitions.items())
        if (watermark := watermarks.get(TopicPartition(topic.topic_id, partition))) is not None
        and watermark < offsets.earliest
    )


def held_offsets(available: Available) -> dict[TopicPartition, PartitionOffsets]:
    """The offsets that Kafka has, by partition."""
    return {
        TopicPartition(topic.topic_id, partition): offsets
        for topic in available.topics
        for partition, offsets in topic.partitions.items()
    }


def parse_choice(text: str) -> TopicChoice | None:
    """`events` or `events:0,1`; None for anything else."""
    topic, colon, listed = text.partition(":")
    if not topic or (colon and not listed):
        return None
    if not colon:
        return TopicChoice(topic)
    numbers = listed.split(",")
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        return None
    return TopicChoice(topic, tuple(sorted({int(number) for number in numbers})))


def _wanted(target: Target, watermark: int, offsets: PartitionOffsets, given: int) -> int:
    match target.kind:
        case "earliest":
            return offsets.earliest
        case "latest":
            return offsets.latest
        case "time" | "group" | "file":
            return given
        case "offset":
            return target.number
        case "shift":
            return watermark + target.number
        case _ as never:
            assert_never(never)
