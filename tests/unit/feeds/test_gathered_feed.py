"""A feed of many Kafka partitions writes files by volume, and every record can still be found.

Goal: files over several ranges go through kill, loss, replay, audit and `where` like any other.
Method: a feed whose records are a list in memory, with more partitions than its files need.
"""

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.shallow import audit
from penstock.care.replay_feed import ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.model.entries import Replace, Window
from penstock.model.names import FileName, parse_name
from penstock.model.record_position import Position
from penstock.model.spec import DatasetSpec, FeedSpec, FilesSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.loop.owner import Owner
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.status.where_file import where_file
from penstock.status.where_record import RecordSearch
from penstock.testing.fault_script import Died
from tests.helpers.list_story import FEED, TORN, Place, Story

TOPIC = "events"
PARTITIONS, EACH = 30, 20
MANY = msgspec.structs.replace(FEED, window=WindowSpec(max_records=100_000))
BY_PARTITION = msgspec.structs.replace(MANY, files=FilesSpec(gather="partition"))
STAGING = "_penstock/feed/staging"


def one_by_one(acts: Sequence[Callable[[], None]]) -> None:
    for act in acts:
        act()


@pytest.fixture
def story() -> Story:
    made = Story()
    made.cluster.delete_topic(TOPIC)
    made.cluster.create_topic(TOPIC, PARTITIONS)
    fill(made, EACH)
    return made


