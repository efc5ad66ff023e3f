"""`penstock check --sample` shows what a run would do with the next records, and writes nothing.

Method: a source whose records are a list in this process; the same configuration is then run, and
what was delivered is compared with what was said.
"""

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.cli.first_compilation import COMPILING
from penstock.cli.main import main
from penstock.config.load import load
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.spec import LakeSpec
from penstock.ports.source.open_source import open_source
from penstock.ports.store.local.local_store import LocalStore
from penstock.testing.list_source import ListCluster, ListedRecord
from tests.helpers.clock import Clock
from tests.helpers.installed_packages import look_for_packages_again
from tests.helpers.list_story import events
from tests.helpers.listed_plugin import offer

FILE = """version: 1
lake: ./lake
feeds:
  shop:
    topics: [shop]
    source: {{plugin: listed}}
    route: {{by: "field:type"}}
    time: {{field: at, unit: s}}
{more}"""
DAY_S = 86_400
FIRST_S = 20_000 * DAY_S  # in 2024


def an_event(kind: str, day: int) -> bytes:
    return json.dumps({"type": kind, "at": FIRST_S + day * DAY_S, "n": day}).encode()


GOOD = [an_event(kind, day) for day in range(3) for kind in ("click", "order")]
TOMBSTONE = ListedRecord(None)
BROKEN = [b'{"type": "click"', b'{"type": "click", "n": 1}', b'{"type": "click", "n": 2}']


