"""Commands that few worlds run: an operator accepts a gap, a new topic, or gives records up."""

from penstock.care.replay import drop, live_records
from penstock.care.seek import Approval, accept_gaps, rebind
from penstock.errors import EntryRefused
from penstock.model.entries import PartitionStart
from penstock.model.ranges import OffsetRange, TopicPartition
from tests.simulator.kafka import TOPIC
from tests.simulator.programs import Program, Room

APPROVAL = Approval("me", "simulated")


def gap_accepter() -> Program:
    """`offsets accept-gap` of all that has expired unread."""

    def run(room: Room) -> str:
        journal = room.journal()
        marks = journal.open().state.watermarks()
        topic_id = room.kafka.topic_id
        lost = []
        for partition, offsets in room.kafka.available().topics[0].partitions.items():
            at = marks.get(TopicPartition(topic_id, partition))
            if at is not None and at < offsets.earliest:
                lost.append(OffsetRange(TOPIC, topic_id, partition, at, offsets.earliest))
        try:
            accept_gaps(journal, lost, APPROVAL)
        except EntryRefused as error:
            return f"refused: {error.why}"
        return f"gave up {len(lost)} ranges"

    return run


def rebinder() -> Program:
    """`rebind` to the topic as it is now."""

    def run(room: Room) -> str:
        old_id = room.journal().open().state.topics.get(TOPIC)
        if old_id is None:
            return "never read"
        topic = room.kafka.available().topics[0]
        starts = tuple(
            PartitionStart(TOPIC, topic.topic_id, partition, offsets.earliest)
            for partition, offsets in sorted(topic.partitions.items())
        )
        try:
            rebind(room.journal(), room.around, TOPIC, old_id, starts, APPROVAL)
        except EntryRefused as error:
            return f"refused: {error.why}"
        return "decided"

    return run


def dropper() -> Program:
    """`errors drop` of the whole quarantine."""

    def run(room: Room) -> str:
        journal = room.journal()
        records = live_records(journal.open(deep=True))
        if not records:
            return "nothing to drop"
        try:
            drop(journal, room.around, records, "me", "simulated")
        except EntryRefused as error:
            return f"refused: {error.why}"
        return "decided"

    return run
