"""Environment and flags over the file, and where the lake lies."""

from pathlib import Path

import pytest

from penstock.config.errors import ConfigInvalid
from penstock.config.load import load
from penstock.model.spec import LakeSpec

FILE = (
    "version: 1\nlake: ./lake\nkafka: {bootstrap.servers: 'a:1'}\n"
    "feeds:\n  events: {topics: [events]}\n"
)


def spec_of(
    folder: Path, environ: dict[str, str] | None = None, flags: dict[str, str] | None = None
) -> LakeSpec:
    """Load the file above, with something over it."""
    (folder / "penstock.yaml").write_text(FILE)
    return load(folder / "penstock.yaml", environ or {}, flags or {})


def test_a_flag_wins_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    environ = {"PENSTOCK__LAKE": "/env", "LAKE": "/no", "PENSTOCK_LAKE": "/no", "HOME": "/no"}
    assert spec_of(tmp_path).lake.uri == str(tmp_path / "lake")
    assert spec_of(tmp_path, environ).lake.uri == "/env"
    assert spec_of(tmp_path, environ, {"lake": "/flag"}).lake.uri == "/flag"


def test_keys_deep_inside_can_be_set_and_made(tmp_path: Path) -> None:
    environ = {"PENSTOCK__FEEDS__EVENTS__ON_GAP": "accept", "PENSTOCK__DEFAULTS__GENERATION": "4"}
    flags = {"feeds.events.window.every": "5s", "feeds.other.topics": "[a, b]"}
    events, other = spec_of(tmp_path, environ, flags).feeds
    assert (events.on_gap, events.window.every_s, events.generation) == ("accept", 5.0, 4)
    assert (other.name, other.topics, other.generation) == ("other", ("a", "b"), 4)


@pytest.mark.parametrize(
    "flags",
    [
        {"feeds.events.start": "{events: {0: 7}}"},
        {"feeds.events.start.events.0": "7"},
    ],
)
def test_a_mapping_can_be_given_whole_or_key_by_key(tmp_path: Path, flags: dict[str, str]) -> None:
    (feed,) = spec_of(tmp_path, flags=flags).feeds
    assert feed.start.offsets == {"events": {0: 7}}


def test_keys_of_kafka_and_spark_may_hold_dots(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        {"PENSTOCK__KAFKA__BOOTSTRAP_SERVERS": "b:2", "PENSTOCK__SPARK__SPARK_MASTER": "local"},
        {"kafka.client.id": "[x]", "spark.app.name": "n", "spark.spark.ui.enabled": "false"},
    )
    assert spec.kafka == {"bootstrap.servers": "b:2", "client.id": "[x]"}
    assert spec.spark == {
        "spark.master": "local",
        "spark.app.name": "n",
        "spark.ui.enabled": "false",
    }


def test_a_part_in_mixed_case_keeps_it(tmp_path: Path) -> None:
    environ = {"PENSTOCK__SPARK__executor_memoryOverhead": "1g"}
    assert spec_of(tmp_path, environ).spark == {"spark.executor.memoryOverhead": "1g"}


@pytest.mark.parametrize(
    ("environ", "flags", "sentence"),
    [
        ({"PENSTOCK__LAKEE": "a"}, {}, "PENSTOCK__LAKEE, lakee: unknown key"),
        ({"PENSTOCK__LAKE": ""}, {}, "PENSTOCK__LAKE, lake: found nothing"),
        ({"PENSTOCK__": "a"}, {}, "PENSTOCK__: not a key"),
        ({"PENSTOCK__LAKE__X": "a"}, {}, "PENSTOCK__LAKE__X, lake.x: a key below 'lake'"),
        ({}, {"lake": "ftp://b"}, "override lake, lake: a lake on ftp:// is unknown"),
        ({}, {"version": "2"}, "override version, version: found '2'"),
        ({}, {"": "a"}, "override : not a key"),
        ({}, {"a..b": "a"}, "override a..b: not a key"),
        ({}, {".".join("a" * 99): "a"}, "not a key"),
        (
            {},
            {"feeds.events.topics": "[a"},
            "override feeds.events.topics, feeds.events.topics: not",
        ),
        ({}, {"feeds.events.topics": "[a b, '!']"}, "feeds.events.topics[0]: found 'a b'"),
        (
            {},
            {"feeds.events.window.every": "5"},
            "override feeds.events.window.every, feeds.events",
        ),
        ({}, {"feeds": "{a: &x [*x]}"}, "without an anchor"),
    ],
)
def test_a_mistake_names_the_flag_or_variable_it_came_from(
    tmp_path: Path, environ: dict[str, str], flags: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ConfigInvalid) as caught:
        spec_of(tmp_path, environ, flags)
    assert sentence in str(caught.value)
    assert caught.value.mistakes[-1].line == 0


@pytest.mark.parametrize(
    ("lake", "path"),
    [
        ("./lake", "{here}/lake"),
        ("lake", "{here}/lake"),
        ("a/../b/./c", "{here}/b/c"),
        ("/data/lake", "/data/lake"),
        ("/data/lake/", "/data/lake"),
        ("file:///data/lake", "/data/lake"),
        ("file:/data/lake", "/data/lake"),
        ("FILE://localhost/data/my%20lake", "/data/my lake"),
        ("data:2026", "{here}/data:2026"),
    ],
)
def test_a_lake_is_a_directory(tmp_path: Path, lake: str, path: str) -> None:
    (tmp_path / "penstock.yaml").write_text(FILE.replace("./lake", f"'{lake}'"))
    assert load(tmp_path / "penstock.yaml", {}).lake.uri == path.format(here=tmp_path)


@pytest.mark.parametrize(
    ("lake", "words"),
    [
        ("s3a://bucket", "a lake on s3a://, which Hadoop calls so"),
        ("ftp://host/x", "a lake on ftp:// is unknown"),
        ("file://host/x", "a file:// address with a host, '?' or '#'"),
        ("file:///x?y", "a file:// address with a host, '?' or '#'"),
        ("file:///x%00", "a file:// address with a host, '?' or '#'"),
        ("file:///x%ff", "a file:// address that cannot be read"),
        ("file://[x", "a file:// address that cannot be read"),
        ("/", "the root directory"),
        ("/a/..", "the root directory"),
        ("~/lake", "a path that starts with '~'"),
    ],
)
def test_any_other_lake_is_a_mistake(tmp_path: Path, lake: str, words: str) -> None:
    (tmp_path / "penstock.yaml").write_text(FILE.replace("./lake", f"'{lake}'"))
    with pytest.raises(ConfigInvalid) as caught:
        load(tmp_path / "penstock.yaml", {})
    (mistake,) = caught.value.mistakes
    assert (mistake.line, mistake.path, mistake.found) == (2, "lake", words)


def test_paths_of_flags_start_where_the_user_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert spec_of(tmp_path, flags={"lake": "x"}).lake.uri == str(tmp_path / "here" / "x")
    assert spec_of(tmp_path).lake.uri == str(tmp_path / "lake")


def test_keys_of_a_feeds_kafka_may_hold_dots_too(tmp_path: Path) -> None:
    spec = spec_of(
        tmp_path,
        {"PENSTOCK__FEEDS__EVENTS__KAFKA__BOOTSTRAP_SERVERS": "b:2"},
        {"feeds.events.kafka.client.id": "[x]", "defaults.kafka.client.rack": "r"},
    )
    (feed,) = spec.feeds
    assert feed.kafka == {
        "bootstrap.servers": "b:2",
        "client.id": "[x]",
        "client.rack": "r",
    }
