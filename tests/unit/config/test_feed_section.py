"""What may stand below a feed: each rule with values that pass and values that do not."""

from pathlib import Path

import msgspec
import pytest

from penstock.config.clients import reveal_feed_kafka, reveal_source
from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.model.convert_spec import Condition
from penstock.model.fork import ForkSpec
from penstock.model.spec import (
    DecodeSpec,
    FeedSpec,
    FinalizeSpec,
    PartitionKey,
    PartitionKind,
    RouteSpec,
    SourceSpec,
    StartSpec,
    TopicSpec,
    WindowSpec,
)
from tests.helpers.feed_sections import HEAD, feed_of, mistake_of, spec_of

HOUR_MS = 3_600_000
PIECES: tuple[PartitionKind, ...] = ("day", "hour", "minute")


def test_a_feed_that_says_little_gets_the_defaults_of_the_spec(tmp_path: Path) -> None:
    assert feed_of(tmp_path, "") == FeedSpec(name="events", topics=("events",))


@pytest.mark.parametrize("name", ["e", "0", "web-events_2", "a" * 100])
def test_a_feed_name_of_small_letters_and_digits_passes(tmp_path: Path, name: str) -> None:
    (feed,) = spec_of(tmp_path, f"{HEAD}feeds: {{'{name}': {{topics: [a]}}}}\n").feeds
    assert feed.name == name


@pytest.mark.parametrize("name", ["Events", "_a", "-a", "a.b", "a/b", "é", "a b", "a" * 101])
def test_any_other_feed_name_is_a_mistake(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigInvalid, match="feed name") as caught:
        spec_of(tmp_path, f"{HEAD}feeds:\n  '{name}': {{topics: [a]}}\n")
    assert caught.value.mistakes[0].line == 5


def test_a_bad_name_hides_no_mistake_below_it(tmp_path: Path) -> None:
    text = (
        f"{HEAD}feeds:\n  Events:\n    topics: [a]\n    window: {{evry: 3s}}\n"
        "    datasets: {'${env:A}': {ownr: me}}\n"
    )
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(tmp_path, text)
    found = [mistake.found for mistake in caught.value.mistakes]
    assert len(found) == 4
    assert found[:2] == ["found the feed name 'Events'", "unknown key"]
    assert found[2].startswith("a reference to a secret")
    assert found[3] == "unknown key"


@pytest.mark.parametrize("feeds", ["feeds:", "feeds: {}"])
def test_a_file_without_feeds_is_a_mistake(tmp_path: Path, feeds: str) -> None:
    with pytest.raises(ConfigInvalid, match="at least one feed"):
        spec_of(tmp_path, f"{HEAD}{feeds}\n")


def test_topics_come_from_a_list_or_a_pattern(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "exclude: [logs.debug]", topics=r'pattern: "logs\\..*"')
    assert (feed.topics, feed.pattern, feed.exclude) == ((), r"logs\..*", ("logs.debug",))


@pytest.mark.parametrize(
    ("topics", "keys", "line", "path", "words"),
    [
        ("topics: [a]", "pattern: b", 7, "pattern", "both `topics` and `pattern`"),
        ("on_gap: stop", "", 5, "", "no topics"),
        ("topics: [a]", "exclude: [b]", 7, "exclude", "`exclude` without `pattern`"),
        ("topics: a", "", 6, "topics", "found 'a'"),
        ("topics: []", "", 6, "topics", "found an empty list"),
        ("topics: [a, a]", "", 6, "topics[1]", "'a' is there twice"),
        ("topics: ['a b']", "", 6, "topics[0]", "found 'a b'"),
        ("topics: ['..']", "", 6, "topics[0]", "found '..'"),
        ("topics: [[a]]", "", 6, "topics[0]", "found a list"),
        ("pattern: '(a'", "", 6, "pattern", "found '(a'"),
        ("pattern: ''", "", 6, "pattern", "found nothing"),
    ],
)
def test_what_no_topics_can_be_is_a_mistake_with_its_line(
    tmp_path: Path, topics: str, keys: str, line: int, path: str, words: str
) -> None:
    mistake = mistake_of(tmp_path, keys, topics)
    full = f"feeds.events.{path}".rstrip(".")
    assert (mistake.line, mistake.path, mistake.found) == (line, full, words)


