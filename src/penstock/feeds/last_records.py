"""The last record that was delivered of each partition: is it still what the source holds there?

A log that was cut and filled again (an unclean election, a restored broker) keeps its topic id and
its offsets, and holds other records. To read on would mix two histories.
"""

from penstock.api.source import HashesLastRecords
from penstock.feeds.errors import LogRewritten
from penstock.model.ranges import OffsetRange
from penstock.model.window import Available
from penstock.protocol.feed_book.state import FeedState


def check_last_records(state: FeedState, available: Available, source: HashesLastRecords) -> None:
    """Compare them; raises `LogRewritten`. What is expired or compacted away proves nothing."""
    wanted = _to_compare(state, available)
    if not wanted:
        return
    found = source.hashes(tuple(wanted))
    for place, remembered in sorted(wanted.items()):
        if found.get(place, remembered) != remembered:
            raise LogRewritten(place.topic, place.partition, place.start)


def _to_compare(state: FeedState, available: Available) -> dict[OffsetRange, int]:
    """Ranges of one offset, with the hash that its record had."""
    wanted = {}
    for topic in available.topics:
        for partition, known in state.partitions.get(topic.topic_id, {}).items():
            offsets = topic.partitions.get(partition)
            if offsets is not None and offsets.earliest <= known.last_offset < offsets.latest:
                one = OffsetRange(
                    topic.topic,
                    topic.topic_id,
                    partition,
                    known.last_offset,
                    known.last_offset + 1,
                )
                wanted[one] = known.last_hash
    return wanted
