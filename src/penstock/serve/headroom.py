"""How long it takes until records expire that were not read yet. Pure."""

from collections.abc import Iterator

from penstock.protocol.feed_book.feed_lease import Note
from penstock.protocol.feed_book.state import FeedState


def headroom_s(state: FeedState, note: Note, now_s: float) -> float | None:
    """Seconds until the oldest record that waits in Kafka expires by time; the least of all.

    Records that wait are younger than the last one that was read, so this is a lower bound. None:
    no topic has a known retention, or nobody can tell how old the records are that wait.
    """
    return min(_seconds(state, note, now_s), default=None)


def _seconds(state: FeedState, note: Note, now_s: float) -> Iterator[float]:
    for topic, partition, known in state.known_partitions():
        keeps_s = note.retention_s.get(topic)
        latest = note.latest.get(topic, {}).get(partition)
        if keeps_s is None or latest is None:
            continue
        if known.watermark < note.earliest.get(topic, {}).get(partition, 0):
            yield 0.0  # some have expired already
        elif known.watermark >= latest:
            yield keeps_s
        elif known.last_timestamp_ms >= 0:
            yield keeps_s - max(now_s - known.last_timestamp_ms / 1000, 0.0)


def headroom_records(state: FeedState, note: Note) -> int | None:
    """How many offsets lie between the start of the log and the next one to read; the least of all.

    Only partitions in which records wait count. None: in no partition does one, or nobody knows.
    """
    found = []
    for topic, partition, known in state.known_partitions():
        latest = note.latest.get(topic, {}).get(partition)
        earliest = note.earliest.get(topic, {}).get(partition)
        if latest is not None and earliest is not None and known.watermark < latest:
            found.append(max(known.watermark - earliest, 0))
    return min(found, default=None)