@pytest.mark.parametrize(
    ("keys", "start"),
    [
        ("start: earliest", StartSpec()),
        ("start: latest", StartSpec(kind="latest")),
        ("start: 1970-01-01T02:00:00Z", StartSpec(kind="time", time_ms=2 * HOUR_MS)),
        ("start: 1970-01-01T02:00:00.5+01:00", StartSpec(kind="time", time_ms=HOUR_MS + 500)),
        (
            "start: {events: {0: 1200, 1: 800}}",
            StartSpec(kind="offsets", offsets={"events": {0: 1200, 1: 800}}),
        ),
    ],
)
def test_a_feed_starts_in_many_ways(tmp_path: Path, keys: str, start: StartSpec) -> None:
    assert feed_of(tmp_path, keys).start == start


def test_a_feed_starts_where_another_consumer_stopped(tmp_path: Path) -> None:
    (tmp_path / "offsets.csv").write_text("topic,partition,offset\nevents,0,12\nevents, 1 ,7\n\n")
    found = feed_of(tmp_path, "start: {file: offsets.csv}").start
    assert found == StartSpec(kind="file", offsets={"events": {0: 12, 1: 7}})
    found = feed_of(tmp_path, "start: {group: old, missing: earliest}").start
    assert found == StartSpec(kind="group", group="old", missing="earliest")
    found = feed_of(tmp_path, "start: {group: {0: 1}}", topics="topics: [group]").start
    assert found == StartSpec(kind="offsets", offsets={"group": {0: 1}}), "a topic of that name"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("events,0", "line 1"),
        ("topic,partition,offset\nevents,0,x", "line 2"),
        ("events,0,1\nevents,0,2", "line 2"),
        ("events,-1,1", "line 1"),
        ("topic,partition,offset\n", "no offset"),
        ("\xff", "UTF-8"),
    ],
)
def test_a_wrong_line_of_a_file_with_offsets_is_named(tmp_path: Path, text: str, why: str) -> None:
    absent = mistake_of(tmp_path, "start: {file: offsets.csv}")
    assert "cannot be read: No such file" in str(absent)
    (tmp_path / "offsets.csv").write_bytes(text.encode("latin-1"))
    assert why in str(mistake_of(tmp_path, "start: {file: offsets.csv}"))


@pytest.mark.parametrize(
    ("keys", "path", "words"),
    [
        ("start: yesterday", "start", "found 'yesterday'"),
        ("start: 2026-11-01", "start", "found '2026-11-01'"),
        ("start: 2026-11-01T00:00:00", "start", "found '2026-11-01T00:00:00'"),
        ("start: 1969-01-01T00:00:00Z", "start", "found '1969-01-01T00:00:00Z'"),
        ("start: {}", "start", "found an empty mapping"),
        ("start: {events: 5}", "start.events", "found '5'"),
        ("start: {events: {}}", "start.events", "found a mapping"),
        ("start: {events: {0: -1}}", "start.events.0", "found '0': '-1'"),
        ("start: {events: {a: 1}}", "start.events.a", "found 'a': '1'"),
        ("start: {events: {0: [1]}}", "start.events.0", "found '0': a list"),
        ("start: {events: {0: 1, 00: 2}}", "start.events.00", "the partition is there twice"),
        ("start: {event: {0: 1}}", "start.event", "a topic that the feed does not read"),
        ("start: {group: ''}", "start", "found nothing"),
        ("start: {group: g, file: f}", "start", "both `group` and `file`"),
        ("start: {group: g, events: {0: 1}}", "start.events", "unknown key"),
        ("start: {group: g, missing: latest}", "start.missing", "found 'latest'"),
    ],
)
def test_any_other_start_is_a_mistake(tmp_path: Path, keys: str, path: str, words: str) -> None:
    mistake = mistake_of(tmp_path, keys)
    assert (mistake.line, mistake.path, mistake.found) == (7, f"feeds.events.{path}", words)


def test_a_word_that_is_almost_right_gets_a_guess(tmp_path: Path) -> None:
    assert mistake_of(tmp_path, "start: earlist").meant == "earliest"
    assert mistake_of(tmp_path, "start: {event: {0: 1}}").meant == "events"
    assert mistake_of(tmp_path, "on_gap: stopp").meant == "stop"
    assert mistake_of(tmp_path, "partition: [days]").meant == "day"


