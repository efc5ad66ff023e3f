"""Topics with window policies of their own: which ranges a window gets."""

from collections.abc import Mapping, Sequence

from penstock.model.ranges import TopicPartition
from penstock.model.window import Available, PartitionOffsets, TopicOffsets
from penstock.protocol.loop.topic_plan import (
    SHARED,
    RecordSizes,
    WaitingPart,
    WindowPolicies,
    fitting,
    plan_window,
)
from penstock.protocol.loop.window_plan import FIRST_RECORDS, WindowPolicy, waiting_ranges


def topics(**latest: int) -> Available:
    """Topics of one partition each, which end at these offsets."""
    found = (
        TopicOffsets(name, f"id-{name}", {0: PartitionOffsets(0, end)})
        for name, end in sorted(latest.items())
    )
    return Available("c", tuple(found))


def from_zero(available: Available) -> dict[TopicPartition, int]:
    return {TopicPartition(topic.topic_id, 0): 0 for topic in available.topics}


def everything(waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
    return {each.part: each.cap for each in waiting if each.records}


def only(*parts: str) -> "Choose":
    return Choose(parts)


class Choose:
    """Takes some parts, in this order, and remembers what it was asked."""

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts = parts
        self.asked: dict[str, WaitingPart] = {}

    def __call__(self, waiting: Sequence[WaitingPart]) -> Mapping[str, int]:
        self.asked = {each.part: each for each in waiting}
        return {part: self.asked[part].cap for part in self.parts}


KNOWN = RecordSizes(100.0)


def planned(
    policies: WindowPolicies,
    available: Available,
    choose: Choose,
    sizes: RecordSizes = KNOWN,
) -> dict[str, int]:
    ranges = plan_window(policies, sizes, from_zero(available), available, choose)
    assert all(each.start == 0 for each in ranges)
    return {each.topic: len(each) for each in ranges}


POLICIES = WindowPolicies(WindowPolicy(100), {"big": WindowPolicy(30)})


def test_a_window_holds_the_topics_that_are_due_and_no_others() -> None:
    available = topics(a=10, b=10, big=500)
    assert planned(POLICIES, available, only(SHARED)) == {"a": 10, "b": 10}
    assert planned(POLICIES, available, only("big")) == {"big": 30}
    assert planned(POLICIES, available, only(SHARED, "big")) == {"a": 10, "b": 10, "big": 30}
    assert planned(POLICIES, available, only()) == {}


def test_every_part_is_asked_about_also_where_nothing_waits() -> None:
    choose = only()
    planned(POLICIES, topics(a=3), choose)
    assert choose.asked == {SHARED: WaitingPart("", 3, 100), "big": WaitingPart("big", 0, 30)}


def test_the_feeds_own_policy_bounds_the_whole_window_and_the_first_parts_win() -> None:
    policies = WindowPolicies(WindowPolicy(100), {"big": WindowPolicy(80)})
    available = topics(a=500, big=500)
    assert planned(policies, available, only("big", SHARED)) == {"big": 80, "a": 20}
    assert planned(policies, available, only(SHARED, "big")) == {"a": 100}


def test_bytes_are_bounded_over_all_parts_by_the_sizes_of_their_topics() -> None:
    policies = WindowPolicies(WindowPolicy(10**6, 10_000), {"big": WindowPolicy(10**6, 8_000)})
    sizes = RecordSizes(10.0, {"a": 10.0, "big": 1_000.0})
    available = topics(a=10**6, big=10**6)
    assert planned(policies, available, only("big", SHARED), sizes) == {"big": 8, "a": 200}
    assert planned(policies, available, only(SHARED, "big"), sizes) == {"a": 1_000}


def test_the_first_window_is_small_whatever_the_number_of_policies() -> None:
    policies = WindowPolicies(WindowPolicy(), {"big": WindowPolicy()})
    available = topics(a=10**6, big=10**6)
    found = planned(policies, available, only("big", SHARED), RecordSizes())
    assert found == {"big": FIRST_RECORDS}


def test_records_are_planned_by_the_size_of_their_own_topic() -> None:
    """Goal: a backlog of a topic with large records does not overfill a window. Method: by the mean
    of the feed 50,000 records would fit; by their own sizes, far fewer."""
    sizes = RecordSizes(20.0, {"small": 10.0, "large": 10_000.0})
    policy = WindowPolicy(10**6, 1_000_000)
    available = topics(small=1_000_000, large=200)
    waiting = waiting_ranges(from_zero(available), available)
    cap = fitting(policy, waiting, sizes)
    ranges = plan_window(WindowPolicies(policy), sizes, from_zero(available), available, everything)
    assert sum(map(len, ranges)) == cap
    assert 990_000 < sizes.total(ranges) <= 1_000_000
    assert policy.cap(sizes.feed) == 50_000


def test_a_topic_that_was_never_read_is_expected_to_be_like_the_others() -> None:
    sizes = RecordSizes(100.0, {"a": 10.0})
    assert [sizes.of(name) for name in ("a", "new")] == [10.0, 100.0]
