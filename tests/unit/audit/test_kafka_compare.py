"""The lake against Kafka: what it lost since is listed, what it has and we never read is not."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest

from penstock.care.seek import Approval, accept_gaps
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.window import Available, PartitionOffsets
from penstock.ports.source.errors import KafkaUnavailable
from penstock.ports.source.recheck_tally import spans, tally
from tests.helpers.doctored_lakes import DoctoredLake, events
from tests.helpers.journals import covered
from tests.simulator.kafka import TOPIC, TOPIC_ID


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DoctoredLake:
    """Four windows of 25 records."""
    found = DoctoredLake(tmp_path, events(100, filtered=True), max_records=25)
    found.plain_tools(monkeypatch)
    return found


def audited(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], code: int = 0, *words: str
) -> dict[str, Any]:
    assert lake.audit("--deep", "--output", "json", *words) == code, capsys.readouterr()
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def unchecked(found: dict[str, Any]) -> list[tuple[int, int, str]]:
    """The ranges that could not be compared, and why."""
    return [(u["start"], u["end"], u["reason"]) for u in found["deep"]["kafka"]["unchecked"]]


def log(lake: DoctoredLake, earliest: int, latest: int) -> None:
    """Kafka's log begins and ends elsewhere now."""
    [topic] = lake.kafka.available.topics
    held = msgspec.structs.replace(topic, partitions={0: PartitionOffsets(earliest, latest)})
    lake.kafka.available = msgspec.structs.replace(lake.kafka.available, topics=(held,))
    lake.kafka.without(*range(earliest), *range(latest, 100))


def test_expired_ranges_are_listed_and_the_rest_of_a_window_is_compared_by_position(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    log(lake, 30, 100)
    found = audited(lake, capsys)
    assert unchecked(found) == [
        (0, 30, "expired: no longer in the log"),
        (30, 50, "a part of its window is gone: positions agree, contents not comparable"),
    ]
    assert found["deep"]["kafka"]["agreed"] == 50
    assert lake.audit("--deep") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "unchecked events/0 [0, 30): expired: no longer in the log" in printed
    assert printed.endswith("Kafka agrees with 50, the rest could not be checked")


def test_a_record_that_is_missing_from_the_rest_of_an_expired_window_is_no_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    log(lake, 30, 100)
    lake.kafka.without(40)
    assert unchecked(audited(lake, capsys))[1] == (
        30, 50,
        "compaction removed 1 of 20 records; the others agree by offset, contents not comparable",
    )  # fmt: skip


def test_everything_expired(lake: DoctoredLake, capsys: pytest.CaptureFixture[str]) -> None:
    log(lake, 100, 100)
    found = audited(lake, capsys)
    assert unchecked(found) == [(0, 100, "expired: no longer in the log")]
    assert found["deep"]["kafka"]["agreed"] == 0


def test_a_log_that_ends_before_the_watermark_is_told(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    log(lake, 0, 80)
    assert unchecked(audited(lake, capsys)) == [
        (75, 80, "a part of its window is gone: positions agree, contents not comparable"),
        (80, 100, "the log ends at 80"),
    ]


def test_records_that_compaction_took_are_no_difference(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.kafka.without(3, 4, 60)
    found = audited(lake, capsys)
    assert [(start, end) for start, end, _ in unchecked(found)] == [(0, 25), (50, 75)]
    assert unchecked(found)[0][2].startswith("compaction removed 2 of 25 records")
    assert found["deep"]["kafka"]["agreed"] == 50


def test_records_that_expire_while_they_are_read_are_no_difference(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = lake.kafka.available
    log(lake, 10, 100)
    later = lake.kafka.available
    answers = [first, later]
    monkeypatch.setattr(lake.kafka, "look", lambda _topics: answers.pop(0))
    [(start, end, why)] = unchecked(audited(lake, capsys))
    assert (start, end) == (0, 25)
    assert why.startswith("10 records expired during the audit")


def test_other_contents_under_the_same_offsets_are_a_difference_that_names_the_range(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str]
) -> None:
    hashes = lake.kafka.batch["hash"].to_numpy().copy()
    hashes[30] += 1
    at = lake.kafka.batch.schema.get_field_index("hash")
    lake.kafka.batch = lake.kafka.batch.set_column(at, "hash", pa.array(hashes))
    [difference] = audited(lake, capsys, 4)["differences"]
    assert difference["kind"] == "kafka"
    assert "events/0 [25, 50) have other contents" in difference["found"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"topics": ()}, "the topic no longer exists"),
        ({"cluster_id": "cluster-2"}, "another cluster answers: cluster-2 instead of cluster-1"),
    ],
)
def test_a_topic_or_a_cluster_that_is_gone_is_listed(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], change: dict[str, Any], why: str
) -> None:
    lake.kafka.available = msgspec.structs.replace(lake.kafka.available, **change)
    assert unchecked(audited(lake, capsys)) == [(0, 100, why)]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"topic_id": "topic-id-2"}, "the topic was deleted and created again"),
        ({"partitions": {}}, "the partition has no leader, or is gone"),
    ],
)
def test_a_topic_that_is_another_one_now_is_listed(
    lake: DoctoredLake, capsys: pytest.CaptureFixture[str], change: dict[str, Any], why: str
) -> None:
    [topic] = lake.kafka.available.topics
    changed = msgspec.structs.replace(topic, **change)
    lake.kafka.available = msgspec.structs.replace(lake.kafka.available, topics=(changed,))
    assert unchecked(audited(lake, capsys)) == [(0, 100, why)]