@pytest.mark.parametrize(
    ("by", "route"),
    [
        ("topic", RouteSpec()),
        ("header:event-type", RouteSpec("header", "event-type")),
        ("field:meta.type", RouteSpec("field", "meta.type")),
    ],
)
def test_a_record_is_routed_in_three_ways(tmp_path: Path, by: str, route: RouteSpec) -> None:
    assert feed_of(tmp_path, f"route: {{by: '{by}'}}").route == route


@pytest.mark.parametrize("by", ["schemas", "topics", "header:", "field:", "field:a..b", "x:y"])
def test_any_other_route_is_a_mistake(tmp_path: Path, by: str) -> None:
    mistake = mistake_of(tmp_path, f"route: {{by: '{by}'}}")
    assert (mistake.line, mistake.path) == (7, "feeds.events.route.by")


@pytest.mark.parametrize("table", ["iceberg", "delta"])
def test_a_table_is_not_a_file_format(tmp_path: Path, table: str) -> None:
    mistake = mistake_of(tmp_path, f"format: {table}")
    assert "a table is not a file format" in mistake.found
    assert mistake.allowed == "avro | jsonl | orc | parquet | sequencefile | text"


def test_a_compression_is_one_that_the_format_takes(tmp_path: Path) -> None:
    for keys in ("compression: zstt", "{format: orc, compression: zstt}"):
        mistake = mistake_of(tmp_path, keys.strip("{}").replace(", ", "\n    "))
        assert mistake.path == "feeds.events.compression"
        assert mistake.allowed == "zstd | snappy | gzip | lz4 | none"
        assert "zstd" in mistake.meant


@pytest.mark.parametrize(
    ("form", "allowed"),
    [("avro", "zstd | snappy | deflate | none"), ("jsonl", "zstd | gzip | none")],
)
def test_each_format_has_compressions_of_its_own(tmp_path: Path, form: str, allowed: str) -> None:
    for each in allowed.split(" | "):
        feed = feed_of(tmp_path, f"format: {form}\n    compression: {each}")
        assert (feed.format, feed.compression) == (form, each)
    assert feed_of(tmp_path, f"format: {form}").compression == "zstd"
    mistake = mistake_of(tmp_path, f"format: {form}\n    compression: lz4")
    assert (mistake.path, mistake.allowed) == ("feeds.events.compression", allowed)


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("decode: {schema: a.avsc}", "decode.schema"),
        ("route: {by: schema}", "route"),
    ],
)
def test_what_needs_records_with_a_schema_is_a_mistake_for_json(
    tmp_path: Path, keys: str, path: str
) -> None:
    (tmp_path / "a.avsc").write_text("{}")
    assert mistake_of(tmp_path, keys).path == f"feeds.events.{path}"
    feed = feed_of(tmp_path, "decode: {format: avro, schema: a.avsc}\n    route: {by: schema}")
    assert feed.decode == DecodeSpec("avro", schema_text="{}")
    assert feed.route == RouteSpec("schema", "schema")


@pytest.mark.parametrize("key", ["registry", "dispersals"])
def test_empty_sections_of_later_versions_are_no_mistake(tmp_path: Path, key: str) -> None:
    for nothing in ("", " {}", " ~"):
        spec_of(tmp_path, f"{HEAD}{key}:{nothing}\nfeeds: {{a: {{topics: [a]}}}}\n")


@pytest.mark.parametrize(
    ("keys", "partition"),
    [
        ("[day]", (PartitionKey("day"),)),
        ("[day, hour, minute]", tuple(PartitionKey(piece) for piece in PIECES)),
        ("['field:user.country', day]", (PartitionKey("field", "user.country"), PartitionKey())),
        ("['field:a', 'field:b']", (PartitionKey("field", "a"), PartitionKey("field", "b"))),
    ],
)
def test_partitions_are_pieces_of_the_time_and_fields(
    tmp_path: Path, keys: str, partition: tuple[PartitionKey, ...]
) -> None:
    assert feed_of(tmp_path, f"partition: {keys}").partition == partition


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("[]", "partition"),
        ("day", "partition"),
        ("[hour]", "partition"),
        ("[hour, day]", "partition"),
        ("[day, minute]", "partition"),
        ("[day, day]", "partition[1]"),
        ("[day, month]", "partition[1]"),
        ("['field:']", "partition[0]"),
    ],
)
def test_any_other_partition_is_one_mistake(tmp_path: Path, keys: str, path: str) -> None:
    mistake = mistake_of(tmp_path, f"partition: {keys}")
    assert (mistake.line, mistake.path) == (7, f"feeds.events.{path}")