def fill(story: Story, count: int) -> None:
    """Clicks and orders in every partition, and one torn record in each."""
    for partition in range(PARTITIONS):
        events = [
            json.dumps({"type": kind, "n": n}).encode()
            for n in range(count // 2)
            for kind in ("click", "order")
        ]
        story.cluster.append(TOPIC, partition, *events, TORN)


def every(offsets: Iterator[int] | range) -> Counter[Place]:
    return Counter((p, o) for o in offsets for p in range(PARTITIONS))


def data_files(story: Story) -> list[str]:
    return [key for key in list_keys(story.store, "feed") if key.endswith(".parquet")]


def tools() -> DeepTools:
    return DeepTools(in_this_process, None, lambda: 0.0)


def assert_proven(story: Story) -> None:
    assert audit(story.journal()).differences == ()
    receipt = deep_audit(story.journal(), DeepSpec(), tools())
    assert receipt.differences == ()
    assert receipt.datasets == {"click": PARTITIONS * EACH // 2, "order": PARTITIONS * EACH // 2}


def test_files_grow_with_volume_and_not_with_partitions(story: Story) -> None:
    assert story.run_once(MANY) == 0
    assert story.delivered() == every(range(EACH))
    assert story.quarantined() == every(range(EACH, EACH + 1))
    assert len(data_files(story)) == 2, "one file of each type"
    for key in data_files(story):
        assert parse_name(key) is not None
        assert f"0_events_0..{PARTITIONS - 1}_g0_1-1." in key
        table = pq.read_table(io.BytesIO(story.store.read(key) or b""))
        assert positions(table) == sorted(positions(table))
    (window,) = story.entries(Window)
    assert window.file_plan.groups == (PARTITIONS,)
    assert (window.file_plan.format, window.file_plan.compression) == ("parquet", "zstd")
    assert_proven(story)


def test_by_partition_every_kafka_partition_has_files_of_its_own(story: Story) -> None:
    assert story.run_once(BY_PARTITION) == 0
    assert len(data_files(story)) == 2 * PARTITIONS
    assert all(isinstance(parse_name(key), FileName) for key in data_files(story))
    assert_proven(story)


def test_files_above_the_target_are_cut_at_an_offset(story: Story) -> None:
    """Sizes are guessed before the first window; the cuts stand in its entry all the same."""
    whole = PARTITIONS * (EACH + 1) * 500
    small = msgspec.structs.replace(MANY, files=FilesSpec(target_bytes=whole // 4))
    assert story.run_once(small) == 0
    (window,) = story.entries(Window)
    assert len(window.file_plan.cuts) == 3
    assert len(data_files(story)) == 2 * 4
    assert_proven(story)


@pytest.mark.parametrize("cores", [1, 64])
@pytest.mark.parametrize("feed", [MANY, BY_PARTITION], ids=["gathers", "by partition"])
def test_lost_groups_are_derived_again_on_other_cores_and_by_another_policy(
    story: Story, cores: int, feed: FeedSpec
) -> None:
    small = msgspec.structs.replace(MANY, files=FilesSpec(target_bytes=80_000))
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once(small)
    for each in list(story.store.list_staged(STAGING, ())):
        story.store.discard(each)
    (window,) = story.entries(Window)
    planned = {file.handle.final for file in story.journal().content_of(window).files}
    story.cluster.cores = cores
    other = msgspec.structs.replace(feed, compression="snappy")
    assert story.run_once(other) == 0, "files are compressed as their entry says"
    assert story.entries(Replace)
    assert set(data_files(story)) <= planned
    assert story.delivered() == every(range(EACH))
    assert story.quarantined() == every(range(EACH, EACH + 1))
    assert_proven(story)


def test_only_groups_with_a_lost_file_are_read_again(story: Story) -> None:
    assert story.run_once(BY_PARTITION) == 0
    fill(story, 0)
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once(BY_PARTITION)
    lost = sorted(story.store.list_staged(STAGING, ()), key=lambda each: each.place)[:2]
    for each in lost:
        story.store.discard(each)
    before = len(story.cluster.reads)
    assert story.run_once(BY_PARTITION) == 0
    assert sum(len(request.ranges) for request in story.cluster.reads[before:]) == len(lost)
    assert_proven(story)


def test_where_finds_each_record_in_a_shared_file_and_the_ranges_of_the_file(story: Story) -> None:
    assert story.run_once(MANY) == 0
    journal = story.journal()
    state = journal.open().state
    search = EntrySearch(journal, state.number, one_by_one)
    for partition, offset in ((0, 0), (7, 3), (PARTITIONS - 1, EACH - 1)):
        (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, partition, offset))
        assert answer.fate == "delivered"
        (place,) = answer.rows
        table = pq.read_table(io.BytesIO(story.store.read(place.file) or b""))
        assert place.row is not None
        row = table.slice(place.row, 1).to_pylist()[0]
        assert (row["_partition"], row["_offset"]) == (partition, offset)
        found = where_file(journal, state, search, place.file)
        assert found is not None
        assert [each.partition for each in found.ranges] == list(range(PARTITIONS))
    (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, 11, EACH))
    assert answer.fate == "quarantined"


def test_a_replay_takes_from_a_shared_quarantine_file_what_is_of_each_partition(
    story: Story,
) -> None:
    """The torn records of all partitions have one offset: they must not be mistaken."""
    only = (DatasetSpec("order"),)
    strict = msgspec.structs.replace(MANY, unknown="quarantine", datasets=only)
    assert story.run_once(strict) == 0
    assert len(story.quarantined()) == PARTITIONS * (EACH // 2 + 1)
    journal = story.journal()

    @contextmanager
    def open_parallel() -> Iterator[ParallelMap]:
        yield in_this_process

    replaying = ReplayTools(
        MANY,
        story.clock.around(),
        lambda: Learning(story.store, journal.layout, MANY, None),
        open_parallel,
    )
    done = replay_feed(journal, journal.open(deep=True), ReplayRequest("ann"), replaying)
    assert done.delivered == PARTITIONS * EACH // 2
    assert story.run_once(MANY) == 0
    assert story.delivered() == every(range(EACH))
    assert deep_audit(story.journal(), DeepSpec(), tools()).differences == ()


def test_a_changed_row_in_a_shared_file_is_told_by_its_offsets(story: Story) -> None:
    assert story.run_once(MANY) == 0
    key = next(each for each in data_files(story) if "/click/" in each)
    table = pq.read_table(io.BytesIO(story.store.read(key) or b""))
    kept = table.filter([not (p == 9 and o == 4) for p, o in positions(table)])
    raw = io.BytesIO()
    pq.write_table(kept.replace_schema_metadata(table.schema.metadata), raw)
    story.store.delete(key)
    assert story.store.create(key, raw.getvalue())
    found = deep_audit(story.journal(), DeepSpec(), tools()).differences
    offsets = [part for each in found for part in each.offsets]
    assert [(part.topic, part.partition, part.runs) for part in offsets] == [(TOPIC, 9, ((4, 5),))]


def positions(table: Any) -> list[Place]:
    return list(zip(table["_partition"].to_pylist(), table["_offset"].to_pylist(), strict=True))