class Place:
    """A directory with a configuration, its lake and its cluster."""

    def __init__(self, folder: Path, cluster: ListCluster) -> None:
        self.folder = folder
        self.cluster = cluster
        self.file = folder / "penstock.yaml"
        self.configure()
        cluster.create_topic("shop", partitions=2)

    def configure(self, more: str = "") -> None:
        self.file.write_text(FILE.format(more=more))

    def spec(self) -> LakeSpec:
        return load(self.file, {})

    def check(self, *words: str) -> int:
        return main(["check", *words, "-c", str(self.file)])

    def run(self) -> int:
        """`penstock run --once`, without Spark."""
        clock = Clock()
        tools = FeedTools(
            lambda feed: open_source(feed, None),  # type: ignore[arg-type]
            LocalStore(self.folder / "lake"),
            clock.around(),
        )
        once = RunSpec(once=True, take_over=True)
        return Runner(self.spec().feeds, tools, lambda _event: None, lambda: False, once).run()

    def files(self) -> set[str]:
        lake = self.folder / "lake"
        return {str(path.relative_to(lake)) for path in lake.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    yield Place(tmp_path, offer(tmp_path, monkeypatch))
    look_for_packages_again()


def feed_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    lines = map(json.loads, capsys.readouterr().out.splitlines())
    (found,) = [line for line in lines if line["what"] == "feed shop"]
    assert isinstance(found, dict)
    return found


def test_types_days_and_what_would_be_quarantined_are_shown_and_nothing_is_written(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.cluster.append("shop", 0, *GOOD, TOMBSTONE)
    place.cluster.append("shop", 1, *BROKEN)
    place.configure("    quarantine: {max_ratio: 0.9}\n")
    before = place.files()
    assert place.check("--sample", "100", "--output", "json") == 0
    found = feed_of(capsys)
    assert place.files() == before, "not even the schemas that it learned"
    assert (
        "sample of 10 records, from the feed's next offsets: 6 rows written, 3 quarantined, "
        "1 filtered" in found["found"]
    )
    assert found["types"] == [
        {
            "dataset": kind,
            "rows": 3,
            "new": True,
            "directories": {f"day=2024-10-{day}": 1 for day in ("04", "05", "06")},
        }
        for kind in ("click", "order")
    ]
    told = [(row["reason"], row["records"], row["first"]) for row in found["would_quarantine"]]
    assert told == [("TIME_MISSING", 2, "shop/1/1"), ("NOT_JSON", 1, "shop/1/0")]
    assert all(row["detail"] for row in found["would_quarantine"])
    assert place.check("--sample", "100") == 0
    text = capsys.readouterr().out
    assert "click    3     new  day=2024-10-04 day=2024-10-05 day=2024-10-06" in text
    assert "TIME_MISSING  2" in text


def test_a_long_name_of_a_feed_keeps_the_columns_in_line(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.cluster.append("shop", 0, *GOOD)
    place.file.write_text(FILE.format(more="").replace("  shop:", "  the_whole_shop:"))
    assert place.check() == 0
    checks = [line for line in capsys.readouterr().out.splitlines() if " ok  " in line]
    assert len({line.index(" ok  ") for line in checks}) == 1
    assert any(line.startswith("feed the_whole_shop ok") for line in checks)


@pytest.mark.parametrize("complete", [True, False])
def test_a_sample_that_waits_for_the_first_compilation_says_so(
    place: Place,
    complete: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("penstock.cli.first_compilation.is_complete", lambda: complete)
    place.cluster.append("shop", 0, *GOOD)
    assert place.check("--sample", "3") == 0
    assert (COMPILING in capsys.readouterr().err) == (not complete)


def test_what_the_sample_says_is_what_a_run_does(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.cluster.append("shop", 0, *GOOD, *BROKEN, an_event("click", 4_000), TOMBSTONE)
    place.configure("    quarantine: {max_ratio: 1}\n    partition: [day, hour]\n")
    assert place.check("--sample", "1000", "--output", "json") == 0
    said = feed_of(capsys)
    assert place.run() == 0
    delivered: Counter[str] = Counter()
    for path in (place.folder / "lake" / "shop").rglob("*.parquet"):
        directory = path.parent.relative_to(place.folder / "lake" / "shop").as_posix()
        delivered[directory] += pq.ParquetFile(path).metadata.num_rows
    shown = {
        f"{row['dataset']}/{name}": rows
        for row in said["types"]
        for name, rows in row["directories"].items()
    }
    assert shown == dict(delivered)
    reasons: Counter[str] = Counter()
    for path in (place.folder / "lake" / "_penstock" / "shop" / "quarantine").rglob("*.parquet"):
        reasons.update(pq.read_table(io.BytesIO(path.read_bytes()))["reason"].to_pylist())
    assert {row["reason"]: row["records"] for row in said["would_quarantine"]} == dict(reasons)
    assert place.check("--sample", "5", "--output", "json") == 0
    later = feed_of(capsys)
    assert any("the newest, because the feed has read all" in each for each in later["found"])
    assert [row["new"] for row in later["types"]] == [False] * len(later["types"])


def test_a_sample_of_records_as_they_came_says_which_are_not_one_line(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = GOOD[0].replace(b", ", b",\n")
    place.cluster.append("shop", 0, *GOOD, odd)
    place.configure("    quarantine: {max_ratio: 1}\n    format: text\n")
    assert place.check("--sample", "100", "--output", "json") == 0
    found = feed_of(capsys)
    assert [(each["dataset"], each["rows"]) for each in found["types"]] == [
        ("click", 3),
        ("order", 3),
    ]
    (told,) = found["would_quarantine"]
    assert (told["reason"], told["records"], told["first"]) == ("NOT_ONE_LINE", 1, "shop/0/6")


def test_a_cause_in_several_datasets_is_shown_with_all_of_them_and_the_first_record(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """The quarantine has a file for each dataset, and theirs is not the order of the records."""
    place.cluster.append("shop", 0, *(b'{"type": "%s"}' % kind for kind in (b"z", b"a", b"z")))
    assert place.check("--sample", "100", "--output", "json") == 0
    (row,) = feed_of(capsys)["would_quarantine"]
    assert (row["records"], row["first"], row["dataset"]) == (3, "shop/0/0", "a, z")


def test_a_sample_of_a_whole_window_halts_as_a_run_would_and_a_part_of_one_warns(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.cluster.append("shop", 0, *events("click", 30))  # none of them has a time
    place.configure("    quarantine: {max_ratio: 0.1, min_records: 10}\n")
    assert place.check("--sample", "100", "--output", "json") == 5
    found = feed_of(capsys)
    assert found["state"] == "halted"
    assert any("QUARANTINE_RATIO: 30 of 30 records" in each for each in found["found"])
    assert [row["records"] for row in found["would_quarantine"]] == [30]
    assert place.run() == 5, "as it was said"
    assert place.check("--sample", "10", "--output", "json") in (0, 5)
    found = feed_of(capsys)
    assert any("10 of 10 sampled records would be quarantined" in each for each in found["found"])


def test_check_refuses_what_a_run_refuses(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.cluster.append("shop", 0, *GOOD)
    assert place.run() == 0
    for more, code in (("format: orc", "FORMAT_CHANGED"), ("partition: [day, hour]", "PARTITION")):
        place.configure(f"    {more}\n")
        assert place.check("--output", "json") == 2
        found = feed_of(capsys)
        assert (found["state"], found["exit_code"]) == ("failed", 2)
        assert any(code in each for each in found["found"])
        assert place.run() == 2
    place.configure()
    place.file.write_text(place.file.read_text().replace("unit: s}", "unit: s, zone: Asia/Tokyo}"))
    assert place.check("--output", "json") == 0
    found = feed_of(capsys)
    assert found["state"] == "warning"
    assert any("`time.zone` was UTC and is Asia/Tokyo" in each for each in found["found"])


def test_a_named_topic_that_does_not_exist_fails_the_check_as_it_fails_a_run(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.cluster.append("shop", 0, *GOOD)
    place.file.write_text(place.file.read_text().replace("[shop]", "[shop, shpo]"))
    assert place.check("--sample", "10", "--output", "json") == 5
    found = feed_of(capsys)
    assert found["state"] == "halted"
    assert any("TOPIC_MISSING: Topic 'shpo'" in each for each in found["found"])
    assert len(found["types"]) == 2, "the other topic is sampled all the same"
    assert place.run() == 5


@pytest.mark.parametrize("number", ["0", "-1", "many", "10001"])
def test_a_size_that_makes_no_sense_is_refused(number: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "--sample", number])
    assert ended.value.code == 2