def test_a_declared_dataset_brings_the_text_of_its_schema(tmp_path: Path) -> None:
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "a.avsc").write_text('{"type": "record", "name": "a", "fields": []}')
    (tmp_path / "b.json").write_text('{"type": "object"}')
    keys = (
        "datasets: {a: {schema: schemas/a.avsc, team: web, partition: [day, hour]}, "
        "B.2: {schema: b.json}, c: }"
    )
    first, second, third = feed_of(tmp_path, keys).datasets
    assert (first.route, first.schema_kind, first.team) == ("a", "avsc", "web")
    assert first.schema_text == '{"type": "record", "name": "a", "fields": []}'
    assert first.partition == (PartitionKey("day"), PartitionKey("hour"))
    assert (second.route, second.schema_kind) == ("B.2", "jsonschema")
    assert (third.route, third.schema_kind, third.partition) == ("c", None, None)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.avsc", None, "there is no file"),
        ("a.proto", b"{}", "found 'a.proto'"),
        ("a.avsc", b"{", "is not JSON"),
        ("a.avsc", b"", "is not JSON"),
        ("a.json", b"[1]", "is not a JSON object"),
        ("a.json", b"\xff", "cannot be read as UTF-8"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json", b" " * 1_000_001, "too large"),
    ],
)
def test_a_schema_that_is_no_json_object_is_a_mistake(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    mistake = mistake_of(tmp_path, f"datasets: {{a: {{schema: {name}}}}}")
    assert (mistake.line, mistake.path) == (7, "feeds.events.datasets.a.schema")
    assert words in mistake.found


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ("unknown: quarantine", "unknown", "quarantine"),
        ("unknown: filter", "unknown", "filter"),
        ("include: [key, headers, window]", "include", ("key", "headers", "window")),
        ("include: []", "include", ()),
        ("tombstones: keep", "tombstones", "keep"),
        ("convert: []", "name", "events"),
        ("format: parquet", "format", "parquet"),
        ("compression: none", "compression", "none"),
        ("on_gap: accept", "on_gap", "accept"),
        ("generation: 3", "generation", 3),
        ("decode: {format: json}", "name", "events"),
        ("window: {every: 5m}", "window", WindowSpec(every_s=300)),
        ("window: {every: 500ms}", "window", WindowSpec(every_s=0.5)),
        ("window: {max_records: 5_000}", "window", WindowSpec(max_records=5000)),
        ("window: {max_bytes: 64MB}", "window", WindowSpec(max_bytes=64_000_000)),
        ("window: {max_bytes: 1.5KiB}", "window", WindowSpec(max_bytes=1536)),
        ("window: {max_rate: 5_000}", "window", WindowSpec(max_rate=5000)),
        ("window: {max_rate: null}", "window", WindowSpec()),
        ("window:", "window", WindowSpec()),
    ],
)
def test_each_key_of_a_feed_arrives_in_the_spec(
    tmp_path: Path, keys: str, field: str, value: object
) -> None:
    assert getattr(feed_of(tmp_path, keys), field) == value


