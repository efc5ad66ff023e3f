"""Whatever policies topics have: windows go on where the last one ended, within all limits."""

from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from penstock.model.ranges import OffsetRange, TopicPartition
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.loop.topic_plan import (
    RecordSizes,
    WaitingPart,
    WindowPolicies,
    plan_window,
)
from penstock.protocol.loop.window_plan import WindowPolicy, waiting_ranges

NAMES = st.sampled_from("abcd")
POLICY = st.builds(WindowPolicy, st.integers(1, 40), st.integers(1, 400))
POLICIES = st.builds(WindowPolicies, POLICY, st.dictionaries(NAMES, POLICY, max_size=3))
SIZE = st.floats(0.5, 120.0)
SIZES = st.builds(RecordSizes, SIZE, st.dictionaries(NAMES, SIZE))
ENDS = st.dictionaries(NAMES, st.lists(st.integers(0, 60), min_size=1, max_size=3), min_size=1)


def everything(waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
    return {each.part: each.cap for each in waiting if each.records}


def topics(ends: Mapping[str, Sequence[int]]) -> Available:
    found = (
        TopicOffsets(
            name, f"id-{name}", {at: PartitionOffsets(0, end) for at, end in enumerate(latest)}
        )
        for name, latest in sorted(ends.items())
    )
    return Available("c", tuple(found))


def check_limits(
    policies: WindowPolicies, sizes: RecordSizes, ranges: Sequence[OffsetRange]
) -> None:
    """A part takes at least one record, so bytes may be above their limit by one of each part."""
    taken = Counter[str]()
    for each in ranges:
        taken[policies.part_of(each.topic)] += len(each)
    assert taken.total() <= policies.feed.max_records
    largest = max(sizes.of(each.topic) for each in ranges)
    assert sizes.total(ranges) <= policies.feed.max_bytes + len(taken) * largest
    for part, records in taken.items():
        mine = [each for each in ranges if policies.part_of(each.topic) == part]
        assert records <= policies.of(part).max_records
        assert records == 1 or sizes.total(mine) <= policies.of(part).max_bytes + largest


@given(POLICIES, SIZES, ENDS)
def test_windows_are_within_all_limits_and_together_take_each_record_once(
    policies: WindowPolicies, sizes: RecordSizes, ends: dict[str, list[int]]
) -> None:
    available = topics(ends)
    marks = {
        TopicPartition(topic.topic_id, partition): 0
        for topic in available.topics
        for partition in topic.partitions
    }
    turn = 0
    while waiting_ranges(marks, available):
        ranges = plan_window(policies, sizes, marks, available, everything, turn)
        assert ranges, "what waits is taken"
        check_limits(policies, sizes, ranges)
        for each in ranges:
            place = TopicPartition(each.topic_id, each.partition)
            assert each.start == marks[place]
            assert each.end > each.start
            marks[place] = each.end
        turn += 1
    assert marks == {
        TopicPartition(f"id-{name}", at): end
        for name, latest in ends.items()
        for at, end in enumerate(latest)
    }
