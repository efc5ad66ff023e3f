"""Directories that one job rewrites: each is decided by itself, whatever happens to the others.

Method: three datasets of a feed whose records are a list in memory; jobs are counted.
"""

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

import pytest

from penstock.care.seek import Approval, rebind
from penstock.datapath.rewrite import merge_files
from penstock.datapath.rewrite.errors import RowsDiffer
from penstock.datapath.rewrite.merge_files import MergeOrder
from penstock.model.entries import Compact, PartitionStart
from penstock.model.envelope import Claim
from penstock.runtime.parallel import in_this_process
from penstock.testing.fault_script import Died
from tests.helpers.compacting import SMALL, assert_proven, compacted, data_files, staged
from tests.helpers.list_story import TOPIC, Story, events, places

KINDS = ("click", "order", "view")


class Jobs:
    """A map that counts its calls, and does something after the first of them."""

    def __init__(self, then: Callable[[], object] = lambda: None) -> None:
        self.sizes: list[int] = []
        self._then = then

    def __call__(
        self, what: str, work: Callable[[Any], Any], items: Sequence[Any], weight: Any, /
    ) -> list[Any]:
        self.sizes.append(len(items))
        found = in_this_process(what, work, items, weight)
        if len(self.sizes) == 1:
            self._then()
        return found


@pytest.fixture
def story() -> Story:
    made = Story()
    for partition in (0, 1):
        for number in range(9):
            made.cluster.append(TOPIC, partition, *events(KINDS[number % 3], 3))
    assert made.run_once(SMALL) == 0
    return made


def everything() -> Any:
    return places(0, *range(27)) + places(1, *range(27))


def test_one_job_rewrites_several_directories_and_each_has_its_entry(story: Story) -> None:
    jobs = Jobs()
    done = compacted(story, SMALL, parallel=jobs, files_of_job=64)
    assert jobs.sizes == [3]
    assert [each.refused for each in done] == [None] * 3
    assert [each.groups[0].dataset for each in story.entries(Compact)] == list(KINDS)
    assert len(data_files(story)) == 3
    assert staged(story) == []
    assert story.delivered() == everything()
    assert_proven(story)


def test_a_job_has_a_limited_number_of_files(story: Story) -> None:
    jobs = Jobs()
    assert len(compacted(story, SMALL, parallel=jobs, files_of_job=2)) == 3
    assert jobs.sizes == [2, 1]
    assert_proven(story)


def test_what_fails_in_one_directory_is_tried_alone_and_harms_no_other(story: Story) -> None:
    right = merge_files._prove

    def wrong(order: MergeOrder, *sums: Any) -> None:
        right(order, *sums)
        if order.dataset == "order":
            raise RowsDiffer(order.final, "for a test")

    jobs = Jobs()
    with patch.object(merge_files, "_prove", wrong), pytest.raises(RowsDiffer):
        compacted(story, SMALL, parallel=jobs, files_of_job=64)
    assert jobs.sizes == [3, 1, 1, 1]
    assert [each.groups[0].dataset for each in story.entries(Compact)] == ["click", "view"]
    assert staged(story) == []
    assert story.delivered() == everything()
    assert_proven(story)


def test_an_owner_that_claims_meanwhile_makes_them_anew(story: Story) -> None:
    """What was staged in an epoch that is over may be cleaned away: it is never decided."""
    claims = len(story.entries(Claim))
    jobs = Jobs(then=lambda: story.run_once(SMALL))
    done = compacted(story, SMALL, parallel=jobs, files_of_job=64)
    assert len(story.entries(Claim)) == claims + 1
    assert jobs.sizes == [3, 1, 1, 1]
    assert [each.refused for each in done] == [None] * 3
    assert staged(story) == []
    assert_proven(story)


def test_inputs_that_another_has_taken_meanwhile_leave_nothing_staged(story: Story) -> None:
    jobs = Jobs(then=lambda: compacted(story, SMALL))
    done = compacted(story, SMALL, parallel=jobs, files_of_job=64)
    assert [each.entry for each in done] == [None] * 3
    assert staged(story) == []
    assert story.delivered() == everything()
    assert_proven(story)


def test_a_death_between_two_of_its_entries_leaves_whole_directories(story: Story) -> None:
    with (
        patch("penstock.care.compact_feed.decide_compaction", side_effect=Died("kill -9")),
        pytest.raises(Died),
    ):
        compacted(story, SMALL, files_of_job=64)
    assert story.run_once(SMALL) == 0
    assert len(compacted(story, SMALL, files_of_job=64)) == 3
    assert story.delivered() == everything()
    assert_proven(story)


def test_two_lives_of_a_topic_have_the_same_positions_and_both_stay(story: Story) -> None:
    """A topic that was made again gives the same offsets again, into the same directories."""
    told = len(story.entries(Claim))
    story.cluster.delete_topic(TOPIC)
    second = story.cluster.create_topic(TOPIC, partitions=2)
    for partition in (0, 1):
        for number in range(9):
            story.cluster.append(TOPIC, partition, *events(KINDS[number % 3], 3))
    journal, around = story.journal(), story.clock.around()
    state = journal.open().state
    starts = tuple(PartitionStart(TOPIC, second, number, 0) for number in (0, 1))
    approval = Approval("ann", "made again")
    rebind(journal, around, TOPIC, state.topics[TOPIC], starts, approval)
    assert story.run_once(SMALL) == 0
    assert len(story.entries(Claim)) > told
    before = story.delivered()
    assert before == everything() + everything()
    assert len(compacted(story, SMALL, files_of_job=64)) == 3
    assert len(data_files(story)) == 3
    assert story.delivered() == before
    (click, *_) = story.entries(Compact)
    (file,) = story.journal().content_of(click).files
    assert {part.topic_id for part in file.ranges} == {state.topics[TOPIC], second}
    assert_proven(story)
