"""A field that changes its kind: it is told by the run, by `status` and by `schema conflicts`.

Method: a feed from a list in memory into a lake on disk; only the source is not real.
"""

import json
from pathlib import Path

import msgspec
import pytest

from penstock.cli.main import main
from penstock.config.load import load
from penstock.model.convert_spec import ConvertSpec
from penstock.model.entries import Window
from penstock.model.read_ways import Conflict
from penstock.model.schema import MAX_FIELDS
from penstock.model.spec import DecodeSpec, FeedSpec, PartitionKey, TimeSpec, WindowSpec
from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.memory_store import MemoryStore
from tests.helpers.list_story import FEED, TOPIC, Story

CONFIG = """version: 1
lake: ./lake
kafka: {bootstrap.servers: "localhost:1"}
feeds:
  feed: {topics: [events], route: {by: "field:type"}}
"""


class DriftStory(Story):
    """A lake on disk, with a configuration beside it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        super().__init__()
        self.config = folder / "penstock.yaml"
        self.config.write_text(CONFIG)
        self.store = LocalStore(folder / "lake")
        self._capsys = capsys

    def orders(self, *ids: object) -> None:
        self.cluster.append(
            TOPIC, 0, *(json.dumps({"type": "order", "customer_id": each}).encode() for each in ids)
        )

    def told(self, *words: str) -> str:
        """What a command prints."""
        self._capsys.readouterr()
        code = main([*words, "-c", str(self.config)])
        said = self._capsys.readouterr()
        assert code == 0, said.err
        return said.out


@pytest.fixture
def story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> DriftStory:
    return DriftStory(tmp_path, capsys)


def test_a_number_that_becomes_a_text_is_told_everywhere(story: DriftStory) -> None:
    story.orders(1, 2, 3)
    assert story.run_once() == 0
    assert not any("conflict" in line for line in story.said)
    assert "all values fit" in story.told("schema", "conflicts", "feed")
    story.orders("C-4", 5, "C-6", 7.5)
    assert story.run_once() == 0

    [sentence] = [line for line in story.said if line.startswith("conflict: ")]
    assert "customer_id of order is read as int64; 3 records have another kind" in sentence

    window = story.entries(Window)[-1]
    [ways] = window.ways
    assert (ways.dataset, ways.fast + ways.reference, ways.rest) == ("order", 4, 3)
    assert ways.conflicts == (
        Conflict("customer_id", "int64", "string", 2, TOPIC, 0, 3),
        Conflict("customer_id", "int64", "fraction", 1, TOPIC, 0, 6),
    )
    assert "C-4" not in msgspec.json.encode(window).decode()

    status = story.told("status", "feed")
    assert "rows with `_rest`: 3 of 7 in order: customer_id" in status
    lines = [line.split() for line in story.told("status", "feed", "--stats").splitlines()]
    [stats] = [words for words in lines if words[:2] == ["feed", "order"]]
    assert int(stats[2]) + int(stats[3]) == 7  # fast, and by the reference
    assert json.loads(story.told("status", "feed", "--output", "json"))["ways"][0]["rest"] == 3

    for what in ("feed", "feed/order"):
        out = story.told("schema", "conflicts", what)
        row = next(line for line in out.splitlines() if line.startswith("order "))
        assert "int64" in row
        assert '"C-4"' in row
        assert "events/0/3" in row
        assert '\ndatasets:\n  "order": {types: {"customer_id": string}}\n' in out
    found = json.loads(story.told("schema", "conflicts", "feed", "--output", "json"))
    assert (found["sample"], found["cure"], found["records"]) == ('"C-4"', "string", 3)


def test_what_is_dropped_or_hidden_is_no_sample(story: DriftStory) -> None:
    story.orders(1)
    assert story.run_once() == 0
    story.orders("secret")
    feed = msgspec.structs.replace(FEED, convert=(ConvertSpec("drop", ("customer_id",)),))
    assert story.run_once(feed) == 0
    out = story.told("schema", "conflicts", "feed")
    assert "customer_id" in out
    assert "secret" not in out


def test_with_a_type_there_is_one_column_and_no_conflict(story: DriftStory) -> None:
    feed: FeedSpec = msgspec.structs.replace(
        FEED, decode=DecodeSpec(types=(("customer_id", "string"),))
    )
    story.orders(1, "C-2")
    assert story.run_once(feed) == 0
    story.orders("C-3", 4)
    assert story.run_once(feed) == 0
    assert not any("conflict" in line for line in story.said)
    assert "all values fit" in story.told("schema", "conflicts", "feed/order")


def test_a_field_in_conflict_from_the_start_is_told(story: DriftStory) -> None:
    story.orders(1, "C-2")
    assert story.run_once() == 0
    [sentence] = [line for line in story.said if line.startswith("conflict: ")]
    assert "customer_id of order has no column, because its values are of several kinds" in sentence
    assert '"customer_id": string' in story.told("schema", "conflicts", "feed")


def test_a_field_that_is_only_new_is_not_a_conflict(story: DriftStory) -> None:
    story.orders(1)
    assert story.run_once() == 0
    story.cluster.append(TOPIC, 0, b'{"type":"order","customer_id":2,"new":"x"}')
    assert story.run_once() == 0
    assert not any("conflict" in line for line in story.said)
    assert "rows with" not in story.told("status")
    told = story.told("schema", "conflicts", "feed")
    assert told == (
        "no field is in conflict; 1 row has a `_rest` with fields that were new at the time\n"
    )


def events_of(story: DriftStory, *events: dict[str, object]) -> None:
    story.cluster.append(
        TOPIC, 0, *(json.dumps({"type": "place"} | each).encode() for each in events)
    )


def test_a_list_of_several_kinds_is_told_with_its_cure(story: DriftStory) -> None:
    events_of(story, {"tags": [1, "a"], "geo": {"at": [1.5, [2]]}}, {"tags": ["b", 2]})
    assert story.run_once() == 0
    told = [line for line in story.said if line.startswith("conflict: ")]
    assert "tags of place has no column, because no column can hold what is in it" in told[0]
    assert "2 records have a value there (array), which is in `_rest`" in told[0]
    assert "geo of place has no column" in told[1]
    assert "rows with `_rest`: 2 of 2 in place: tags, geo" in story.told("status")
    out = story.told("schema", "conflicts", "feed")
    assert "no column for tags, geo of place: no column can hold what is in it: a list" in out
    assert '"place": {types: {"tags": json, "geo": json}}' in out
    typed: FeedSpec = msgspec.structs.replace(
        FEED, decode=DecodeSpec(types=(("tags", "json"), ("geo", "json")))
    )
    events_of(story, {"tags": [3, "c"], "geo": {"at": [[3]]}})
    assert story.run_once(typed) == 0
    events_of(story, {"tags": [4, "d"], "geo": {"at": [1.5, [4]]}})
    assert story.run_once(typed) == 0
    assert story.entries(Window)[-1].ways[0].rest == 0


def test_fields_beyond_the_most_columns_are_told(story: DriftStory) -> None:
    events_of(story, {f"f{n}": n for n in range(MAX_FIELDS + 30)})
    assert story.run_once() == 0
    told = [line for line in story.said if line.startswith("conflict: ")]
    assert "because the dataset has 1,000 fields with columns, and no more are learned" in told[0]
    assert "and at least 15 more" in " ".join(story.told("status").split())
    out = story.told("schema", "conflicts", "feed")
    assert "of place: the dataset has 1,000 fields" in out
    assert "datasets:" not in out
    found = story.told("schema", "conflicts", "feed", "--output", "json").splitlines()
    assert json.loads(found[0])["cure"] is None


def test_names_that_are_too_long_and_numbers_that_fit_no_column_are_told(
    story: DriftStory,
) -> None:
    events_of(story, {"n" * 2_000: 1, "big": 10**30, "deep": {"big": 10**40}}, {"n" * 2_000: "x"})
    assert story.run_once() == 0
    out = story.told("schema", "conflicts", "feed")
    assert "of place: its name is longer than 1,024 bytes" in out
    assert "no column for big of place: its numbers fit no column of numbers" in out
    assert '"big": string' in out
    assert '"nnn' not in out.partition("datasets:")[2]


def test_a_key_with_a_dot_has_a_sample_and_a_type_that_works(story: DriftStory) -> None:
    events_of(story, {"attrs": {"http.status": 200}})
    assert story.run_once() == 0
    events_of(story, {"attrs": {"http.status": "2xx"}})
    assert story.run_once() == 0
    out = story.told("schema", "conflicts", "feed")
    assert '"2xx"' in out
    lines = out.partition("datasets:")[2].splitlines()
    assert lines[1] == r"""  "place": {types: {"attrs.http\\.status": string}}"""
    story.config.write_text(CONFIG.removesuffix("}\n") + f", datasets: {{{lines[1]}}}}}\n")
    [typed] = load(story.config, {}).feeds
    story.store = MemoryStore()
    assert story.run_once(typed) == 0
    assert [each.rest for entry in story.entries(Window) for each in entry.ways] == [0]


def test_the_cure_of_one_dataset_leaves_the_others_alone(story: DriftStory) -> None:
    story.orders(1, "C-2")
    events_of(story, {"customer_id": 3})
    assert story.run_once() == 0
    cure = story.told("schema", "conflicts", "feed").partition("datasets:\n")[2].splitlines()[0]
    story.config.write_text(CONFIG.removesuffix("}\n") + f", datasets: {{{cure}}}}}\n")
    [typed] = load(story.config, {}).feeds
    story.orders(4, "C-5")
    events_of(story, {"customer_id": 6})
    assert story.run_once(typed) == 0


def test_a_dataset_that_is_not_there_is_told(
    story: DriftStory, capsys: pytest.CaptureFixture[str]
) -> None:
    story.orders(1)
    assert story.run_once() == 0
    assert main(["schema", "conflicts", "feed/nothing", "-c", str(story.config)]) == 2
    assert "It has: order." in capsys.readouterr().err


def test_another_type_for_a_delivered_column_stops_the_run_before_anything_is_written(
    story: DriftStory,
) -> None:
    story.orders(1, 2)
    assert story.run_once() == 0
    story.orders("C-3")
    before = sorted(list_keys(story.store, ""))
    typed: FeedSpec = msgspec.structs.replace(
        FEED, decode=DecodeSpec(types=(("customer_id", "string"),))
    )
    assert story.run_once(typed) == 2
    assert any("it was int64 and is now string" in line for line in story.said)
    data = [key for key in list_keys(story.store, "") if key.endswith(".parquet")]
    assert data == [key for key in before if key.endswith(".parquet")]
    assert len(story.entries(Window)) == 1


def test_types_for_columns_that_files_have_are_kept_apart(story: DriftStory) -> None:
    """Goal: what can be pasted below the feed is not mixed with what it would be refused for."""
    events_of(story, {"a": 1})
    assert story.run_once() == 0
    events_of(story, {"a": "x", "b": [1, "y"]})
    assert story.run_once() == 0
    out = story.told("schema", "conflicts", "feed")
    here, elsewhere = out.split("A field that has no column yet gets its type")
    assert '"place": {types: {"b": json}}' in here
    assert '"place": {types: {"a": string}}' in elsewhere
    assert "a feed of another name" in elsewhere
    assert "a feed of another name" not in here


def test_an_object_of_nothing_but_fields_of_several_kinds_is_told_with_this_cause(
    story: DriftStory,
) -> None:
    events_of(story, {"props": {"ab": 1}}, {"props": {"ab": "1"}})
    assert story.run_once() == 0
    [told] = [line for line in story.said if line.startswith("conflict: ")]
    assert "props of place has no column" in told
    assert "only fields with values of several kinds" in told


def test_a_sample_is_found_in_one_of_many_directories(story: DriftStory) -> None:
    """Goal: directories of minutes do not hide the sample. Method: 60 files of one window."""
    feed: FeedSpec = msgspec.structs.replace(
        FEED,
        partition=(PartitionKey("day"), PartitionKey("hour"), PartitionKey("minute")),
        time=TimeSpec(field="at"),
        window=WindowSpec(),
    )
    events_of(story, {"at": "2026-11-15T06:59:00Z", "n": 1})
    assert story.run_once(feed) == 0
    some: list[dict[str, object]] = [
        {"at": f"2026-11-15T07:{m:02}:00Z", "n": m if m != 31 else "odd"} for m in range(60)
    ]
    events_of(story, *some)
    assert story.run_once(feed) == 0
    assert '"odd"' in story.told("schema", "conflicts", "feed")


def test_a_fraction_that_comes_late_in_the_first_window_is_no_conflict(story: DriftStory) -> None:
    """Goal: numbers that are whole at first get a column of doubles, not of integers."""
    feed: FeedSpec = msgspec.structs.replace(FEED, window=WindowSpec())
    some: list[dict[str, object]] = [{"n": n if n < 1_500 else n + 0.5} for n in range(3_000)]
    events_of(story, *some)
    assert story.run_once(feed) == 0
    assert not any("conflict" in line for line in story.said)
    assert "double" in story.told("schema", "show", "feed/place")
