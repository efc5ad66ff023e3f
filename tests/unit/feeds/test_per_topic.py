"""`per_topic`, `max_rate`, learned sizes, costs and kept values in runs of a whole feed.

Method: a feed whose records are lists, on a clock that tests move.
"""

import itertools
import json
from collections import Counter

import msgspec
import pytest

from penstock.api.source import MOST_KEPT
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.next_window import next_window
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.entries import Window
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec, TopicSpec, WindowSpec
from penstock.model.window_cost import NO_DATASET, Spent
from penstock.testing.list_source import ListCluster, ListSource, die
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events, places

BIG = WindowSpec(every_s=300.0, max_records=1_000)
PATTERN = msgspec.structs.replace(
    FEED,
    topics=(),
    pattern="logs\\..*",
    window=WindowSpec(every_s=10.0, max_records=1_000),
    per_topic=(TopicSpec("logs.big", BIG),),
)


def run_for(story: Story, feed: FeedSpec, seconds: float, each_s: dict[str, int]) -> list[Event]:
    """`penstock run` while so many records a second come to topics."""
    said: list[Event] = []
    around = story.clock.around()
    until = story.clock.tick_s + seconds
    came = story.clock.tick_s

    def is_over() -> bool:
        nonlocal came
        for topic, count in each_s.items():
            story.cluster.append(topic, 0, *events("click", count * int(story.clock.tick_s - came)))
        came += int(story.clock.tick_s - came)
        return story.clock.tick_s >= until

    tools = FeedTools(lambda spec: ListSource(spec, story.cluster), story.store, around)
    assert Runner((feed,), tools, said.append, is_over, RunSpec(take_over=True)).run() == 0
    return said


def topics_of(window: Window) -> set[str]:
    return {each.topic for each in window.ranges}


def test_topics_are_cut_by_their_own_policies_and_nothing_else_changes() -> None:
    story = Story()
    for topic in ("logs.big", "logs.small"):
        story.cluster.create_topic(topic)
        story.cluster.append(topic, 0, *events("click", 1))
    run_for(story, PATTERN, 700.0, {"logs.big": 1, "logs.small": 1})
    windows = story.entries(Window)
    with_big = [each for each in windows if "logs.big" in topics_of(each)]
    with_small = [each for each in windows if "logs.small" in topics_of(each)]
    assert len(with_big) == 3, "at the start, and every five minutes"
    assert len(with_small) > 50
    assert story.run_once(PATTERN) == 0
    assert story.delivered() == Counter(
        [(0, offset) for topic in ("logs.big", "logs.small")
         for offset in range(len(story.cluster.log(topic, 0).records))]
    )  # fmt: skip


def test_check_plans_the_window_with_which_a_run_would_begin() -> None:
    story = Story()
    for topic, count in (("logs.big", 2_000), ("logs.small", 7)):
        story.cluster.create_topic(topic)
        story.cluster.append(topic, 0, *events("click", count))
    tight = msgspec.structs.replace(
        PATTERN, per_topic=(TopicSpec("logs.big", WindowSpec(max_records=100)),)
    )
    source = ListSource(tight, story.cluster)
    state = story.journal().empty_fold().state
    found = next_window(tight, state, source.look(), source)
    assert story.run_once(tight) == 0
    assert story.entries(Window)[0].ranges == found.ranges
    assert {each.topic: len(each) for each in found.ranges} == {"logs.big": 100, "logs.small": 7}


def test_once_delivers_all_of_a_backlog_within_its_rate() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 100))
    slow = msgspec.structs.replace(
        FEED, window=WindowSpec(every_s=5.0, max_records=1_000, max_rate=4)
    )
    began = story.clock.tick_s
    assert story.run_once(slow) == 0
    assert story.delivered() == places(0, *range(100))
    assert [each.counts.read for each in story.entries(Window)] == [20] * 5
    assert story.clock.tick_s - began >= 20, "100 records at 4 a second, the first 20 at once"


def test_the_entry_of_a_window_says_what_each_dataset_and_topic_took() -> None:
    story = Story()
    payloads = [*events("click", 3), *events("view", 2), TORN]
    story.cluster.append(TOPIC, 0, *payloads)
    assert story.run_once() == 0
    (window,) = story.entries(Window)
    assert window.cost is not None
    sizes = [len(each) for each in payloads if isinstance(each, bytes)]
    found = {each.name: each for each in window.cost.datasets}
    assert {name: each.records for name, each in found.items()} == {
        NO_DATASET: 1, QUARANTINE: 0, "click": 3, "view": 2,
    }  # fmt: skip
    assert found["click"].read_bytes == sum(sizes[:3])
    assert found[NO_DATASET].read_bytes == sizes[5]
    assert window.counts.read_bytes == sum(sizes), "there is one measure"
    groups = {group.dataset: group for group in window.groups}
    for name, group in groups.items():
        mine = found[name]
        assert (mine.files, mine.written_bytes) == (group.files, group.size_bytes)
        assert (mine.rows, mine.requests) == (group.rows, 2 * group.files)
    assert found[NO_DATASET].requests == 3
    assert all(found[name].task_us > 0 for name in ("click", "view"))
    by_topic = {each.name: each for each in window.cost.topics}
    assert set(by_topic) == {"", TOPIC}
    whole = [sum(parts, Spent("")) for parts in (window.cost.datasets, window.cost.topics)]
    assert abs(whole[0].task_us - whole[1].task_us) <= len(found), "rounded"
    zero = [msgspec.structs.replace(each, task_us=0) for each in whole]
    assert zero[0] == zero[1]


