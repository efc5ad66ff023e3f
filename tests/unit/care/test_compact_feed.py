"""Small files of a feed become large ones: every record once, the same values, whatever happens.

Method: a feed whose records are a list in memory, compacted in this process; what arrived is read
by pyarrow alone, and the audit has to balance after each act.
"""

import io
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import msgspec
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from penstock.audit.deep import DeepSpec, DeepTools, deep_audit
from penstock.audit.shallow import audit
from penstock.care import compact_feed, feed_plan
from penstock.care.compaction_plan import CompactionPolicy
from penstock.care.done_files import done_files
from penstock.care.feed_plan import planned
from penstock.care.recorded_files import RecordedFiles
from penstock.datapath.rewrite import common_columns, merge_files
from penstock.datapath.rewrite.errors import InputChanged, RewriteRefused, RowsDiffer
from penstock.errors import EntryRefused, PenstockError
from penstock.model.debt import Debt
from penstock.model.entries import Compact, Replace
from penstock.model.manifest import ManifestFile
from penstock.model.names import CompactedName, parse_name
from penstock.model.record_position import Position
from penstock.model.spec import FeedSpec, FilesSpec, WindowSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.loop.owner import Owner
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.runtime.surroundings import one_by_one
from penstock.status.where_file import where_file
from penstock.status.where_record import RecordSearch
from penstock.testing.fault_script import Died
from tests.helpers.compacting import (
    ANY,
    SMALL,
    assert_proven,
    compacted,
    data_files,
    staged,
)
from tests.helpers.files_by_others import rows_of_files
from tests.helpers.list_story import TOPIC, Place, Story

BY_PARTITION = msgspec.structs.replace(SMALL, files=FilesSpec(gather="partition"))
ORC = msgspec.structs.replace(SMALL, format="orc")
DAY = "feed/click/day=2027-01-15"


@pytest.fixture
def story() -> Story:
    return Story()


def fill(story: Story, first: int, count: int, **more: object) -> None:
    """Clicks in both partitions, numbered on."""
    for partition in (0, 1):
        story.cluster.append(
            TOPIC,
            partition,
            *(
                json.dumps({"type": "click", "n": n, "tags": ["a"] * (n % 3), **more}).encode()
                for n in range(first, first + count)
            ),
        )


def delivered(story: Story, feed: FeedSpec = SMALL, count: int = 10) -> Story:
    """A lake with many small files."""
    fill(story, 0, count)
    assert story.run_once(feed) == 0
    return story


def every(count: int) -> dict[Place, int]:
    return {(partition, offset): 1 for partition in (0, 1) for offset in range(count)}


def rows_of(story: Story) -> list[dict[str, Any]]:
    """All rows of all files as a reader of the newest schema sees them, in a settled order."""
    tables = []
    for key in data_files(story):
        file = io.BytesIO(story.store.read(key) or b"")
        tables.append(orc.read_table(file) if key.endswith(".orc") else pq.read_table(file))
    whole = pa.concat_tables(tables, promote_options="default")
    found: list[dict[str, Any]] = whole.sort_by(
        [("_topic", "ascending"), ("_partition", "ascending"), ("_offset", "ascending")]
    ).to_pylist()
    return found


def rows_by_others(story: Story, folder: Path) -> list[dict[str, Any]]:
    """All rows in the order of their positions, by readers that share no code with Penstock."""
    files = [folder / key.replace("/", "-") for key in data_files(story)]
    for key, file in zip(data_files(story), files, strict=True):
        file.write_bytes(story.store.read(key) or b"")
    rows = rows_of_files(files)
    return sorted(rows, key=lambda row: (row["_topic"], row["_partition"], row["_offset"]))


@pytest.mark.parametrize("feed", [SMALL, BY_PARTITION, ORC], ids=["gathered", "alone", "orc"])
def test_small_files_become_one_with_the_same_rows_in_order(story: Story, feed: FeedSpec) -> None:
    before = rows_of(delivered(story, feed))
    assert len(data_files(story)) >= 5
    (done,) = compacted(story, feed)
    assert (done.refused, done.files, done.rows) == (None, 1, 20)
    (file,) = data_files(story)
    name = parse_name(file)
    assert isinstance(name, CompactedName)
    assert (name.topic, name.first, name.last, name.group) == (TOPIC, "1-1", "1-5", 0)
    assert rows_of(story) == before
    assert staged(story) == []
    assert_proven(story)
    assert compacted(story, feed) == [], "there is nothing left to do"


