"""The example file and docs/configuration.md say what the code does."""

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from penstock.config.example import example_text
from penstock.config.load import all_keys, load
from penstock.model.spec import FeedSpec, LakeSpec, RouteSpec, TimeSpec
from penstock.ports.store.open_store import local_spec

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"
FILE = "version: 1\nlake: ./lake\nkafka: {{bootstrap.servers: 'localhost:9092'}}\nfeeds:\n  a: {}\n"
NOT_A_DEFAULT = frozenset({"required", "none", "the feed's"})

# What a key needs beside it.
BESIDE = {
    "source.options": "{topics: [t], source: {plugin: x}}",
    "route.options": "{topics: [t], route: {by: 'plugin:x'}}",
    "per_topic": "{topics: [d]}",
    "per_topic.NAME.window": "{topics: [d]}",
    "per_topic.NAME.window.every": "{topics: [d]}",
    "per_topic.NAME.window.max_records": "{topics: [d]}",
    "per_topic.NAME.window.max_bytes": "{topics: [d]}",
    "per_topic.NAME.window.max_rate": "{topics: [d]}",
    "finalize.day": "{topics: [t], finalize: {hour: true}}",
    "finalize.hour": "{topics: [t], finalize: {}}",
    "finalize.delay": "{topics: [t], finalize: {}}",
    "text": "{topics: [t], format: text}",
    "text.line_ends": "{topics: [t], format: text}",
    "sequencefile": "{topics: [t], format: sequencefile}",
    "sequencefile.key": "{topics: [t], format: sequencefile}",
    "backup": "{topics: [t]}\n  raw_events: {topics: [t], decode: {format: raw}}",
    "decode.schema": "{topics: [t], decode: {format: avro}}",
    "decode.message": "{topics: [t], decode: {format: protobuf}}",
    "decode.protocol": "{topics: [t], decode: {format: thrift, schema: click.thrift}}",
    "decode.pattern": "{topics: [t], decode: {format: text}}",
    "decode.delimiter": "{topics: [t], decode: {format: text, columns: [a]}}",
    "decode.columns": "{topics: [t], decode: {format: text, delimiter: ','}}",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tables of keys."""

    key: str
    default: str
    example: str

    @property
    def path(self) -> str:
        """The key as a flag: in feed `a`, in dataset `d`."""
        return self.key.replace("feeds.NAME", "feeds.a").replace("NAME", "d")


def rows() -> list[Row]:
    """Every line of a table with five columns whose first one is a key."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 5 and cells[0].startswith("`"):
            found.append(Row(cells[0].strip("`"), cells[2], cells[3]))
    return found


def loaded(folder: Path, row: Row, value: str | None) -> LakeSpec:
    """A small configuration, with one key set as if by a flag."""
    topics = "{pattern: 'logs.*'}" if row.key.endswith(("pattern", "exclude")) else "{topics: [t]}"
    topics = BESIDE.get(row.key.removeprefix("feeds.NAME."), topics)
    (folder / "click.thrift").write_text("struct Click { 1: i64 id }")
    more = "prices: {plugin: x}\n" if row.key == "prices.options" else ""
    more += "run: {pools: {bulk: 1}}\n" if row.key == "feeds.NAME.pool" else ""
    (folder / "penstock.yaml").write_text(FILE.format(topics) + more)
    return load(folder / "penstock.yaml", {}, {} if value is None else {row.path: value})


def test_the_page_has_every_key_once_and_no_other() -> None:
    assert sorted(row.key for row in rows()) == sorted(all_keys())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
def test_a_documented_default_is_what_happens_without_the_key(tmp_path: Path, row: Row) -> None:
    if row.default not in NOT_A_DEFAULT:
        assert row.default.startswith("`")
        given = loaded(tmp_path, row, row.default.strip("`"))
        assert given == loaded(tmp_path, row, None)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
def test_a_documented_example_can_be_loaded(
    tmp_path: Path, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "page_view.avsc").write_text("{}")
    monkeypatch.chdir(tmp_path)
    loaded(tmp_path, row, row.example.strip("`"))


def test_every_whole_file_of_the_page_can_be_loaded(tmp_path: Path) -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    whole = [block for block in blocks if block.startswith("version:")]
    assert whole
    for block in whole:
        (tmp_path / "penstock.yaml").write_text(block)
        load(tmp_path / "penstock.yaml", {})


def test_the_example_file_loads_and_spells_out_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(example_text())
    spec = load(tmp_path / "penstock.yaml", {})
    assert spec == LakeSpec(
        lake=local_spec(tmp_path / "lake"),
        kafka={"bootstrap.servers": "localhost:9092"},
        spark={"spark.master": "local[2]"},
        feeds=(
            FeedSpec(
                name="events",
                topics=("events",),
                route=RouteSpec("field", "type"),
                time=TimeSpec(field="event_time"),
            ),
        ),
    )


def test_the_example_file_loads_with_its_comments_taken_away(tmp_path: Path) -> None:
    """Goal: what a user uncomments is valid. Method: uncomment all indented and keyed lines."""
    text = re.sub(r"^( *)# (?= *[a-z_.]+:|  )", r"\1", example_text(), flags=re.MULTILINE)
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "page_view.avsc").write_text("{}")
    (tmp_path / "penstock.yaml").write_text(text)
    spec = load(tmp_path / "penstock.yaml", {})
    assert "${env:KAFKA_PASSWORD}" in spec.kafka["sasl.jaas.config"]
    assert spec.feeds[0].datasets[0].team == "web"


def test_the_example_file_explains_every_key() -> None:
    text = example_text()
    missing = [key for key in all_keys() if not re.search(rf"\b{key.split('.')[-1]}:", text)]
    assert missing == []


def test_the_defaults_of_the_spec_are_plain_values() -> None:
    """A default that does not survive its JSON form could not be compared with a loaded one."""
    feed = FeedSpec(name="a", topics=("t",))
    assert msgspec.json.decode(msgspec.json.encode(feed), type=FeedSpec) == feed
