"""A log that was cut and filled again is noticed by the last record that was delivered."""

from collections.abc import Mapping

import msgspec
import pytest

from penstock.feeds.errors import LogRewritten
from penstock.feeds.last_records import check_last_records
from penstock.model.entries import LastRecord
from penstock.model.ranges import OffsetRange
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.feed_book.state import FeedState
from tests.helpers.journals import BEGINNING, a_window, covered, told
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID


def a_state() -> FeedState:
    """Offsets 0 to 2 of partition 0 are delivered; the last one had the hash 77."""
    last = (LastRecord(TOPIC_ID, 0, 2, 77),)
    return told(*BEGINNING, msgspec.structs.replace(a_window(covered(0, 3)), last_records=last))


def kafka(earliest: int, latest: int, topic_id: str = TOPIC_ID) -> Available:
    topic = TopicOffsets(TOPIC, topic_id, {0: PartitionOffsets(earliest, latest)})
    return Available(CLUSTER, (topic,))


class Answering:
    """A source with the same hash everywhere, or with no record at all."""

    def __init__(self, value: int | None) -> None:
        self.asked: list[OffsetRange] = []
        self._value = value

    def hashes(self, ranges: tuple[OffsetRange, ...]) -> Mapping[OffsetRange, int]:
        self.asked.extend(ranges)
        return {} if self._value is None else dict.fromkeys(ranges, self._value)


def test_another_record_in_its_place_stops_the_feed() -> None:
    source = Answering(78)
    with pytest.raises(LogRewritten) as found:
        check_last_records(a_state(), kafka(0, 9), source)
    assert (found.value.partition, found.value.offset, found.value.exit_code) == (0, 2, 5)
    assert source.asked == [covered(2, 3)]


@pytest.mark.parametrize("value", [77, None])
def test_the_same_record_or_one_that_was_compacted_away_is_fine(value: int | None) -> None:
    source = Answering(value)
    check_last_records(a_state(), kafka(0, 9), source)
    assert source.asked


@pytest.mark.parametrize("available", [kafka(3, 9), kafka(0, 2), kafka(0, 9, "another id")])
def test_what_kafka_cannot_hold_any_more_is_not_asked_for(available: Available) -> None:
    source = Answering(78)
    check_last_records(a_state(), available, source)
    assert source.asked == []
