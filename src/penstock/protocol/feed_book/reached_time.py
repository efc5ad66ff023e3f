"""Up to which time the source has been delivered, by its own timestamps. Pure.

A partition has passed a time when a record that is at least so late was decided, or when all that
it had when it was looked at last was decided, and that look was so late: an idle partition gives
no records.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from penstock.model.final_days import Frontier
from penstock.model.spec import FinalizeSpec
from penstock.protocol.feed_book.feed_lease import Note
from penstock.protocol.feed_book.state import FeedState, PartitionState


def reached_s(state: FeedState, seen: Note | None, now_s: float) -> float | None:
    """The time that every partition has passed; None if one of them has not even begun.

    `seen` is what the owner saw of the source last. A topic that was not there then holds nothing
    back: nothing more comes of it.
    """
    passed = [_known_passed_s(state, seen, now_s), _none_if_unread(state, seen)]
    times = [time for each in passed for time in each]
    return None if not times or None in times else min(t for t in times if t is not None)


def _known_passed_s(state: FeedState, seen: Note | None, now_s: float) -> Iterator[float | None]:
    """The time that each partition has passed which was ever read."""
    latest = {} if seen is None else seen.latest
    looked_at = looked_at_s(seen)
    for topic, partition, known in state.known_partitions():
        if looked_at is not None and topic not in latest:
            continue
        end = latest.get(topic, {}).get(partition)
        is_idle = end is not None and known.watermark >= end
        yield _passed_s(known, looked_at if is_idle else None, now_s)


def _passed_s(known: PartitionState, idle_at: float | None, now_s: float) -> float | None:
    times = [] if idle_at is None else [idle_at]
    if known.largest_timestamp_ms >= 0:
        times.append(known.largest_timestamp_ms / 1000)
    return min(max(times), now_s) if times else None


def _none_if_unread(state: FeedState, seen: Note | None) -> Iterator[float | None]:
    """None for each partition that the source has, and that was not read yet."""
    known = {(topic, partition) for topic, partition, _ in state.known_partitions()}
    for topic, partitions in ({} if seen is None else seen.latest).items():
        for partition in partitions:
            if (topic, partition) not in known:
                yield None


def looked_at_s(seen: Note | None) -> float | None:
    """When the owner looked at the source; None if that is not known."""
    try:
        return datetime.fromisoformat(seen.looked_at).timestamp() if seen is not None else None
    except ValueError:
        return None


def frontier_at(reached: float, spec: FinalizeSpec, zone: str) -> Frontier:
    """What is final when every partition has passed a time: what ended `delay` before it."""
    moment = datetime.fromtimestamp(reached, UTC) - timedelta(seconds=spec.delay_s)
    local = moment.astimezone(ZoneInfo(zone))
    return Frontier(
        local.strftime("%Y-%m-%d") if spec.day else "",
        local.strftime("%Y-%m-%dT%H") if spec.hour else "",
    )
