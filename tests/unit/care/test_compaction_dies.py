"""A compaction that dies at any of its requests, and the next owner or the next command.

Goal: no row is lost or doubled, whatever the death left. Method: the store dies before and after
every request that changes something; the feed runs again, and is compacted again. What lies there
is read by pyarrow alone, and the audit has to balance.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.care.compact_feed import CompactionTools, compact_directories
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.feed_plan import planned
from penstock.model.entries import Compact
from penstock.model.names import CompactedName, parse_name
from penstock.model.spec import WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.testing.fault_script import Died
from penstock.testing.memory_store import Shelf
from tests.helpers.dying_store import DyingStore
from tests.helpers.list_story import FEED, TOPIC, Story, events, places

SMALL = msgspec.structs.replace(FEED, window=WindowSpec(max_records=4))
EXPECTED = places(0, *range(12)) + places(1, *range(8))


def compact(story: Story) -> None:
    @contextmanager
    def opened() -> Iterator[ParallelMap]:
        yield in_this_process

    journal, policy = story.journal(), CompactionPolicy(min_files=2)
    fold = journal.open(deep=True)
    tools = CompactionTools(SMALL, story.clock.around(), "ann", policy, opened)
    list(compact_directories(journal, fold, list(planned(journal, fold, policy)), tools))


def data_files(story: Story) -> list[str]:
    return [key for key in list_keys(story.store, "feed/") if key.endswith(".parquet")]


def assert_audited(story: Story) -> None:
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    receipt = deep_audit(story.journal(), DeepSpec(), tools)
    assert receipt.differences == ()


def assert_proven(story: Story) -> None:
    assert_audited(story)
    assert story.delivered() == EXPECTED


@pytest.fixture(scope="module")
def before() -> tuple[Story, Shelf]:
    """A lake with two datasets of many small files, as it lies there."""
    story = Story()
    story.store = store = DyingStore()
    story.cluster.append(TOPIC, 0, *events("click", 12))
    story.cluster.append(TOPIC, 1, *events("order", 8))
    assert story.run_once(SMALL) == 0
    return story, store.shelf


def changes_of_all(before: tuple[Story, Shelf]) -> int:
    """How many requests of a compaction that goes well change something."""
    story, shelf = before
    story.store = store = DyingStore(shelf)
    compact(story)
    assert all(isinstance(parse_name(key), CompactedName) for key in data_files(story))
    assert_proven(story)
    return store.changes


@pytest.mark.parametrize("after", [False, True], ids=["before it", "after it"])
@pytest.mark.parametrize("then", ["an owner", "a command"])
def test_a_death_at_any_request_loses_and_doubles_nothing(
    before: tuple[Story, Shelf], then: str, after: bool
) -> None:
    """A command does not finish what another one has decided; the next owner does."""
    story, shelf = before
    deaths = changes_of_all(before)
    assert deaths > 20
    seen = set()
    for last in range(1, deaths + 1):
        story.store = store = DyingStore(shelf, last, after=after)
        with pytest.raises(Died):
            compact(story)
        story.store = DyingStore(store.shelf)
        decided = len(story.entries(Compact))
        seen.add((decided, len(data_files(story))))
        if then == "a command":
            compact(story)
            assert_audited(story)
        assert story.run_once(SMALL) == 0
        assert_proven(story)
        compact(story)
        assert_proven(story)
        assert all(isinstance(parse_name(key), CompactedName) for key in data_files(story))
    # Decided and not shown; shown, with all inputs; some of them gone.
    assert {count for decided, count in seen if decided == 1} >= {8, 9, 7}
