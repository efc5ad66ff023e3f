"""What a feed would read next, judged with the owner's own rules. Decides and writes nothing."""

from penstock.errors import GapFound
from penstock.feeds.configured_rules import paces_of, window_policies
from penstock.feeds.start_offsets import LooksAtTopics, StartOffsets
from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.spec import FeedSpec
from penstock.model.value import Value
from penstock.model.window import Available
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.owner import check_format
from penstock.protocol.loop.topic_plan import plan_window, sizes_in
from penstock.protocol.loop.window_plan import (
    check_source,
    check_topic_ids,
    new_starts,
)


class NextWindow(Value, frozen=True):
    """The ranges that an owner would plan now, and from which offsets.

    `starts` are the first offsets of partitions that were never read.
    """

    watermarks: dict[TopicPartition, int]
    starts: dict[TopicPartition, int]
    ranges: tuple[OffsetRange, ...]


def judge_feed(feed: FeedSpec, state: FeedState, available: Available) -> GapFound | None:
    """Raise what would stop an owner: at its claim, or when it plans.

    Returns a gap that the owner would accept because the configuration says so. A feed that never
    ran is bound to nothing yet. The last records that were read are not compared.
    """
    check_format(feed.name, feed.format, state)
    check_topic_ids(available)
    if state.is_new:
        return None
    bound = feed.still_wanted(state.topics)
    try:
        check_source(state.cluster_id, bound, state.watermarks(), available)
    except GapFound as gap:
        if feed.on_gap != "accept":
            raise
        return gap
    return None


def next_window(
    feed: FeedSpec, state: FeedState, available: Available, source: LooksAtTopics
) -> NextWindow:
    """The next window of a feed that `judge_feed` let pass; accepted gaps count as passed.

    It is the one that a run would begin with: then nothing has to wait for its age.
    Raises what would stop an owner at the first offsets: a start that has expired is a gap.
    """
    watermarks = state.watermarks()
    starts = StartOffsets(feed, source, lambda: not state.topics)
    begun = {
        start.place: start.offset
        for start in new_starts(state.topics, watermarks, available, starts.of)
    }
    if feed.on_gap != "accept":
        check_source(available.cluster_id, {}, begun, available)
    from_here = _past_gaps({**watermarks, **begun}, available)
    choose = paces_of(feed, lambda: 0.0).choose
    policies, sizes = window_policies(feed), sizes_in(state)
    ranges = plan_window(policies, sizes, from_here, available, choose, state.windows)
    return NextWindow(watermarks, begun, ranges)


def _past_gaps(
    watermarks: dict[TopicPartition, int], available: Available
) -> dict[TopicPartition, int]:
    """The offsets to read from once accepted gaps are behind."""
    earliest = {
        TopicPartition(topic.topic_id, partition): offsets.earliest
        for topic in available.topics
        for partition, offsets in topic.partitions.items()
    }
    return {place: max(offset, earliest.get(place, 0)) for place, offset in watermarks.items()}
