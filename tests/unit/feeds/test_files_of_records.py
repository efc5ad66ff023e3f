"""Feeds whose files hold records as they came: one Kafka partition per file, found and derived.

Method: feeds whose records are a list in memory; their files are read by code that shares nothing
with ours.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import msgspec
import pytest

from penstock.audit.shallow import audit
from penstock.care.replay_feed import ReplayRequest, ReplayTools, replay_feed
from penstock.datapath.schemas.learning import Learning
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.entries import Replace, Window
from penstock.model.names import FileName, parse_name
from penstock.model.record_position import Position
from penstock.model.spec import DecodeSpec, FeedSpec, FilesSpec, RouteSpec, TimeSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.loop.owner import Owner
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.runtime.surroundings import one_by_one
from penstock.status.where_record import RecordSearch
from penstock.status.whereabouts import Whereabouts
from penstock.testing.fault_script import Died
from penstock.testing.list_source import ListedRecord
from tests.helpers.files_by_others import values_of_file
from tests.helpers.list_story import FEED, TOPIC, TORN, Story

# By format: a compression.
FORMATS = {"text": "gzip", "text-escaped": "none", "sequencefile": "block",
           "sequencefile-msgpack": "record"}  # fmt: skip
Found = dict[tuple[str, int], list[bytes]]  # by dataset and partition


def feed_of(form: str, **more: object) -> FeedSpec:
    """The usual feed with another format, a whole topic at a time."""
    settings = {"window": WindowSpec(max_records=1_000), "partition": (), **more}
    return msgspec.structs.replace(FEED, format=form, compression=FORMATS[form], **settings)


@pytest.fixture
def story() -> Story:
    return Story()


def spelled(kind: str, number: int) -> bytes:
    """An event that nobody who parsed it would write in the same way again."""
    return b' { "n":%d,"type" : "%s", "x": 1.50, "x": "\\u00fc" } ' % (number, kind.encode())


def data_files(story: Story) -> list[str]:
    return sorted(key for key in list_keys(story.store, "feed") if "/_" not in key)


def values(story: Story, folder: Path) -> Found:
    """The values of all records, read by others."""
    found: Found = {}
    for key in data_files(story):
        name = parse_name(key)
        assert isinstance(name, FileName), "one Kafka partition per file"
        copy = folder / key.rpartition("/")[2]
        copy.write_bytes(story.store.read(key) or b"")
        place = key.split("/")[1], name.partition
        found.setdefault(place, []).extend(value for value, _ in values_of_file(copy))
    return found


def ask(story: Story, offset: int, partition: int = 0) -> Whereabouts:
    journal = story.journal()
    state = journal.open().state
    search = EntrySearch(journal, state.number, one_by_one)
    (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, partition, offset))
    return answer


@pytest.mark.parametrize("form", FORMATS)
def test_values_are_those_of_kafka_byte_by_byte_whatever_was_parsed(
    story: Story, form: str, tmp_path: Path
) -> None:
    kinds = ("click", "order")
    for partition in (0, 1):
        story.cluster.append(TOPIC, partition, *(spelled(kinds[n % 2], n) for n in range(20)))
    feed = feed_of(form, files=FilesSpec(gather="auto"))
    assert story.run_once(feed) == 0, story.said
    escape = b"\\\\" if form == "text-escaped" else b"\\"
    assert values(story, tmp_path) == {
        (kind, partition): [
            spelled(kind, n).replace(b"\\", escape) for n in range(20) if kinds[n % 2] == kind
        ]
        for kind in kinds
        for partition in (0, 1)
    }
    assert len(data_files(story)) == 4
    assert audit(story.journal()).verdict == "ok"


@pytest.mark.parametrize("form", FORMATS)
def test_lost_files_are_derived_again_in_the_same_cuts(
    story: Story, form: str, tmp_path: Path
) -> None:
    for partition in (0, 1):
        story.cluster.append(TOPIC, partition, *(spelled("click", n) for n in range(40)))
    feed = feed_of(form, files=FilesSpec(target_bytes=8_000))
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once(feed)
    for each in list(story.store.list_staged("_penstock/feed/staging", ())):
        story.store.discard(each)
    (window,) = story.entries(Window)
    assert window.file_plan.cuts
    planned = {file.handle.final for file in story.journal().content_of(window).files}
    story.cluster.cores = 64
    assert story.run_once(feed_of(form)) == 0, "cuts are those of the entry"
    assert story.entries(Replace)
    assert set(data_files(story)) == planned
    escape = b"\\\\" if form == "text-escaped" else b"\\"
    wanted = [spelled("click", n).replace(b"\\", escape) for n in range(40)]
    assert values(story, tmp_path) == {("click", 0): wanted, ("click", 1): wanted}
    assert audit(story.journal()).verdict == "ok"


@pytest.mark.parametrize("form", FORMATS)
def test_a_record_is_found_by_its_row_where_its_file_has_all_that_was_written(
    story: Story, form: str, tmp_path: Path
) -> None:
    """Lines say nothing: row n is the nth offset that was written, which the evidence proves."""
    story.cluster.append(TOPIC, 0, *(spelled("click", n) for n in range(3)), TORN)
    story.cluster.append(TOPIC, 0, *(spelled("click", n) for n in range(4, 9)))
    story.cluster.compact(TOPIC, 0, 5)
    assert story.run_once(feed_of(form)) == 0
    (key,) = data_files(story)
    wanted = {0: 0, 1: 1, 2: 2, 4: 3, 6: 4, 7: 5, 8: 6}
    for offset, row in wanted.items():
        answer = ask(story, offset)
        assert (answer.fate, [each.row for each in answer.rows]) == ("delivered", [row])
        assert values(story, tmp_path)["click", 0][row].find(b'"n":%d' % offset) > 0
    assert ask(story, 3).fate == "quarantined"
    assert ask(story, 5).fate == "no_record"
    story.store.delete(key)
    assert story.store.create(key, b"damaged\n")
    assert ask(story, 4).fate == "missing"


@pytest.mark.parametrize("form", FORMATS)
def test_a_record_whose_files_do_not_tell_is_in_one_of_those_that_are_named(
    story: Story, form: str
) -> None:
    kinds = ("click", "order")
    story.cluster.append(TOPIC, 0, *(spelled(kinds[n % 2], n) for n in range(6)))
    tells_none = form.startswith("text")
    assert story.run_once(feed_of(form)) == 0
    answer = ask(story, 3)
    assert answer.fate == "delivered"
    assert len(answer.rows) == (2 if tells_none else 1)
    assert all(bool(each.problem) == tells_none for each in answer.rows)
    few = (ConvertSpec("filter", conditions=(Condition("n", most=7),)),)
    story.cluster.append(TOPIC, 0, *(spelled("click", n) for n in range(6, 12)))
    assert story.run_once(feed_of(form, convert=few)) == 0
    assert ask(story, 6).fate == ("untold" if tells_none else "delivered")
    assert ask(story, 9).fate == ("untold" if tells_none else "filtered")


@pytest.mark.parametrize("form", FORMATS)
def test_a_replay_writes_the_records_of_each_partition_to_a_file_of_its_own(
    story: Story, form: str, tmp_path: Path
) -> None:
    for partition in (0, 1):
        story.cluster.append(TOPIC, partition, *(spelled("click", n) for n in range(5)))
    strict = feed_of(form, time=TimeSpec(field="at", unit="s"))
    assert story.run_once(strict) == 0
    assert data_files(story) == []
    assert replayed(story, feed_of(form)) == 10
    escape = b"\\\\" if form == "text-escaped" else b"\\"
    wanted = [spelled("click", n).replace(b"\\", escape) for n in range(5)]
    assert values(story, tmp_path) == {("click", 0): wanted, ("click", 1): wanted}
    answer = ask(story, 4, partition=1)
    assert (answer.fate, [each.row for each in answer.rows]) == ("delivered", [4])
    assert audit(story.journal()).verdict == "ok"


def replayed(story: Story, feed: FeedSpec) -> int:
    journal = story.journal()

    @contextmanager
    def open_parallel() -> Iterator[ParallelMap]:
        yield in_this_process

    tools = ReplayTools(
        feed,
        story.clock.around(),
        lambda: Learning(story.store, journal.layout, feed, None),
        open_parallel,
    )
    return replay_feed(journal, journal.open(deep=True), ReplayRequest("ann"), tools).delivered


def test_keys_of_kafka_are_in_the_map_unless_there_is_none(story: Story, tmp_path: Path) -> None:
    keys = [b"k", None, b"", b"\x00\xff"]
    records = [ListedRecord(b"\xff\n%d" % n, key=key) for n, key in enumerate(keys)]
    story.cluster.append(TOPIC, 0, *records)
    raw = feed_of("sequencefile-msgpack", decode=DecodeSpec("raw"), route=RouteSpec())
    assert story.run_once(raw) == 0
    (key,) = data_files(story)
    copy = tmp_path / "copy.seq"
    copy.write_bytes(story.store.read(key) or b"")
    assert [(more["_key"], value) for value, more in values_of_file(copy)] == [
        (each.key, each.value) for each in records
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_values_that_the_format_cannot_hold_are_quarantined_alone(
    story: Story, form: str, tmp_path: Path
) -> None:
    odd = json.dumps({"type": "click"}, indent=1).encode()
    story.cluster.append(TOPIC, 0, spelled("click", 0), odd, odd + b"\r", spelled("click", 3))
    assert story.run_once(feed_of(form)) == 0
    delivered = len(values(story, tmp_path)["click", 0])
    quarantined = story.quarantined()
    assert (delivered, len(quarantined)) == ((2, 2) if form == "text" else (4, 0))
    if quarantined:
        found = ask(story, 2).quarantined
        assert [each.reason for each in found] == ["NOT_ONE_LINE"]


def test_another_kind_of_keys_or_of_lines_is_another_format(story: Story) -> None:
    story.cluster.append(TOPIC, 0, spelled("click", 0))
    assert story.run_once(feed_of("sequencefile")) == 0
    assert story.run_once(feed_of("sequencefile-msgpack")) != 0
    assert "FORMAT_CHANGED" in story.said[-1]