def test_records_that_are_spread_are_planned_by_the_size_of_the_record() -> None:
    """Goal: `max_bytes` holds where a record is many rows. Method: arrays of ten events of two
    types; a limit of three records and a half."""
    story = Story()
    parts = [*events("click", 5), *events("view", 5)]
    array = b"[" + b",".join(each for each in parts if isinstance(each, bytes)) + b"]"
    limit = WindowSpec(max_records=1_000, max_bytes=int(3.5 * len(array)))
    decode = msgspec.structs.replace(FEED.decode, spread=True)
    feed = msgspec.structs.replace(FEED, window=limit, decode=decode)
    story.cluster.append(TOPIC, 0, array)
    assert story.run_once(feed) == 0
    story.cluster.append(TOPIC, 0, *([array] * 9))
    assert story.run_once(feed) == 0
    windows = story.entries(Window)
    assert [each.counts.read for each in windows] == [1, 3, 3, 3]
    for each in windows:
        assert each.cost is not None
        found = sum(each.cost.topics, Spent(""))
        assert (found.records, found.rows) == (each.counts.read, 10 * each.counts.read)
        assert found.read_bytes == len(array) * each.counts.read


def test_seconds_of_reads_that_were_repeated_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goal: what learning takes is not free. Method: the first window meets a new type, and its
    tasks run twice; those of a later one run once, on as many records. Every look at the clock
    of a task takes a second."""
    seconds = itertools.count()
    monkeypatch.setattr("penstock.datapath.stage.task.worker_tick", lambda: float(next(seconds)))
    story = Story()
    for _ in range(2):
        story.cluster.append(TOPIC, 0, *events("click", 5))
        assert story.run_once() == 0
    assert len(story.cluster.reads) == 3
    costs = [each.cost for each in story.entries(Window)]
    assert [sum(each.records for each in cost.topics) for cost in costs] == [5, 5]
    first, second = (sum(each.task_us for each in cost.topics) for cost in costs)
    assert first > second > 1_000_000


def test_only_a_decided_window_teaches_anything() -> None:
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 8))
    assert story.run_once() == 0
    before = story.journal().open().state
    story.cluster.append(TOPIC, 0, json.dumps({"type": "click", "text": "x" * 500}).encode())
    for _ in range(3):
        story.cluster.on_read("middle", die)
        story.cluster.on_read("middle", die, nth=2)
        story.cluster.on_read("middle", die, nth=3)
        assert story.run_once() != 0
    after = story.journal().open().state
    assert (after.learned, after.learned_datasets, after.spent_topics) == (
        before.learned,
        before.learned_datasets,
        before.spent_topics,
    )
    assert story.run_once() == 0
    grown = story.journal().open().state
    assert grown.learned_topics[TOPIC].record_bytes > before.learned_topics[TOPIC].record_bytes
    assert grown.learned.windows == pytest.approx(1.5)
    assert (grown.costed_windows, grown.windows) == (2, 2)


class Remembering(ListSource):
    """A source that keeps how many windows it has read, and what it was told at its claim."""

    told: list[str]

    def __init__(self, feed: FeedSpec, cluster: ListCluster) -> None:
        super().__init__(feed, cluster)
        self._count = 0

    def recall(self, kept: str) -> None:
        self.told.append(kept)
        self._count = int(kept or 0)

    def to_keep(self, ranges: tuple[OffsetRange, ...]) -> str:
        self._count += 1
        return str(self._count)


class Boastful(Remembering):
    """A source that wants to keep more than there is room for."""

    def to_keep(self, ranges: tuple[OffsetRange, ...]) -> str:
        return "x" * (MOST_KEPT + 1)


def test_a_source_gets_back_what_it_kept_with_the_last_decided_window() -> None:
    Remembering.told = []
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 12))
    assert story.run_once(FEED, Remembering) == 0
    assert [each.kept for each in story.entries(Window)] == [{"source": "1"}, {"source": "2"}]
    story.cluster.append(TOPIC, 0, *events("click", 1))
    for nth in (1, 2, 3):
        story.cluster.on_read("after", die, nth=nth)
    assert story.run_once(FEED, Remembering) != 0
    assert story.run_once(FEED, Remembering) == 0
    assert Remembering.told == ["", "2", "2"]
    assert story.journal().open().state.kept == {"source": "3"}


def test_what_is_too_long_to_be_kept_stops_the_window_and_shows_nothing() -> None:
    Remembering.told = []
    story = Story()
    story.cluster.append(TOPIC, 0, *events("click", 1))
    assert story.run_once(FEED, Boastful) == 1
    assert "KEPT_VALUE_WRONG: The source 'list' wants to keep 4,097 characters" in story.said[-1]
    assert (story.delivered(), story.entries(Window)) == (Counter(), [])