def test_the_keys_of_time_and_quarantine_arrive_in_the_spec(tmp_path: Path) -> None:
    feed = feed_of(
        tmp_path,
        "time: {field: a.at, unit: '%d.%m.%Y', missing: 1970-01-01, not_before: 2020-02-29, "
        "not_after: 1h, zone: Europe/Berlin, unreadable: kafka}",
    )
    assert msgspec.structs.astuple(feed.time) == (
        "a.at", "%d.%m.%Y", "1970-01-01", "2020-02-29", 3600.0, "Europe/Berlin", "kafka",
    )  # fmt: skip
    feed = feed_of(tmp_path, "quarantine: {max_ratio: 0.25, min_records: 0}")
    assert msgspec.structs.astuple(feed.quarantine) == (0.25, 0)


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("unknown: maybe", "unknown"),
        ("unknown:", "unknown"),
        ("unknown: [create]", "unknown"),
        ("include: [value]", "include[0]"),
        ("include: key", "include"),
        ("include: [key, key]", "include[1]"),
        ("tombstones: drop", "tombstones"),
        ("format: csv", "format"),
        ("compression: brotli", "compression"),
        ("on_gap: ignore", "on_gap"),
        ("generation: -1", "generation"),
        ("generation: 1.5", "generation"),
        ("generation: 0x10", "generation"),
        ("decode: json", "decode"),
        ("decode: {format: xml}", "decode.format"),
        ("window: 60s", "window"),
        ("window: {every: 60}", "window.every"),
        ("window: {max_rate: 0}", "window.max_rate"),
        ("window: {max_rate: 1.5}", "window.max_rate"),
        ("window: {every: 0s}", "window.every"),
        ("window: {every: 1 minute}", "window.every"),
        ("window: {max_records: 0}", "window.max_records"),
        ("window: {max_records: 99999999999999999999}", "window.max_records"),
        ("window: {max_bytes: 5}", "window.max_bytes"),
        ("window: {max_bytes: 0MB}", "window.max_bytes"),
        ("window: {max_bytes: 5XB}", "window.max_bytes"),
        ("quarantine: {max_ratio: 1.5}", "quarantine.max_ratio"),
        ("quarantine: {max_ratio: 5%}", "quarantine.max_ratio"),
        ("quarantine: {max_ratio: .nan}", "quarantine.max_ratio"),
        ("quarantine: {min_records: many}", "quarantine.min_records"),
        ("time: {field: ''}", "time.field"),
        ("time: {field: a..b}", "time.field"),
        ("time: {unit: minutes}", "time.unit"),
        ("time: {unit: '%Q'}", "time.unit"),
        ("time: {unit: '%Y-%m-%d %H:%M %Z'}", "time.unit"),
        ("time: {unit: '%c'}", "time.unit"),
        ("time: {unit: '%x %X'}", "time.unit"),
        ("time: {unit: '%Y-%m-%d%'}", "time.unit"),
        ("time: {unit: '%Y %Y'}", "time.unit"),
        ("time: {missing: today}", "time.missing"),
        ("time: {unreadable: now}", "time.unreadable"),
        ("time: {not_before: 2015-02-30}", "time.not_before"),
        ("time: {not_before: 2015}", "time.not_before"),
        ("time: {not_after: 2}", "time.not_after"),
        ("time: {zone: Mars/Base}", "time.zone"),
        ("time: {zone: Europe}", "time.zone"),
        ("time: {zone: ../UTC}", "time.zone"),
        ("route: {}", "route.by"),
        ("datasets: [a]", "datasets"),
        ("datasets: {a: b}", "datasets.a"),
        ("datasets: {a: {team: }}", "datasets.a.team"),
        ('datasets: {a: {team: "a\\nb"}}', "datasets.a.team"),
        ("datasets: {a: {partition: [hour]}}", "datasets.a.partition"),
        ("nonsense: 1", "nonsense"),
    ],
)
def test_each_value_out_of_bounds_is_one_mistake_with_its_line(
    tmp_path: Path, keys: str, path: str
) -> None:
    mistake = mistake_of(tmp_path, keys)
    assert (mistake.line, mistake.path) == (7, f"feeds.events.{path}")
    assert mistake.allowed or mistake.found == "missing, and required"


def test_the_former_name_of_a_key_is_still_read(tmp_path: Path) -> None:
    (dataset,) = feed_of(tmp_path, "datasets: {a: {owner: web}}").datasets
    assert dataset.team == "web"


def test_a_key_under_both_of_its_names_is_a_mistake(tmp_path: Path) -> None:
    mistake = mistake_of(tmp_path, "datasets: {a: {owner: web, team: app}}")
    assert mistake.path == "feeds.events.datasets.a.owner"
    assert "former name of 'team'" in mistake.found


