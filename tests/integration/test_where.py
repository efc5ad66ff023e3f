"""Where records of a real topic went: every fate, as the lake and a client of its own tell it."""

from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from penstock.care.compact import compact
from penstock.model.convert_spec import Condition, ConvertSpec
from penstock.model.record_position import Position
from penstock.model.spec import TimeSpec
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.runtime.surroundings import side_by_side
from penstock.status.where_record import RecordSearch
from penstock.status.whereabouts import Whereabouts
from penstock.testing.broker import EmbeddedKafka
from penstock.testing.kafka_client import KafkaClient
from tests.helpers.rewritten_files import rewriting
from tests.integration.lakes import AROUND, event, journal_of, mixed_feed, run_once
from tests.integration.replays import TORN, Replays

pytestmark = pytest.mark.xdist_group("kafka")
TOPIC = "sought"
UNTIMED = b'{"type": "click", "n": 1}'
LEFT_OUT = event("click", 999)


def test_every_record_of_a_topic_is_found_where_it_is(
    spark: SparkSession, kafka: EmbeddedKafka, client: KafkaClient, tmp_path: Path
) -> None:
    client.create_topic(TOPIC, partitions=1)
    steps = (ConvertSpec("filter", conditions=(Condition("n", most=500),)),)
    feed = mixed_feed(TOPIC, convert=steps)
    for turn in (0, 1):
        good = [event("click", 10 * turn + n) for n in range(5)]
        client.produce(TOPIC, 0, [*good, UNTIMED, TORN[0], LEFT_OUT])
        assert run_once(spark, kafka, tmp_path, feed)[0] == 0
    assert fates(client, tmp_path) == expected("quarantined")

    time = TimeSpec(field="event_time", unit="ms", missing="kafka")
    Replays(spark, tmp_path, msgspec.structs.replace(feed, time=time)).run()
    assert fates(client, tmp_path) == expected("delivered")

    journal = journal_of(tmp_path)
    compact(journal, AROUND, "click", rewriting(journal))
    assert fates(client, tmp_path) == expected("delivered")
    answer = ask(tmp_path, 0)
    assert [each.kind for each in answer.rows[0].taken] == ["compact"]
    assert ask(tmp_path, 16).fate == "not_read"


def expected(of_untimed: str) -> list[str]:
    """The fates of two windows with the same kinds of records."""
    return [*["delivered"] * 5, of_untimed, "quarantined", "filtered"] * 2


def fates(client: KafkaClient, lake: Path) -> list[str]:
    """The fate of every record; the rows of delivered ones are read by pyarrow alone."""
    answers = [ask(lake, record.offset) for record in client.read_all(TOPIC)]
    for answer in answers:
        for place in answer.rows:
            assert place.row is not None
            table = pq.read_table(lake / place.file, partitioning=None)
            assert table["_offset"][place.row].as_py() == answer.offset
    return [answer.fate for answer in answers]


def ask(lake: Path, offset: int) -> Whereabouts:
    journal = journal_of(lake)
    state = journal.open().state
    search = EntrySearch(journal, state.number, side_by_side)
    (answer,) = RecordSearch(journal, state, search).find(Position(TOPIC, 0, offset))
    return answer