@pytest.mark.parametrize(
    ("name", "packed"), [("avro", "deflate"), ("jsonl", "none"), ("jsonl", "gzip")]
)
def test_files_of_rows_are_compacted_as_those_of_columns(
    story: Story, tmp_path: Path, name: str, packed: str
) -> None:
    """Also where some of them are of an older schema, and JSON lines tell no types."""
    feed = msgspec.structs.replace(SMALL, format=name, compression=packed)
    fill(story, 0, 6, shop={"id": 1})
    assert story.run_once(feed) == 0
    fill(story, 6, 6, shop={"id": 1, "city": "Graz"}, price=1.5, sold=True)
    assert story.run_once(feed) == 0
    assert len(data_files(story)) >= 5
    before = rows_by_others(story, tmp_path)
    (done,) = compacted(story, feed)
    assert (done.refused, done.files, done.rows) == (None, 1, 24)
    assert len(data_files(story)) == 1
    after = rows_by_others(story, tmp_path)
    assert [without_nulls(row) for row in after] == [without_nulls(row) for row in before]
    assert after[-1]["shop"] == {"id": 1, "city": "Graz"}
    assert (after[-1]["price"], after[-1]["sold"]) == (1.5, True)
    assert_proven(story)
    assert compacted(story, feed) == []