def test_kafka_that_does_not_answer_is_no_difference_and_the_verdict_says_so(
    lake: DoctoredLake, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def silent(_topics: Iterable[str]) -> Available:
        raise KafkaUnavailable("nowhere:1", "timed out")

    monkeypatch.setattr(lake.kafka, "look", silent)
    assert lake.audit("--deep") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Kafka not compared: Kafka at nowhere:1 did not answer: timed out" in printed
    assert printed.endswith("every row read; Kafka not compared")


def test_what_was_given_up_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Offsets between windows that Kafka has, and that a person gave up, are no difference."""
    lake = DoctoredLake(tmp_path, events(40), max_records=20)
    room = lake.run(20)
    accept_gaps(room.journal(), [covered(40, 60)], Approval("ann", "not wanted"))
    lake.source.payloads += events(60)
    lake.run(20)
    lake.kafka = type(lake.kafka)(lake.source)
    lake.plain_tools(monkeypatch)
    found = audited(lake, capsys)
    assert (found["given_up"], found["offsets"], unchecked(found)) == (20, 100, [])
    assert found["deep"]["kafka"]["agreed"] == 80


RANGES = (
    OffsetRange(TOPIC, TOPIC_ID, 0, 10, 20),
    OffsetRange(TOPIC, TOPIC_ID, 0, 20, 30),
    OffsetRange(TOPIC, TOPIC_ID, 0, 40, 50),
    OffsetRange("other", "id-2", 0, 0, 5),
)


def test_records_are_sorted_into_their_ranges_whatever_the_batches_are() -> None:
    """Several topics in one batch, records between ranges, ranges that batches cut."""
    topics = [TOPIC] * 60 + ["other"] * 8
    offsets = np.array([*range(60), *range(8)], np.int64)
    whole = pa.RecordBatch.from_pydict(
        {
            "topic": pa.array(topics),
            "partition": pa.array([0] * 68, pa.int32()),
            "offset": pa.array(offsets),
            "hash": pa.array(offsets + 5),
        }
    )
    for size in (68, 7, 1):
        batches = [whole.slice(at, size) for at in range(0, 68, size)]
        found = {each.range: each for each in tally(RANGES, batches, with_offsets=True)}
        assert set(found) == set(RANGES)
        for covered_range, each in found.items():
            wanted = range(covered_range.start, covered_range.end)
            assert each.offsets == OffsetSet.of(wanted)
            assert each.read.count == len(covered_range)
            assert each.content_sum == sum(at + 5 for at in wanted)


def test_one_span_per_partition_is_read() -> None:
    assert list(spans(RANGES)) == [
        OffsetRange(TOPIC, TOPIC_ID, 0, 10, 50),
        OffsetRange("other", "id-2", 0, 0, 5),
    ]
