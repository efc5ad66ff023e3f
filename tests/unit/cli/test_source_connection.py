"""Commands ask the source of a feed, whichever it is, and say what it cannot do."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli import source_connection
from penstock.cli.client_settings import java_options, source_options
from penstock.cli.errors import UsageMistake
from penstock.cli.main import main
from penstock.cli.source_connection import (
    AskedKafka,
    AskedSources,
    asking_sources,
    group_offsets,
    not_answered,
    offsets_at,
)
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.model.spec import FeedSpec, LakeSpec, SourceSpec
from penstock.model.window import PartitionOffsets
from penstock.ports.source.kafka.told_waiting import ToldWaiting
from penstock.testing.list_source import ListCluster, ListedRecord, ListSource
from tests.helpers.installed_packages import install_package, look_for_packages_again
from tests.plugins.acme.acme_penstock.tape_source import TapeSource
from tests.plugins.tapes import Tapes

FILE = """version: 1
lake: ./lake
feeds: {{orders: {{topics: [orders], {keys}}}}}
"""
TAPE = "source: {plugin: tape, options: {directory: DIRECTORY}}"
FEED = FeedSpec(name="orders", topics=("orders",), source=SourceSpec("tape"))


@pytest.fixture
def tapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tapes]:
    """A topic with three records, and an installed source that reads it."""
    target = f"{TapeSource.__module__}:TapeSource"
    entries = {"penstock.sources": {"tape": target}}
    install_package(tmp_path / "packages", "acme-penstock", entries, {})
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    tapes = Tapes(tmp_path / "tapes")
    tapes.create_topic("orders")
    tapes.append("orders", 0, *(ListedRecord(b"%d" % number) for number in range(3)))
    yield tapes
    look_for_packages_again()


def written(folder: Path, tapes: Tapes, more: str = "") -> Path:
    keys = TAPE.replace("DIRECTORY", str(tapes.directory)) + more
    (folder / "penstock.yaml").write_text(FILE.format(keys=keys))
    return folder / "penstock.yaml"


def checked(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, str]]:
    code = main(["check", "-c", str(file), "--output", "json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return code, {row["what"]: " ".join(row["found"]) for row in found}


def test_a_source_is_asked_without_kafka_and_without_spark(tmp_path: Path, tapes: Tapes) -> None:
    spec = load(written(tmp_path, tapes), {})
    with asking_sources(spec) as sources:
        source = sources.of(spec.feeds[0])
        (topic,) = source.look().topics
    assert topic.partitions == {0: PartitionOffsets(0, 3)}
    with pytest.raises(UsageMistake, match="does not know consumer groups"):
        group_offsets(source, spec.feeds[0], "g")


def test_check_plans_the_next_window_of_any_source(
    tmp_path: Path, tapes: Tapes, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(written(tmp_path, tapes), capsys)
    assert code == 0
    assert "next window: 3 records of 1 partition" in found["feed orders"]
    assert not {"kafka", "jars"} & found.keys()


def test_check_says_that_a_source_cannot_begin_at_a_time(
    tmp_path: Path, tapes: Tapes, capsys: pytest.CaptureFixture[str]
) -> None:
    code, found = checked(written(tmp_path, tapes, ", start: 2026-11-01T00:00:00Z"), capsys)
    assert code == 2
    assert "START_NOT_RESOLVED" in found["feed orders"]


def test_a_source_that_is_gone_or_unknown_fails_its_feed_alone(
    tmp_path: Path, tapes: Tapes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, tapes)
    text = file.read_text().replace("/tapes", "/elsewhere")
    file.write_text(text)
    code, found = checked(file, capsys)
    assert (code, "lake" in found) == (1, True)
    assert "SOURCE_UNAVAILABLE: The tapes in" in found["feed orders"]
    file.write_text(text.replace("plugin: tape", "plugin: tapes"))
    code, found = checked(file, capsys)
    assert code == 2
    assert "PLUGIN_UNKNOWN" in found["feed orders"]
    assert "did you mean 'tape'?" in found["feed orders"]


def test_the_offset_of_a_time_is_asked_for_or_refused_in_one_sentence(
    tmp_path: Path, tapes: Tapes
) -> None:
    cluster = ListCluster()
    cluster.create_topic("orders")
    cluster.append("orders", 0, *(ListedRecord(b"", None, (), 10 * n) for n in range(3)))
    wanted = {("orders", 0): 15}
    assert offsets_at(ListSource(FEED, cluster), FEED, wanted) == {("orders", 0): 2}
    with pytest.raises(UsageMistake, match="source 'tape' of feed 'orders' cannot find the offset"):
        offsets_at(tapes.open("orders"), FEED, wanted)


def test_a_partition_that_cannot_be_read_is_told_with_the_source(tmp_path: Path) -> None:
    lake = load(_kafka(tmp_path), {}).lake
    kafka = LakeSpec(lake=lake, kafka={"bootstrap.servers": "here:1"})
    assert not_answered(kafka, FeedSpec(name="a"))("a/0: gone").code == "KAFKA_UNAVAILABLE"
    told = not_answered(LakeSpec(lake=lake), FEED)("orders/0: gone")
    assert (told.code, told.found) == (
        "SOURCE_UNAVAILABLE",
        "The source 'tape' did not answer: orders/0: gone.",
    )


def _kafka(folder: Path) -> Path:
    file = folder / "kafka.yaml"
    file.write_text(FILE.format(keys="tombstones: keep") + "kafka: {bootstrap.servers: 'here:1'}\n")
    return file


CLUSTERS = """version: 1
lake: ./lake
kafka: {bootstrap.servers: 'east:1', ssl.key.password: "${env:EAST}"}
feeds:
  a: {topics: [t]}
  b: {topics: [t]}
  c: {topics: [t], kafka: {bootstrap.servers: 'west:1', ssl.key.password: "${env:WEST}"}}
  d: {topics: [t], kafka: {sasl.oauthbearer.token.endpoint.url: "https://id/d"}}
