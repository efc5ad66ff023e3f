"""Where one record went, and where the rows of a file came from.

Method: a feed whose records are a list in memory, with the real stager and real files; then what
can happen to a record afterwards: replay, drop, compaction, retention, gaps, seeks.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import msgspec
import pyarrow.parquet as pq
import pytest

from penstock.care.compact import compact
from penstock.care.replay import drop, live_records
from penstock.care.replay_feed import ReplayRequest, ReplayTools, replay_feed
from penstock.care.retire import retire
from penstock.care.seek import Approval, seek_all
from penstock.datapath.schemas.learning import Learning
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.ranges import TopicPartition
from penstock.model.record_position import Position
from penstock.model.spec import FeedSpec, TimeSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.publish.finisher import Finisher
from penstock.runtime.parallel import ParallelMap, in_this_process
from penstock.runtime.surroundings import one_by_one
from penstock.status.where_file import where_file
from penstock.status.where_record import RecordSearch
from penstock.status.whereabouts import FileWhereabouts, Whereabouts
from penstock.testing.fault_script import Died
from tests.helpers.list_story import FEED, TOPIC, TORN, Story, events
from tests.helpers.rewritten_files import rewriting

FILTERING = msgspec.structs.replace(
    FEED, convert=(ConvertSpec("filter", conditions=(Condition("n", most=1),)),)
)


@pytest.fixture
def story() -> Story:
    return Story()


def ask(story: Story, offset: int, partition: int = 0, topic: str = TOPIC) -> Whereabouts:
    (answer,) = ask_all(story, Position(topic, partition, offset))
    return answer


def ask_all(story: Story, position: Position) -> tuple[Whereabouts, ...]:
    journal = story.journal()
    state = journal.open().state
    search = EntrySearch(journal, state.number, one_by_one)
    return RecordSearch(journal, state, search).find(position)


def ask_file(story: Story, key: str) -> FileWhereabouts | None:
    journal = story.journal()
    state = journal.open().state
    return where_file(journal, state, EntrySearch(journal, state.number, one_by_one), key)


def row_in(story: Story, file: str, row: int) -> tuple[int, int]:
    """The position of a row, read by pyarrow alone."""
    table = pq.read_table(io.BytesIO(story.store.read(file) or b""), partitioning=None)
    return table["_partition"][row].as_py(), table["_offset"][row].as_py()


def check_rows(story: Story, answer: Whereabouts) -> None:
    assert answer.rows
    for each in answer.rows:
        assert each.row is not None
        assert row_in(story, each.file, each.row) == (answer.partition, answer.offset)


def test_every_delivered_record_is_found_in_its_file_and_row(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 20), *events("order", 11))
    story.cluster.append(TOPIC, 1, *events("click", 3))
    assert story.run_once() == 0
    for partition, count in ((0, 31), (1, 3)):
        for offset in range(count):
            answer = ask(story, offset, partition)
            assert answer.fate == "delivered"
            assert answer.decided_by is not None
            assert answer.decided_by.window in answer.rows[0].file
            check_rows(story, answer)


def test_filtered_torn_and_absent_records_are_told_apart(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 4), TORN)
    story.cluster.compact(TOPIC, 0, 1)
    assert story.run_once(FILTERING) == 0
    assert [ask(story, offset).fate for offset in range(6)] == [
        "delivered",
        "no_record",
        "filtered",
        "filtered",
        "quarantined",
        "not_read",
    ]
    (broken,) = ask(story, 4).quarantined
    assert broken.file.startswith("_penstock/feed/quarantine/")
    assert broken.row == 0
    assert broken.reason
    assert broken.fingerprint
    assert broken.left_by is None
    assert ask(story, 5).watermark == 5
    assert ask(story, 0, partition=7).fate == "never_read"
    assert ask(story, 0, topic="others").fate == "never_read"


def test_a_replayed_record_is_found_where_it_was_and_where_it_is(story: Story) -> None:
    strict = msgspec.structs.replace(FEED, time=TimeSpec(field="at", unit="s"))
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once(strict) == 0
    assert ask(story, 1).fate == "quarantined"
    assert replayed(story, FEED) == 3
    answer = ask(story, 1)
    assert answer.fate == "delivered"
    check_rows(story, answer)
    (broken,) = answer.quarantined
    assert broken.left_by is not None
    assert (broken.left_by.kind, broken.left_by.author) == ("replay", "ann")
    assert answer.rows[0].delivered_by.entry == broken.left_by.entry
    assert answer.rows[0].delivered_by.kind == "replay"
    assert ask_file(story, answer.rows[0].file) is not None


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


def test_a_dropped_record_names_who_gave_it_up(story: Story) -> None:
    story.cluster.append(TOPIC, 0, TORN, TORN)
    assert story.run_once() == 0
    journal = story.journal()
    records = live_records(journal.open(deep=True))
    drop(journal, story.clock.around(), records, "bob", "test data")
    answer = ask(story, 1)
    assert answer.fate == "given_up"
    (broken,) = answer.quarantined
    assert broken.left_by is not None
    assert (broken.left_by.author, broken.left_by.reason) == ("bob", "test data")


def test_a_compacted_record_is_followed_to_the_live_file_and_a_retired_one_to_its_end(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 20))
    assert story.run_once() == 0
    before = ask(story, 3).rows[0].file
    journal, around = story.journal(), story.clock.around()
    first = compact(journal, around, "click", rewriting(journal))
    story.cluster.append(TOPIC, 0, *events("click", 4))
    assert story.run_once() == 0
    second = compact(journal, around, "click", rewriting(journal))
    for offset in range(24):
        answer = ask(story, offset)
        assert answer.fate == "delivered"
        check_rows(story, answer)
        (place,) = answer.rows
        acts = [act.entry for act in place.taken]
        assert acts == ([first.number, second.number] if offset < 20 else [second.number])
    found = ask_file(story, before)
    assert found is not None
    assert found.state == "compacted"
    assert found.taken_by is not None
    assert found.taken_by.entry == first.number
    live = ask(story, 3).rows[0].file
    assert ask_file(story, found.into[0]).state == "compacted"  # type: ignore[union-attr]
    assert ask_file(story, live).state == "live"  # type: ignore[union-attr]

    retire(journal, around, "click", (live,), "ann", "past retention")
    answer = ask(story, 3)
    assert answer.fate == "retired"
    assert [act.kind for act in answer.rows[0].taken] == ["compact", "compact", "retire"]
    assert answer.rows[0].taken[-1].reason == "past retention"
    found = ask_file(story, live)
    assert found is not None
    assert (found.state, found.taken_by and found.taken_by.author) == ("retired", "ann")


def test_a_compaction_that_is_not_finished_counts_although_its_inputs_still_lie_there(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 20))
    assert story.run_once() == 0
    before = ask(story, 3).rows[0].file
    journal = story.journal()
    dies = patch.object(Finisher, "finish_fresh", side_effect=Died("kill -9"))
    with dies, pytest.raises(Died):
        compact(journal, story.clock.around(), "click", rewriting(journal))
    assert story.store.head(before) is not None
    (place,) = ask(story, 3).rows
    assert (place.state, [each.kind for each in place.taken]) == ("pending", ["compact"])
    found = ask_file(story, before)
    assert found is not None
    assert (found.state, found.into) == ("compacted", (place.file,))
    assert story.run_once() == 0
    check_rows(story, ask(story, 3))


def test_gaps_and_seeks_name_their_author_and_what_lies_before_the_start_too(
    story: Story,
) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    story.cluster.expire(TOPIC, 0, before=2)
    assert story.run_once() == 0
    accepting = msgspec.structs.replace(FEED, on_gap="accept")
    story.cluster.append(TOPIC, 0, *events("click", 10))
    story.cluster.expire(TOPIC, 0, before=5)
    assert story.run_once(accepting) == 0
    topic_id = story.journal().open().state.topics[TOPIC]
    story.cluster.append(TOPIC, 0, *events("click", 10))
    approval = Approval("ann", "not wanted")
    seek_all(story.journal(), {TopicPartition(topic_id, 0): 18}, approval)
    assert ask(story, 15).fate == "given_up", "also before a window has come after it"
    assert story.run_once() == 0
    assert [ask(story, offset).fate for offset in (1, 2, 3, 4, 5, 12, 13, 17, 18, 23)] == [
        "before_start",
        "delivered",
        "given_up",
        "given_up",
        "delivered",
        "delivered",
        "given_up",
        "given_up",
        "delivered",
        "not_read",
    ]
    gap, seek = ask(story, 3).decided_by, ask(story, 15).decided_by
    assert gap is not None
    assert seek is not None
    assert (gap.kind, gap.author) == ("gap", "on_gap: accept")
    assert (seek.kind, seek.author, seek.reason) == ("seek", "ann", "not wanted")


def test_a_file_that_is_gone_is_a_difference_and_one_that_waits_is_not(story: Story) -> None:
    story.cluster.append(TOPIC, 0, *events("click", 3))
    assert story.run_once() == 0
    (place,) = ask(story, 1).rows
    story.store.delete(place.file)
    answer = ask(story, 1)
    assert answer.fate == "missing"
    assert answer.rows[0].problem == "the file is gone"
    found = ask_file(story, place.file)
    assert found is not None
    assert found.state == "missing"
    assert ask_file(story, place.file.replace("0-3", "0-2")) is None
    assert ask_file(story, "feed/click/stranger.parquet") is None


def test_few_entries_are_read_in_a_long_journal(story: Story) -> None:
    """Goal: a question costs some twenty reads, not one for each entry. Method: count them."""
    one = msgspec.structs.replace(FEED, window=msgspec.structs.replace(FEED.window, max_records=1))
    story.cluster.append(TOPIC, 0, *events("click", 150))
    story.cluster.append(TOPIC, 1, *events("click", 3))
    assert story.run_once(one) == 0
    journal = story.journal()
    state = journal.open().state
    reads: list[int] = []
    require = journal.require

    def counted(number: int) -> object:
        reads.append(number)
        return require(number)

    journal.require = counted  # type: ignore[assignment,method-assign]
    search = EntrySearch(journal, state.number, one_by_one)
    for offset in range(150):
        reads.clear()
        (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, 0, offset))
        assert answer.fate == "delivered"
        assert len(reads) < 40
    for number in range(1, state.windows + 1):
        sealed = search.window(f"1-{number}")
        assert sealed is not None
    assert search.window(f"1-{state.windows + 1}") is None
    assert search.window("2-1") is None
    assert search.window("1-x0") is None
    assert search.window("nonsense") is None
