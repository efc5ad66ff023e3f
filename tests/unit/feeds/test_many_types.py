"""More new types in a window than one window may create: the number, the limit, and the way out."""

import json

import msgspec

from penstock.datapath.shape.route.distinct_names import MOST_KEPT, DistinctNames, count_of
from penstock.model.spec import FeedSpec, QuarantineSpec, RouteSpec, WindowSpec
from penstock.protocol.feed_book.halted_objects import read_halted
from tests.helpers.list_story import TOPIC, Story, places

FEED = FeedSpec(
    name="feed",
    topics=(TOPIC,),
    route=RouteSpec("field", "type"),
    window=WindowSpec(max_records=1_000),
    quarantine=QuarantineSpec(max_ratio=0.1, min_records=10),
    max_new_types=10,
)


def a_flood(types: int) -> Story:
    """Every type has two records, one in each partition."""
    story = Story()
    for partition in (0, 1):
        records = [json.dumps({"type": f"t{number}"}).encode() for number in range(types)]
        story.cluster.append(TOPIC, partition, *records)
    return story


def test_a_flood_halts_with_the_number_of_types_and_every_run_learns_as_many_more() -> None:
    story = a_flood(25)
    for new in (25, 15):
        assert story.run_once(FEED) == 5
        journal = story.journal()
        halted = read_halted(journal, journal.open().state)
        assert halted is not None
        assert halted.code == "TOO_MANY_TYPES"
        assert f"{new} new types are in the next window" in halted.sentence
        assert "max_new_types allows 10" in halted.sentence
        assert set(halted.reasons) == {"ROUTE_FLOOD"}
    assert story.run_once(FEED) == 0
    assert story.quarantined() == places(0)
    assert story.delivered() == places(0, *range(25)) + places(1, *range(25))


def test_a_larger_limit_lets_the_flood_through() -> None:
    story = a_flood(25)
    assert story.run_once(FEED) == 5
    assert story.run_once(msgspec.structs.replace(FEED, max_new_types=15)) == 0
    assert story.quarantined() == places(0)


def test_names_are_counted_exactly_while_they_are_few_and_closely_when_they_are_many() -> None:
    tasks = [DistinctNames() for _ in range(4)]
    for number in range(1_000):
        for task in tasks[number % 3 :]:  # most names are met by several tasks, and repeatedly
            task.add(f"type {number}")
            task.add(f"type {number}")
    assert count_of(name for task in tasks for name in task.hashes()) == 1_000
    for number in range(200_000):
        tasks[number % 4].add(f"id {number}")
    hashes = [name for task in tasks for name in task.hashes()]
    assert len(hashes) == 4 * MOST_KEPT
    assert abs(count_of(hashes) - 201_000) < 0.1 * 201_000
