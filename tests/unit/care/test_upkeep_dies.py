"""Retention and completeness that die at any of their requests, and a feed that goes on.

Goal: no row that stays is lost or doubled, no row that goes comes back, and marks have no hole,
whatever the death left. Method: the store dies before and after every request that changes
something; records come meanwhile, the next owner delivers them, and the act is done again.
"""

import json
from collections.abc import Callable

import msgspec
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.care.finalize import finalize_to
from penstock.care.retire import days_before, retire_days
from penstock.care.seek import Approval
from penstock.model.final_days import Frontier
from penstock.model.spec import TimeSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.parallel import in_this_process
from penstock.testing.fault_script import Died
from penstock.testing.memory_store import Shelf
from tests.helpers.dying_store import DyingStore
from tests.helpers.list_story import FEED, TOPIC, Story, places

DATED = msgspec.structs.replace(FEED, time=TimeSpec(field="at"))
DAYS = [f"2026-11-0{number}" for number in range(1, 5)]
BEFORE = DAYS[2]
OLD = [f"feed/{name}/day={day}" for name in ("a", "b") for day in DAYS[:2]]

Act = Callable[[Story], None]


def records(partition: int, story: Story) -> None:
    """One record of each day, of a dataset for each partition."""
    kind = "ab"[partition]
    every = [json.dumps({"type": kind, "at": f"{day}T07:30:00Z"}).encode() for day in DAYS]
    story.cluster.append(TOPIC, partition, *every)


def begun(story: Story) -> Story:
    for partition in (0, 1):
        records(partition, story)
    assert story.run_once(DATED) == 0
    return story


def retire(story: Story) -> None:
    journal, why = story.journal(), Approval("me", "past retention")
    list(retire_days(journal, story.clock.around(), days_before(journal, BEFORE), why))


def finalize(story: Story) -> None:
    list(finalize_to(story.journal(), story.clock.around(), Frontier(BEFORE), "me"))


def deaths_of(act: Act) -> tuple[Shelf, int]:
    """A lake as it lies there, and how many requests of the act change something."""
    story = Story()
    story.store = store = DyingStore()
    begun(story)
    shelf = store.shelf
    story.store = whole = DyingStore(shelf)
    act(story)
    return shelf, whole.changes


def directories(story: Story, ending: str) -> list[str]:
    return sorted(
        {key.rpartition("/")[0] for key in list_keys(story.store, "feed/") if key.endswith(ending)}
    )


def assert_audited(story: Story) -> None:
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    assert deep_audit(story.journal(), DeepSpec(), tools).differences == ()


def died(act: Act, shelf: Shelf, last: int, *, after: bool) -> Story:
    """A story in which the act has died; what it left lies in a store that works."""
    story = begun(Story())
    story.store = store = DyingStore(shelf, last, after=after)
    with pytest.raises(Died):
        act(story)
    story.store = DyingStore(store.shelf)
    return story


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
def test_a_retirement_that_dies_anywhere_removes_old_days_and_nothing_else(after: bool) -> None:
    shelf, deaths = deaths_of(retire)
    assert deaths > 8
    for last in range(1, deaths + 1):
        story = died(retire, shelf, last, after=after)
        assert places(0, 2, 3) + places(1, 2, 3) <= story.delivered(), "what stays is there"
        records(0, story)
        assert story.run_once(DATED) == 0
        assert_audited(story)
        retire(story)
        assert story.run_once(DATED) == 0, "a command does not finish what another one decided"
        assert story.delivered() == places(0, 2, 3, 6, 7) + places(1, 2, 3)
        assert not set(OLD) & set(directories(story, ".parquet"))
        assert_audited(story)


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
def test_completeness_that_dies_anywhere_leaves_no_hole(after: bool) -> None:
    shelf, deaths = deaths_of(finalize)
    assert deaths > 4
    for last in range(1, deaths + 1):
        story = died(finalize, shelf, last, after=after)
        for name in ("a", "b"):
            marked = [each for each in directories(story, "_SUCCESS") if f"/{name}/" in each]
            mine = [each for each in OLD if f"/{name}/" in each]
            assert marked == mine[: len(marked)], "the oldest first"
        records(0, story)
        assert story.run_once(DATED) == 0
        finalize(story)
        assert directories(story, "_SUCCESS") == OLD
        assert story.delivered() == places(0, *range(8)) + places(1, *range(4))
        assert_audited(story)