def test_a_feed_inherits_defaults_and_its_own_key_wins(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        HEAD + "defaults:\n  on_gap: accept\n  window: {every: 5m, max_records: 7}\n"
        "  partition: [day, hour]\n"
        "feeds:\n"
        "  a: {topics: [a], window: {every: 10s}, partition: [day]}\n"
        "  b: {topics: [b], on_gap: stop, window: }\n",
    )
    first, second = spec.feeds
    assert first.on_gap == "accept"
    assert first.window == WindowSpec(every_s=10, max_records=7)
    assert first.partition == (PartitionKey(),)
    assert second.on_gap == "stop"
    assert second.window == WindowSpec(every_s=300, max_records=7)


def test_a_mistake_in_the_defaults_is_told_once_and_where_it_stands(tmp_path: Path) -> None:
    content = (
        HEAD + "defaults:\n  on_gap: never\n  colour: red\n"
        "feeds:\n  a: {topics: [a]}\n  b: {topics: [b]}\n  c: {topics: [c], on_gap: stop}\n"
    )
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(tmp_path, content)
    assert [(one.line, one.path) for one in caught.value.mistakes] == [
        (5, "defaults.on_gap"),
        (6, "defaults.colour"),
    ]


def test_own_topics_displace_an_inherited_pattern_and_the_other_way_round(tmp_path: Path) -> None:
    first, second = spec_of(
        tmp_path,
        HEAD + "defaults: {pattern: 'a.*', exclude: [ab]}\nfeeds: {x: {topics: [t]}, y: }\n",
    ).feeds
    assert (first.topics, first.pattern, first.exclude) == (("t",), "", ())
    assert (second.topics, second.pattern, second.exclude) == ((), "a.*", ("ab",))
    (third,) = spec_of(
        tmp_path, HEAD + "defaults: {topics: [t]}\nfeeds: {x: {pattern: 'a.*'}}\n"
    ).feeds
    assert (third.topics, third.pattern) == ((), "a.*")


def test_feeds_keep_the_order_of_the_file(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, HEAD + "feeds: {z: {topics: [z]}, a: {topics: [a]}}\n")
    assert [feed.name for feed in spec.feeds] == ["z", "a"]


def test_forks_name_a_dataset_conditions_and_where_they_apply(tmp_path: Path) -> None:
    (feed,) = spec_of(
        tmp_path,
        HEAD + "feeds: {a: {topics: [a], decode: {spread: true}, forks: [\n"
        "  {to: big, from: [order], when: {amount: {least: 10}}}, {to: eu, when: {at: [DE]}}]}}\n",
    ).feeds
    assert feed.forks == (
        ForkSpec("big", (Condition("amount", least=10),), ("order",)),
        ForkSpec("eu", (Condition("at", one_of=("DE",)),)),
    )
    assert feed.decode.spread
    assert feed.has_rows


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ("forks: [{to: a}]", "forks[0].when"),
        ("forks: [{when: {n: 1}}]", "forks[0].to"),
        ("forks: [{to: a, when: {}}]", "forks[0].when"),
        ("forks: [{to: a, when: {n: {least: b}}}]", "forks[0].when.n.least"),
        ("forks: [{to: a, when: {n: 1}}, {to: a, when: {n: 1}}]", "forks[1]"),
        ("forks: {to: a}", "forks"),
        ("decode: {format: text, pattern: '(?P<a>.*)', spread: true}", "decode.spread"),
        ("decode: {ids: true, spread: true}", "decode"),
    ],
)
def test_forks_that_say_too_little_are_mistakes(tmp_path: Path, keys: str, path: str) -> None:
    assert mistake_of(tmp_path, keys).path == f"feeds.events.{path}"


SOURCES = """version: 1
lake: ./lake
feeds:
  a: {topics: [a], source: {plugin: tape, options: {directory: /tapes, password: "${env:TAPE}"}}}
"""