"""


class SeenAdmin:
    """A client that remembers what it was made with."""

    made: list[dict[str, str]]

    def __init__(self, _jvm: object, options: dict[str, str], _waiting: object) -> None:
        self.options = options
        self.made.append(options)

    def close(self) -> None:
        """Nothing to close."""


def test_settings_of_one_feeds_kafka_never_reach_the_client_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: secrets of one cluster are sent to no other. Method: clients that remember settings."""
    (tmp_path / "penstock.yaml").write_text(CLUSTERS)
    spec = load(tmp_path / "penstock.yaml", {})
    monkeypatch.setenv("EAST", "salt")
    monkeypatch.setenv("WEST", "pepper")
    monkeypatch.setattr(SeenAdmin, "made", [], raising=False)
    monkeypatch.setattr(source_connection, "KafkaAdmin", SeenAdmin)
    monkeypatch.setattr(AskedSources, "_jvm", None)
    monkeypatch.setattr(ToldWaiting, "begin", lambda _: None)  # nobody is asked
    with asking_sources(spec) as sources:
        asked = {feed.name: sources.of(feed) for feed in spec.feeds}
        assert sources.kafka(spec.feeds[0]) is sources.kafka(spec.feeds[1])
    assert len(SeenAdmin.made) == 3, "a and b have the same settings"
    options = {name: each.options for name, each in asked.items() if isinstance(each, AskedKafka)}
    assert options["a"] == options["b"]
    words = {name: " ".join(each.values()) for name, each in options.items()}
    assert ("salt" in words["a"], "pepper" in words["a"], "id/d" in words["a"]) == (1, 0, 0)
    assert ("salt" in words["c"], "pepper" in words["c"], "east" in words["c"]) == (0, 1, 0)
    assert ("salt" in words["d"], "pepper" in words["d"], "id/d" in words["d"]) == (1, 0, 1)


def test_the_jvm_of_all_feeds_allows_the_token_endpoints_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "penstock.yaml").write_text(CLUSTERS)
    spec = load(tmp_path / "penstock.yaml", {})
    monkeypatch.setenv("EAST", "salt")
    monkeypatch.delenv("WEST", raising=False)
    (option,) = java_options(spec)
    assert option.endswith("allowed.urls=https://id/d"), "although a secret of c is missing"
    with pytest.raises(ConfigInvalid, match=r"feeds\.c\.kafka"):
        source_options(spec, spec.feeds[2])
