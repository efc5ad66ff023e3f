"""Planning where topics of a feed have window policies of their own. Pure.

Topics without one share the feed's policy. What waits under one policy is a part: it is due or not
by itself, and a part that is not due holds no other back. The feed's own policy bounds the whole
window, so a topic's own one can only be tighter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.value import Value
from penstock.model.window import Available
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.window_plan import WindowPolicy, share_out, waiting_ranges

SHARED = ""  # the part of all topics without a policy of their own


class WindowPolicies(Value, frozen=True):
    """How much one window may take: of the whole feed, and of topics with a policy of their own."""

    feed: WindowPolicy = WindowPolicy()
    topics: dict[str, WindowPolicy] = msgspec.field(default_factory=dict)

    def part_of(self, topic: str) -> str:
        """The name of the part to which a topic belongs."""
        return topic if topic in self.topics else SHARED

    def of(self, part: str) -> WindowPolicy:
        """The policy of a part."""
        return self.topics.get(part, self.feed)


class RecordSizes(Value, frozen=True):
    """The mean size of records, as recent windows have shown it; 0: it is not known."""

    feed: float = 0.0
    topics: dict[str, float] = msgspec.field(default_factory=dict)

    def of(self, topic: str) -> float:
        """That of a topic; one that was not read yet is expected to be like the others."""
        return self.topics.get(topic, 0.0) or self.feed

    def total(self, ranges: Iterable[OffsetRange]) -> float:
        """What some records should weigh together, in bytes."""
        return sum(len(each) * self.of(each.topic) for each in ranges)


def sizes_in(state: FeedState) -> RecordSizes:
    """The sizes that the windows of a feed have shown."""
    topics = {name: each.record_bytes for name, each in state.learned_topics.items()}
    return RecordSizes(state.record_bytes, topics)


class WaitingPart(Value, frozen=True):
    """What waits under one policy: how many records, and how many fit into one window."""

    part: str
    records: int
    cap: int


# Given all parts, those to take now and how many records of each at most, the first ones first.
ChooseParts = Callable[[Sequence[WaitingPart]], Mapping[str, int]]


def plan_window(
    policies: WindowPolicies,
    sizes: RecordSizes,
    watermarks: Mapping[TopicPartition, int],
    available: Available,
    choose: ChooseParts,
    turn: int = 0,
) -> tuple[OffsetRange, ...]:
    """The ranges of the next window; empty when nothing waits, or nothing is due.

    `choose` is asked about every part, also about those of which nothing waits.
    """
    parts: dict[str, list[OffsetRange]] = {SHARED: [], **{name: [] for name in policies.topics}}
    for each in waiting_ranges(watermarks, available):
        parts[policies.part_of(each.topic)].append(each)
    chosen = choose(
        [
            WaitingPart(
                name, sum(map(len, waiting)), fitting(policies.of(name), waiting, sizes, turn)
            )
            for name, waiting in parts.items()
        ]
    )
    planned: list[OffsetRange] = []
    first = policies.feed.cap(0.0) if sizes.feed <= 0 else policies.feed.max_records
    records, size_bytes = first, float(policies.feed.max_bytes)
    for name, most in chosen.items():
        if not parts[name] or records < 1 or (size_bytes <= 0 and planned):
            continue
        policy = policies.of(name).within(min(records, most), size_bytes)
        taken = share_out(parts[name], fitting(policy, parts[name], sizes, turn), turn)
        records -= sum(map(len, taken))
        size_bytes -= sizes.total(taken)
        planned += taken
    return tuple(sorted(planned))


def fitting(
    policy: WindowPolicy, waiting: list[OffsetRange], sizes: RecordSizes, turn: int = 0
) -> int:
    """How many of the records that wait fit into one window, by the sizes of their topics.

    Where fewer fit than there are partitions, those are weighed whose turn it is.
    """
    found = {sizes.of(each.topic) for each in waiting} or {sizes.feed}
    least, most = policy.cap(max(found)), policy.cap(min(found))
    while least < most:  # what is found fits; above one record a partition, nothing larger does
        middle = (least + most + 1) // 2
        if sizes.total(share_out(waiting, middle, turn)) <= policy.max_bytes:
            least = middle
        else:
            most = middle - 1
    return least