def test_a_feed_with_a_source_of_its_own_needs_no_kafka(tmp_path: Path) -> None:
    (tmp_path / "penstock.yaml").write_text(SOURCES)
    spec = load(tmp_path / "penstock.yaml", {})
    assert (spec.kafka, spec.uses_kafka) == ({}, False)
    (feed,) = spec.feeds
    assert feed.source == SourceSpec("tape", {"directory": "/tapes", "password": "${env:TAPE}"})
    assert reveal_source(feed, {"TAPE": "x"}) == {"directory": "/tapes", "password": "x"}
    with pytest.raises(ConfigInvalid, match=r"feeds\.a\.source\.options\.password"):
        reveal_source(feed, {})


@pytest.mark.parametrize(
    ("feeds", "complaint"),
    [
        ("  b: {topics: [b]}\n", "kafka: missing, and required"),
        ("  b: {topics: [b], source: {plugin: kafka, options: {a: 1}}}\n", "`options` for kafka"),
        ("  b: {topics: [b], source: {options: {a: 1}}}\n", "source.plugin: missing, and required"),
        ("  b: {topics: [b], source: {plugin: x, options: {password: y}}}\n", "in plain text"),
    ],
)
def test_a_source_that_is_half_said_is_a_mistake(
    tmp_path: Path, feeds: str, complaint: str
) -> None:
    (tmp_path / "penstock.yaml").write_text(SOURCES + feeds)
    with pytest.raises(ConfigInvalid) as raised:
        load(tmp_path / "penstock.yaml", {})
    assert complaint in str(raised.value)


PATTERN = "pattern: 'logs\\..*'"


def test_a_topic_with_its_own_window_inherits_all_of_the_feeds_but_its_rate(tmp_path: Path) -> None:
    keys = (
        "window: {every: 10s, max_records: 900, max_rate: 100}\n"
        "    per_topic: {logs.big: {window: {every: 5m}}, logs.slow: {window: {max_rate: 7}}}"
    )
    feed = feed_of(tmp_path, keys, PATTERN)
    assert feed.per_topic == (
        TopicSpec("logs.big", WindowSpec(300.0, 900)),
        TopicSpec("logs.slow", WindowSpec(10.0, 900, max_rate=7)),
    )


def test_defaults_give_topics_their_windows_too(tmp_path: Path) -> None:
    (feed,) = spec_of(
        tmp_path,
        f"{HEAD}defaults: {{window: {{every: 7s}}}}\n"
        "feeds: {a: {topics: [t, u], per_topic: {t: {window: {max_records: 5}}}}}\n",
    ).feeds
    assert feed.per_topic == (TopicSpec("t", WindowSpec(7.0, 5)),)


@pytest.mark.parametrize(
    ("given", "path", "found"),
    [
        ("logs: {}", "per_topic.logs", "a topic that the feed does not read"),
        ("logs.a: {every: 5m}", "per_topic.logs.a.every", "unknown key"),
        ("logs.a: {window: {evry: 5m}}", "per_topic.logs.a.window.evry", "unknown key"),
        (
            "logs.a: {window: {max_records: 901}}",
            "per_topic.logs.a.window.max_records",
            "more than",
        ),
        ("logs.a: {window: {max_bytes: 2GB}}", "per_topic.logs.a.window.max_bytes", "more than"),
        ("logs.a: {window: {max_rate: 101}}", "per_topic.logs.a.window.max_rate", "more than"),
        ("logs.a: 5m", "per_topic.logs.a", "found a single value"),
    ],
)
def test_a_topic_can_only_be_tighter_than_its_feed(
    tmp_path: Path, given: str, path: str, found: str
) -> None:
    keys = f"window: {{max_records: 900, max_rate: 100}}\n    per_topic: {{{given}}}"
    mistake = mistake_of(tmp_path, keys, PATTERN)
    assert mistake.path == f"feeds.events.{path}"
    assert mistake.found.startswith(found)


def test_a_feed_may_have_a_cluster_of_its_own(tmp_path: Path) -> None:
    feed = feed_of(tmp_path, "kafka: {bootstrap.servers: 'other:9092', client.id: x}")
    assert feed.kafka == {"bootstrap.servers": "other:9092", "client.id": "x"}
    content = (
        "version: 1\nlake: ./lake\nfeeds: {a: {topics: [a], kafka: {bootstrap.servers: 'o:1'}}}\n"
    )
    assert spec_of(tmp_path, content).kafka == {}
    with pytest.raises(ConfigInvalid, match="kafka: missing, and required"):
        spec_of(tmp_path, content.replace("bootstrap.servers: 'o:1'", "client.id: x"))


