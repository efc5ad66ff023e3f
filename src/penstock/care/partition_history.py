"""What the journal remembers of each partition: its first offset, and who covered it last.

Both stand near an end of the journal as a rule, so each is looked for from that end and the search
stops when nothing is left to find. Reads only.
"""

from penstock.model.entries import Rebind, Start, Window
from penstock.model.ranges import TopicPartition
from penstock.protocol.journal.journal import Journal
from penstock.protocol.journal.state import JournalState


def first_offsets(journal: Journal, state: JournalState) -> dict[TopicPartition, int]:
    """The offset that each partition of the topics as bound now was started at."""
    missing = set(state.watermarks())
    found: dict[TopicPartition, int] = {}
    for number in range(state.number + 1):
        if not missing:
            break
        body = journal.require(number).body
        if isinstance(body, Start | Rebind):
            for start in body.partitions:
                if start.place in missing:
                    missing.discard(start.place)
                    found[start.place] = start.offset
    return found


def last_windows(journal: Journal, state: JournalState) -> dict[TopicPartition, str]:
    """The window that covered each partition last; those that none has covered are absent."""
    missing = {
        place
        for place in state.watermarks()
        if state.partitions[place.topic_id][place.partition].floor > 0
    }
    found: dict[TopicPartition, str] = {}
    for number in range(state.number, -1, -1):
        if not missing:
            break
        body = journal.require(number).body
        if isinstance(body, Window):
            for covered in body.ranges:
                if covered.place in missing:
                    missing.discard(covered.place)
                    found[covered.place] = body.window
    return found