def without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is whether its file has later columns or not."""
    return {
        name: without_nulls(value) if isinstance(value, dict) else value
        for name, value in row.items()
        if value is not None
    }


def test_the_entry_says_who_asked_and_what_the_values_add_up_to(story: Story) -> None:
    compacted(delivered(story))
    (entry,) = story.entries(Compact)
    assert entry.author == "ann"
    assert isinstance(entry.value_sum, int)
    assert entry.value_sum == entry.input_sum
    assert [group.dataset for group in entry.groups] == ["click"]
    (file,) = story.journal().content_of(entry).files
    assert [(part.partition, part.start, part.end) for part in file.ranges] == [
        (0, 0, 10),
        (1, 0, 10),
    ], "ranges that follow each other are joined"
    footer = pq.ParquetFile(io.BytesIO(story.store.read(file.handle.final) or b"")).metadata
    words = footer.metadata
    assert words[b"penstock.window"] == entry.window.encode()
    assert words[b"penstock.ranges"] == b"events/0:0-10,events/1:0-10"


def test_rows_of_a_table_in_a_file_lie_by_partition_and_offset(story: Story) -> None:
    compacted(delivered(story))
    (file,) = data_files(story)
    table = pq.read_table(io.BytesIO(story.store.read(file) or b""))
    keys = list(zip(table["_partition"].to_pylist(), table["_offset"].to_pylist(), strict=True))
    assert keys == sorted(keys)


def test_rows_of_older_schemas_have_nulls_for_later_columns(story: Story) -> None:
    """Also for members that a nested column got later."""
    fill(story, 0, 6, shop={"id": 1})
    assert story.run_once(SMALL) == 0
    fill(story, 6, 6, shop={"id": 2, "city": "Zug"}, price=1.5)
    assert story.run_once(SMALL) == 0
    before = rows_of(story)
    compacted(story)
    (file,) = data_files(story)
    assert rows_of(story) == before
    (entry,) = story.entries(Compact)
    (made,) = story.journal().content_of(entry).files
    assert made.schema == 2
    assert {row["price"] for row in rows_of(story)} == {None, 1.5}
    assert file == made.handle.final
    assert_proven(story)


def test_files_of_an_earlier_compaction_are_compacted_again(story: Story) -> None:
    compacted(delivered(story))
    fill(story, 10, 40)
    assert story.run_once(SMALL) == 0
    (done,) = compacted(story)
    assert done.refused is None
    (file,) = data_files(story)
    name = parse_name(file)
    assert isinstance(name, CompactedName)
    assert (name.first, name.last) == ("1-1", "2-20")
    assert story.delivered() == every(50)
    assert_proven(story)


def test_a_directory_gets_several_files_near_the_target(story: Story) -> None:
    delivered(story, BY_PARTITION, 20)
    sizes = [len(story.store.read(key) or b"") for key in data_files(story)]
    (done,) = compacted(story, BY_PARTITION, CompactionPolicy(5 * max(sizes), 2))
    assert done.files > 1
    assert len(data_files(story)) == done.files
    assert story.delivered() == every(20)
    assert_proven(story)


def test_two_files_of_the_same_windows_have_two_names(story: Story) -> None:
    """A window that gave every partition files of its own, in so many bytes."""
    wide = msgspec.structs.replace(BY_PARTITION, window=WindowSpec(max_records=1000))
    story.cluster.delete_topic(TOPIC)
    story.cluster.create_topic(TOPIC, 8)
    for partition in range(8):
        story.cluster.append(TOPIC, partition, json.dumps({"type": "click"}).encode())
    assert story.run_once(wide) == 0
    size = max(len(story.store.read(key) or b"") for key in data_files(story))
    (done,) = compacted(story, wide, CompactionPolicy(4 * size, 2))
    assert done.files == 2
    names = [parse_name(key) for key in data_files(story)]
    assert {name.group for name in names if isinstance(name, CompactedName)} == {0, 1}
    assert_proven(story)


def test_topics_of_one_dataset_keep_files_of_their_own(story: Story) -> None:
    two = msgspec.structs.replace(SMALL, topics=(TOPIC, "others"))
    story.cluster.create_topic("others", 1)
    fill(story, 0, 10)
    lines = [json.dumps({"type": "click", "n": n}).encode() for n in range(10)]
    story.cluster.append("others", 0, *lines)
    assert story.run_once(two) == 0
    (done,) = compacted(story, two)
    assert done.files == 2
    topics = {name.topic for key in data_files(story) if (name := parse_name(key)) is not None}
    assert topics == {TOPIC, "others"}
    assert_proven(story)


def test_records_and_files_are_found_where_they_are_now(story: Story) -> None:
    old = data_files(delivered(story))[0]
    compacted(story)
    journal = story.journal()
    state = journal.open().state
    search = EntrySearch(journal, state.number, one_by_one)
    (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, 0, 7))
    (file,) = data_files(story)
    assert [each.file for each in answer.rows] == [file]
    assert answer.rows[0].row == 7
    assert [(each.kind, each.author) for each in answer.rows[0].taken] == [("compact", "ann")]
    before, after = (
        where_file(journal, state, search, old),
        where_file(journal, state, search, file),
    )
    assert before is not None
    assert (before.state, before.into) == ("compacted", (file,))
    assert after is not None
    assert after.state == "live"


# --- what goes wrong -------------------------------------------------------------------------


def altered(change: Callable[[pa.Table], pa.Table]) -> Any:
    """A fault between the rows that were read and the file that is written."""
    right = merge_files._joined

    def wrong(batches: Sequence[pa.RecordBatch]) -> pa.Table:
        return change(right(batches))

    return patch.object(merge_files, "_joined", wrong)


def with_one_null(table: pa.Table) -> pa.Table:
    values = table["n"].to_pylist()
    return table.set_column(table.schema.get_field_index("n"), "n", pa.array([None, *values[1:]]))


def with_two_swapped(table: pa.Table) -> pa.Table:
    values = table["n"].to_pylist()
    values[0], values[1] = values[1], values[0]
    return table.set_column(table.schema.get_field_index("n"), "n", pa.array(values))


def with_one_list_longer(table: pa.Table) -> pa.Table:
    values = table["tags"].to_pylist()
    values[0] = ["a"]
    column = pa.array(values, pa.list_(pa.string()))
    return table.set_column(table.schema.get_field_index("tags"), "tags", column)


def turned(table: pa.Table) -> pa.Table:
    return table.take(pa.array(list(reversed(range(table.num_rows)))))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (with_one_null, "the sum of its values"),
        (with_two_swapped, "the sum of its values"),
        (with_one_list_longer, "the sum of its values"),
        (lambda table: table.slice(1), "19 rows for 20"),
        (lambda table: pa.concat_tables([table, table.slice(19)]), "21 rows for 20"),
        (turned, "not in the order"),
    ],
    ids=["null", "swapped", "nested", "lost", "doubled", "order"],
)
def test_a_file_that_differs_from_its_inputs_is_never_decided(
    story: Story, change: Callable[[pa.Table], pa.Table], why: str
) -> None:
    files = data_files(delivered(story))
    with altered(change), pytest.raises(RowsDiffer, match=why):
        compacted(story)
    assert story.entries(Compact) == []
    assert data_files(story) == files
    assert staged(story) == []
    assert_proven(story)


def test_a_damaged_input_is_not_carried_into_a_new_file(story: Story) -> None:
    victim = data_files(delivered(story))[1]
    good = story.store.read(victim) or b""
    story.store.delete(victim)
    assert story.store.create(victim, good[:-9] + b"x" + good[-8:])
    with pytest.raises(InputChanged, match="are not those that the journal records"):
        compacted(story)
    assert story.entries(Compact) == []
    assert staged(story) == []


@pytest.mark.parametrize("change", ["lost", "doubled"])
def test_an_audit_names_the_row_that_somebody_took_from_a_compacted_file_or_put_there(
    story: Story, change: str
) -> None:
    """S37 of a file over many ranges. Method: write it again with one row too few, or too many."""
    compacted(delivered(story))
    (file,) = data_files(story)
    table = pq.read_table(io.BytesIO(story.store.read(file) or b""))
    at = [n for n, p in enumerate(table["_partition"].to_pylist()) if p == 1][3]
    part = table.slice(at + 1) if change == "lost" else table.slice(at)
    before = table.slice(0, at if change == "lost" else at + 1)
    changed = io.BytesIO()
    pq.write_table(pa.concat_tables([before, part]), changed)
    story.store.delete(file)
    assert story.store.create(file, changed.getvalue())
    tools = DeepTools(in_this_process, None, lambda: 0.0)
    (found,) = deep_audit(story.journal(), DeepSpec(), tools).differences
    (offsets,) = found.offsets
    assert (offsets.partition, offsets.runs) == (1, ((3, 4),))
    assert offsets.fate == ("missing" if change == "lost" else "doubled")


def test_a_file_that_somebody_deleted_is_left_to_the_audit(story: Story) -> None:
    """S16: what is left is compacted, and the journal does not forget the other file."""
    gone, *_ = data_files(delivered(story))
    story.store.delete(gone)
    (done,) = compacted(story)
    assert done.refused is None
    found = audit(story.journal()).differences
    assert [gone in str(each) for each in found] == [True], found


def test_a_column_of_two_types_refuses_that_directory_and_changes_nothing(story: Story) -> None:
    files = data_files(delivered(story))
    right = common_columns.common_schema

    def wrong(schemas: Iterator[pa.Schema]) -> pa.Schema:
        found = list(schemas)
        return right([*found, pa.schema([("n", pa.string())])])

    with (
        patch.object(merge_files, "common_schema", wrong),
        pytest.raises(RewriteRefused, match="the column n is int64 in some of them and string"),
    ):
        compacted(story)
    assert data_files(story) == files


class TextFormat:
    """A format whose files do not say where rows come from."""

    traits = SimpleNamespace(has_positions=False)


def test_files_without_positions_are_refused_and_stay(story: Story) -> None:
    files = data_files(delivered(story))
    with (
        patch.object(compact_feed, "format_of_recorded_file", lambda *_: TextFormat()),
        pytest.raises(RewriteRefused, match="do not say where rows come from"),
    ):
        compacted(story)
    assert data_files(story) == files
    assert story.entries(Compact) == []


def test_of_files_without_positions_nothing_is_planned_or_owed(story: Story) -> None:
    """Goal: runs pass over such a feed, and the command says once why it does nothing."""
    delivered(story)
    fold = story.journal().open(deep=True)
    assert list(feed_plan.planned(story.journal(), fold, CompactionPolicy(min_files=2)))
    with patch.object(feed_plan, "find", lambda *_: TextFormat()):
        assert not list(feed_plan.planned(story.journal(), fold, CompactionPolicy(min_files=2)))
        assert feed_plan.debt_of_feed(story.journal(), SMALL) == Debt()
        with pytest.raises(RewriteRefused, match="Files of feed 'feed' cannot be compacted: "):
            feed_plan.require_positions("feed", fold)


def killed_before_publishing(story: Story) -> None:
    """A window is decided, its staged files are lost, and the next owner derives them again."""
    with patch.object(Owner, "publish", side_effect=Died("kill -9")), pytest.raises(Died):
        story.run_once(SMALL)
    for each in list(story.store.list_staged("_penstock/feed/staging", ())):
        story.store.discard(each)
    assert story.run_once(SMALL) == 0
    assert story.entries(Replace)


def with_other_bytes(file: ManifestFile) -> ManifestFile:
    handle = msgspec.structs.replace(file.handle, checksum="sha256:0")
    return msgspec.structs.replace(file, handle=handle)


def test_files_that_were_derived_again_are_known_by_their_later_entry(story: Story) -> None:
    """Their bytes may be others than those of the window, whose record is altered here."""
    fill(story, 0, 6)
    killed_before_publishing(story)
    replaced = {
        file.handle.final
        for body in story.entries(Replace)
        for file in story.journal().content_of(body).files
    }
    right = RecordedFiles.of

    def of(self: RecordedFiles, wanted: Any, last: int) -> dict[str, ManifestFile]:
        found = right(self, wanted, last)
        return {f: with_other_bytes(file) if f in replaced else file for f, file in found.items()}

    with patch.object(RecordedFiles, "of", of):
        (done,) = compacted(story)
    assert done.refused is None
    assert story.delivered() == every(6)
    assert_proven(story)


def test_other_bytes_without_a_later_entry_are_damage(story: Story) -> None:
    delivered(story)
    right = RecordedFiles.of

    def of(self: RecordedFiles, wanted: Any, last: int) -> dict[str, ManifestFile]:
        return {f: with_other_bytes(file) for f, file in right(self, wanted, last).items()}

    with patch.object(RecordedFiles, "of", of), pytest.raises(InputChanged):
        compacted(story)


def meanwhile(act: Callable[[], object]) -> ParallelMap:
    """Something happens while the tasks work, once."""
    left = [act]

    def run(
        what: str, work: Callable[[Any], Any], items: Sequence[Any], weight: Callable[[Any], int], /
    ) -> list[Any]:
        done = in_this_process(what, work, items, weight)
        if left:
            left.pop()()
        return done

    return run


def test_a_window_that_is_decided_meanwhile_is_no_obstacle(story: Story) -> None:
    delivered(story)

    def deliver() -> None:
        fill(story, 10, 2)
        assert story.run_once(SMALL) == 0  # with a claim: all is built again in its epoch

    (done,) = compacted(story, parallel=meanwhile(deliver))
    assert done.refused is None
    assert story.delivered() == every(12)
    assert staged(story) == []
    assert_proven(story)


def test_inputs_that_another_compaction_takes_meanwhile_are_refused(story: Story) -> None:
    delivered(story)
    (done,) = compacted(story, parallel=meanwhile(lambda: compacted(story)))
    assert isinstance(done.refused, EntryRefused)
    assert "is not live any more" in str(done.refused)
    assert len(story.entries(Compact)) == 1
    assert story.delivered() == every(10)
    assert staged(story) == []
    assert_proven(story)


def test_parked_datasets_and_undone_files_are_left_alone(story: Story) -> None:
    delivered(story)
    journal = story.journal()
    fold = journal.open(deep=True)
    assert len(done_files(fold, "click")) == 5
    fold.state.parked = {"click": "for a test"}
    assert list(planned(journal, fold, ANY)) == []


def test_a_plan_can_be_of_one_dataset_and_day(story: Story) -> None:
    delivered(story)
    journal = story.journal()
    fold = journal.open(deep=True)
    (plan,) = planned(journal, fold, ANY, "click", "2027-01-15")
    assert plan.directory == DAY
    assert list(planned(journal, fold, ANY, "click", "2027-01-16")) == []
    assert list(planned(journal, fold, ANY, "order")) == []


def test_a_failed_task_leaves_nothing_staged(story: Story) -> None:
    delivered(story)

    def fails(*_: object) -> list[Any]:
        raise PenstockError("A task has failed.", "For a test.")

    with pytest.raises(PenstockError, match="A task has failed"):
        compacted(story, parallel=fails)
    assert staged(story) == []
    (done,) = compacted(story)
    assert done.refused is None