@pytest.mark.parametrize(
    ("keys", "path", "found"),
    [
        ("kafka: {bootstrap.servers: nowhere}", "kafka.bootstrap.servers", "not a list of brokers"),
        ("kafka: {sasl.jaas.config: 'x password=\"p\";'}", "kafka.sasl.jaas.config", "not"),
        ("kafka: {ssl.key.password: hunter2}", "kafka.ssl.key.password", "a secret in plain text"),
        ("kafka: {group.id: mine}", "kafka.group.id", "Penstock sets this key itself"),
        ("source: {plugin: tape}\n    kafka: {client.id: x}", "kafka", "`kafka` for the source"),
    ],
)
def test_settings_that_a_feeds_kafka_may_not_have_are_refused(
    tmp_path: Path, keys: str, path: str, found: str
) -> None:
    mistake = mistake_of(tmp_path, keys)
    assert mistake.path == f"feeds.events.{path}"
    assert mistake.found.startswith(found)
    assert "hunter2" not in str(mistake)


def test_secrets_of_a_feeds_kafka_are_its_own(tmp_path: Path) -> None:
    """Goal: no feed's settings reach another, and a secret that is replaced need not exist."""
    head = HEAD.replace("kafka: {", "kafka: {ssl.key.password: '${env:FILE}', ")
    content = (
        f"{head}feeds:\n  a: {{topics: [t]}}\n"
        "  b: {topics: [t], kafka: {bootstrap.servers: 'b:1', ssl.key.password: '${env:OWN}'}}\n"
    )
    spec = spec_of(tmp_path, content)
    a, b = spec.feeds
    own = reveal_feed_kafka(spec.kafka, b, {"OWN": "pepper"})
    assert {key: value.reveal() for key, value in own.items()} == {
        "bootstrap.servers": "b:1",
        "ssl.key.password": "pepper",
    }
    assert "pepper" not in f"{own} {spec}"
    others = reveal_feed_kafka(spec.kafka, a, {"FILE": "salt"})
    assert {key: value.reveal() for key, value in others.items()} == {
        "bootstrap.servers": "localhost:9092",
        "ssl.key.password": "salt",
    }
    with pytest.raises(ConfigInvalid) as caught:
        reveal_feed_kafka(spec.kafka, b, {"FILE": "salt"})
    assert [each.path for each in caught.value.mistakes] == ["feeds.b.kafka.ssl.key.password"]


@pytest.mark.parametrize(("text", "seconds"), [("90d", 7_776_000.0), ("24h", 86_400.0)])
def test_days_are_kept_as_long_as_is_said(tmp_path: Path, text: str, seconds: float) -> None:
    assert feed_of(tmp_path, f"retain: {text}").retain_s == seconds


@pytest.mark.parametrize("text", ["0d", "23h", "90", "for ever"])
def test_less_than_a_day_cannot_be_kept_by_day(tmp_path: Path, text: str) -> None:
    assert "a day or more" in mistake_of(tmp_path, f"retain: {text}").allowed


@pytest.mark.parametrize(
    ("text", "whose"),
    [
        ("partition: ['field:country']", "the feed"),
        ("datasets: {a: {partition: ['field:country']}}", "dataset 'a'"),
    ],
)
def test_retention_needs_directories_of_days_everywhere(
    tmp_path: Path, text: str, whose: str
) -> None:
    assert whose in mistake_of(tmp_path, f"retain: 90d\n    {text}").found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", FinalizeSpec()),
        ("{hour: true, delay: 2h}", FinalizeSpec(True, True, 7_200.0)),
        ("{day: false, hour: true, delay: 0s}", FinalizeSpec(False, True, 0.0)),
        ("null", None),
    ],
)
def test_days_and_hours_are_declared_complete_as_the_file_says(
    tmp_path: Path, text: str, wanted: FinalizeSpec | None
) -> None:
    assert feed_of(tmp_path, f"finalize: {text}").finalize == wanted


def test_neither_days_nor_hours_is_a_mistake(tmp_path: Path) -> None:
    assert "neither days nor hours" in mistake_of(tmp_path, "finalize: {day: false}").found
