"""`check` judges a feed as its owner would; every new command explains itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.cli.commands.check import Finding, _check_schemas, _registry, _tell_topics
from penstock.cli.main import main
from penstock.config.load import load
from penstock.errors import ClusterChanged, GapFound, TopicMissing, TopicReplaced
from penstock.feeds.errors import StartBeyondLog, StartIncomplete
from penstock.feeds.next_window import NextWindow, judge_feed, next_window
from penstock.model.entries import Park
from penstock.model.spec import DecodeSpec, FeedSpec, StartSpec
from penstock.model.window import Available, PartitionOffsets, Place, TopicOffsets
from penstock.ports.registry.errors import RegistryDown
from penstock.protocol.feed_book.state import FeedState
from penstock.protocol.loop.errors import FormatChanged, TopicWithoutId
from tests.helpers.journals import BEGINNING, told
from tests.simulator.kafka import CLUSTER, TOPIC, TOPIC_ID

FEED = FeedSpec(name="events", topics=(TOPIC,))
STATE = told(*BEGINNING)


def kafka(cluster: str = CLUSTER, topic_id: str = TOPIC_ID, earliest: int = 0) -> Available:
    held = {p: PartitionOffsets(earliest, 50) for p in (0, 1)}
    return Available(cluster, (TopicOffsets(TOPIC, topic_id, held),))


@pytest.mark.parametrize(
    ("available", "error"),
    [
        (kafka(cluster="other"), ClusterChanged),
        (kafka(topic_id="new"), TopicReplaced),
        (Available(CLUSTER, ()), TopicMissing),
        (kafka(earliest=9), GapFound),
    ],
)
def test_what_would_stop_the_owner_is_found(available: Available, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        judge_feed(FEED, STATE, available)
    finding = Finding("feed")
    finding.fail(raised.value)  # type: ignore[arg-type]
    assert (finding.state, finding.exit_code) == ("halted", 5)


@dataclass(frozen=True)
class Looked:
    """A source that says what it is told to say."""

    available: Available
    groups: Mapping[str, Mapping[Place, int]] = field(default_factory=dict)

    def look(self) -> Available:
        return self.available

    def group_offsets(self, group: str) -> Mapping[Place, int]:
        return self.groups.get(group, {})


def test_a_first_start_is_judged_as_the_owner_would() -> None:
    """Starts from a group: the offsets that result, those that are missing, gone or beyond."""
    there = kafka(earliest=3)
    (topic,) = there.topics
    start = StartSpec(kind="group", group="old")
    feed = FeedSpec(name="events", topics=(TOPIC,), start=start)
    places = [(TOPIC, partition) for partition in topic.partitions]

    def begun(offset: int | None, **changes: Any) -> NextWindow:
        offsets = {} if offset is None else dict.fromkeys(places, offset)
        asked = msgspec.structs.replace(feed, **changes)
        return next_window(asked, FeedState(), there, Looked(there, {"old": offsets}))

    assert set(begun(4).starts.values()) == {4}
    with pytest.raises(StartIncomplete, match=rf"'old'.*has no offset for .*{TOPIC}/0"):
        begun(None)
    filled = msgspec.structs.replace(start, missing="earliest")
    with pytest.raises(StartIncomplete, match="no offset for any partition of this feed"):
        begun(None, start=filled)
    with pytest.raises(GapFound):
        begun(1)
    assert {each.start for each in begun(1, on_gap="accept").ranges} == {3}
    with pytest.raises(StartBeyondLog, match="read from 10000 on"):
        begun(10_000)


def test_a_topic_without_an_id_of_its_own_stops_a_feed_before_it_reads() -> None:
    """Brokers before Kafka 2.8 give all topics the same id."""
    for topic_id in ("", "0"):
        (topic,) = kafka(topic_id=topic_id).topics
        other = msgspec.structs.replace(topic, topic="other")
        there = Available(CLUSTER, (topic, other))
        with pytest.raises(TopicWithoutId, match="no topic id"):
            judge_feed(FeedSpec(name="events", topics=(TOPIC,)), FeedState(), there)


def test_a_gap_that_the_configuration_accepts_stops_nothing() -> None:
    feed = FeedSpec(name="events", topics=(TOPIC,), on_gap="accept")
    gap = judge_feed(feed, STATE, kafka(earliest=9))
    assert gap is not None
    assert gap.end == 9
    found = next_window(feed, STATE, kafka(earliest=9), Looked(kafka(earliest=9)))
    assert {each.start for each in found.ranges} == {9}, "what is lost counts as passed"


def test_a_topic_that_the_feed_no_longer_asks_for_may_be_gone() -> None:
    gone = Available(CLUSTER, ())
    assert judge_feed(FeedSpec(name="events", topics=("else",)), STATE, gone) is None


def test_another_format_stops_the_check_as_it_stops_a_run() -> None:
    feed = FeedSpec(name="events", topics=(TOPIC,), format="orc")
    with pytest.raises(FormatChanged):
        judge_feed(feed, STATE, kafka())
    new = FeedState()
    assert judge_feed(feed, new, kafka()) is None, "a feed that never ran may choose"


def test_what_waits_for_a_person_is_told_apart_from_what_failed() -> None:
    state = told(*BEGINNING, Park("b", 3, "no space"))
    state.parked["a"], state.stopped = "records came", ["a"]
    feed = FeedSpec(name="events", topics=(TOPIC,), decode=DecodeSpec(incompatible="stop"))
    finding = Finding("feed")
    _tell_topics(finding, feed, state, kafka(), Looked(kafka()))
    parked, stopped = finding.found[1:]
    assert "DATASET_PARKED" in parked
    assert "b: no space" in parked
    assert "SCHEMAS_INCOMPATIBLE" in stopped
    assert "records came" in stopped
    assert finding.exit_code == 5


def test_a_registry_and_schemas_that_cannot_be_used_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.avsc").write_text('{"type": "record", "name": "R", "fields": []}')
    (tmp_path / "penstock.yaml").write_text(
        "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:1'}\n"
        "registry: {url: 'http://127.0.0.1:1', timeout: 1s}\nfeeds:\n"
        "  a: {topics: [a], decode: {format: avro, schema: bad.avsc}}\n"
        "  b: {topics: [b], decode: {format: text, pattern: '(?P<a>x)(?=y)'}}\n"
    )
    found: list[Finding] = []
    spec = load(tmp_path / "penstock.yaml", {})
    for feed in spec.feeds:
        _check_schemas(feed, found.append)
    assert [(each.what, each.exit_code) for each in found] == [("schema a", 2), ("schema b", 2)]
    assert all("SCHEMA_REFUSED" in each.found[0] for each in found)
    with pytest.raises(RegistryDown):
        _registry(spec)
    assert capsys.readouterr().out == ""


def test_converters_that_cannot_work_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = '[{"name": "n", "type": "long"}]'
    (tmp_path / "r.avsc").write_text(f'{{"type": "record", "name": "R", "fields": {fields}}}')
    (tmp_path / "penstock.yaml").write_text(
        "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:1'}\nfeeds:\n"
        "  a: {topics: [a], convert: [{hash: {x: '${env:NO_SUCH_SECRET}'}}]}\n"
        "  b: {topics: [b], convert: [{plugin: nobody-has-this}]}\n"
        "  c: {topics: [c], datasets: {c: {schema: r.avsc}}, convert: [{flatten: [n]}]}\n"
        "  d: {topics: [d], convert: [{drop: [n]}]}\n"
    )
    monkeypatch.delenv("NO_SUCH_SECRET", raising=False)
    found: list[Finding] = []
    spec = load(tmp_path / "penstock.yaml", {})
    for feed in spec.feeds:
        _check_schemas(feed, found.append)
    assert [(each.what, each.exit_code) for each in found] == [
        ("convert a", 2),
        ("plug-ins b", 2),
        ("convert c", 2),
    ]
    codes = ("CONFIG_INVALID", "PLUGIN_UNKNOWN", "CONVERT_REFUSED")
    assert all(code in each.found[0] for code, each in zip(codes, found, strict=True))


def test_fields_that_are_hidden_in_rows_and_name_directories_are_told(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(
        "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'localhost:1'}\nfeeds:\n"
        "  a: {topics: [a], route: {by: 'field:type'}, partition: [day, 'field:user.land'],\n"
        "      convert: [{rename: {user: person}}, {mask: [person.land]}, {drop: [type]}]}\n"
        "  b: {topics: [b], partition: ['field:user.land'], convert: [{drop: [user]}]}\n"
        "  c: {topics: [c], partition: ['field:land'], convert: [{mask: [user.land, mail]}]}\n"
        "  d: {topics: [d], route: {by: 'field:type'}, partition: ['field:land'],\n"
        "      datasets: {x: {partition: [day]}, y: {partition: ['field:mail']}},\n"
        "      convert: [{drop: [land], datasets: [x]}, {mask: [mail], datasets: [y]}]}\n"
    )
    found: list[Finding] = []
    spec = load(tmp_path / "penstock.yaml", {})
    for feed in spec.feeds:
        _check_schemas(feed, found.append)
    told = [(each.what, each.state, each.exit_code, len(each.found)) for each in found]
    assert told == [
        ("convert a", "warning", 0, 2),
        ("convert b", "warning", 0, 1),
        ("convert d", "warning", 0, 1),
    ]
    sentences = [sentence for each in found for sentence in each.found]
    assert [sentence.split(": the")[0] for sentence in sentences] == [
        "route by field:type",
        "partition by field:user.land",
        "partition by field:user.land",
        "partition by field:mail",
    ]
    assert "in the clear" in sentences[0]
    assert ["`drop`" in each for each in sentences] == [True, False, True, False]


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["offsets"],
        *(["offsets", verb] for verb in ("show", "reset", "accept-gap", "rebind")),
    ],
)
def test_help_ends_with_an_example(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--help"])
    assert ended.value.code == 0
    last = capsys.readouterr().out.rstrip().rpartition("\n\n")[2]
    assert last.startswith(f"example: penstock {' '.join(words)}")


@pytest.mark.parametrize(
    "words",
    [
        ["reset", "events"],
        ["reset", "events", "--to-latest", "--to-earliest"],
        ["reset", "events", "--to-offset", "-1"],
        ["reset", "events", "--topic", "a:x", "--to-latest"],
        ["rebind", "events"],
        ["rebind", "events", "--topic", "a", "--to-latest", "--to-earliest"],
    ],
)
def test_words_that_make_no_sense_are_bad_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["offsets", *words])
    assert ended.value.code == 2


@pytest.mark.parametrize("reason", [[], ["--reason", ""], ["--reason", "  "]])
@pytest.mark.parametrize(
    "words",
    [
        ["reset", "events", "--to-latest"],
        ["accept-gap", "events"],
        ["rebind", "events", "--topic", "t"],
    ],
)
def test_what_a_person_decides_needs_a_reason_before_anything_else_is_looked_at(
    words: list[str], reason: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is not even a configuration: it would be the first thing to be read."""
    absent = str(tmp_path / "penstock.yaml")
    assert main(["offsets", *words, *reason, "--execute", "-c", absent]) == 2
    err = capsys.readouterr().err
    assert "USAGE" in err
    assert "--reason" in err
