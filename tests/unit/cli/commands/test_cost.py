"""`penstock cost` on a lake on a real disk: sums, prices, what is unknown, and what is read."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.config.load import load
from penstock.model.entries import Window
from penstock.model.window_cost import Spent
from penstock.protocol.feed_book.entry_search import EntrySearch
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.runtime.surroundings import one_by_one
from penstock.status.cost_lines import spending, spending_since
from tests.helpers.clock import BEGAN_S
from tests.helpers.installed_packages import install_package, look_for_packages_again
from tests.helpers.journals import delivered
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.list_story import TOPIC, TORN, Story, events
from tests.plugins.acme.acme_penstock.storage_tiers import StorageTiers

CONFIG = """\
version: 1
lake: ./lake
kafka: {{bootstrap.servers: "nowhere:1"}}
{prices}
feeds:
  feed:
    topics: [events]
    route: {{by: "field:type"}}
    datasets: {{click: {{team: web}}, view: {{team: web}}}}
    window: {{max_records: 8}}
"""
PRICES = "prices: {task_hour: 36, gb_month: 1000, gb_read: 2000, thousand_puts: 5}"


class DiskStory(Story):
    """A story whose lake lies on disk, beside its configuration: two runs, an hour apart."""

    def __init__(self, directory: Path, prices: str = PRICES) -> None:
        super().__init__()
        self.lake = DiskLake(directory)
        self.store = self.lake.store
        self.lake.config.write_text(CONFIG.format(prices=prices))
        (self.feed,) = load(self.lake.config, {}).feeds
        for kind in ("click", "view"):
            self.cluster.append(TOPIC, 0, *events(kind, 4), *events("order", 3), TORN)
            assert self.run_once(self.feed) == 0
            self.clock.passes(3600.0)


@pytest.fixture
def story(tmp_path: Path) -> DiskStory:
    return DiskStory(tmp_path)


def asked(story: DiskStory, capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    assert main(story.lake.words("cost", *words, "--output", "json")) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def named(lines: list[Any], key: str) -> dict[str | None, int]:
    return {line[key]: line["records"] for line in lines}


def test_sums_are_by_feed_topic_dataset_or_team(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    (feed,) = asked(story, capsys)
    assert (feed["feed"], feed["windows"], feed["unknown_windows"]) == ("feed", 2, 0)
    assert (feed["records"], feed["rows"]) == (16, 16)
    by_topic = asked(story, capsys, "--by", "topic")
    assert named(by_topic, "topic") == {None: 0, "events": 16}
    by_dataset = asked(story, capsys, "--by", "dataset")
    assert named(by_dataset, "dataset") == {
        None: 2, "_quarantine": 0, "click": 4, "order": 6, "view": 4,
    }  # fmt: skip
    by_team = asked(story, capsys, "--by", "team")
    assert named(by_team, "team") == {None: 8, "web": 8}
    for lines in (by_topic, by_dataset, by_team):
        for key in ("records", "rows", "read_bytes", "written_bytes", "files", "requests"):
            assert sum(line[key] for line in lines) == feed[key], key
        assert sum(line["task_s"] for line in lines) == pytest.approx(feed["task_s"], abs=1e-4)
        assert sum(line["amount"] for line in lines) == pytest.approx(feed["amount"], abs=1e-5)


def test_money_is_what_was_used_times_the_prices(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    (feed,) = asked(story, capsys)
    wanted = (
        feed["task_s"] * 0.01
        + feed["written_bytes"] * 1e-6
        + feed["read_bytes"] * 2e-6
        + feed["requests"] * 0.005
    )
    assert (feed["amount"], feed["currency"]) == (pytest.approx(wanted), "USD")


def test_since_a_time_only_later_windows_count(
    story: DiskStory, capsys: pytest.CaptureFixture[str]
) -> None:
    between = datetime.fromtimestamp(BEGAN_S + 100 + 1800, UTC).isoformat()
    assert asked(story, capsys, "--since", between)[0]["windows"] == 1
    by_dataset = asked(story, capsys, "--by", "dataset", "--since", between)
    assert named(by_dataset, "dataset") == {None: 1, "_quarantine": 0, "order": 3, "view": 4}
    long_ago = asked(story, capsys, "--since", "2015-01-01T00:00:00Z", "--by", "dataset")
    assert long_ago == asked(story, capsys, "--by", "dataset")


def test_without_prices_there_is_no_money(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = DiskStory(tmp_path, "")
    assert asked(story, capsys)[0]["amount"] is None
    assert main(story.lake.words("cost")) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == [
        "feed", "windows", "records", "task", "s", "read", "MB", "written", "MB", "files",
        "requests",
    ]  # fmt: skip
    assert row.split()[:3] == ["feed", "2", "16"]


def test_the_text_has_a_total(story: DiskStory, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(story.lake.words("cost", "--by", "team")) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "team"
    assert lines[0].endswith("USD")
    assert [line.split()[0] for line in lines[1:]] == ["-", "web", "total:"]


def test_windows_without_a_record_are_unknown_and_not_free(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Goal: nobody takes an old feed for a cheap one. Method: windows of which nothing was
    measured, as those of older formats."""
    lake = DiskLake(tmp_path)
    delivered(lake.room(["a", "b", "a"]))
    for words in (["cost", "feed"], ["cost", "feed", "--since", "2015-01-01T00:00:00Z"]):
        assert main(lake.words(*words, "--output", "json")) == 0
        (line,) = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
        assert (line["windows"], line["unknown_windows"]) == (0, 2)
        assert line["task_s"] is line["requests"] is line["amount"] is None
        assert main(lake.words(*words)) == 0
        assert "feed: the cost of 2 windows is unknown" in capsys.readouterr().out


def test_a_feed_that_cannot_be_read_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = DiskLake(tmp_path)
    delivered(lake.room(["a"]))
    entry = lake.root / "_penstock" / "feed" / "journal" / "0" / f"{1:020}.json"
    entry.write_bytes(entry.read_bytes()[:-3])
    assert main(lake.words("cost", "--output", "json")) == 5
    told = capsys.readouterr()
    assert [json.loads(line)["feed"] for line in told.out.splitlines()] == ["other"]
    assert "feed" in told.err


def test_a_plug_in_adds_to_the_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{StorageTiers.__module__}:StorageTiers"
    install_package(tmp_path / "packages", "acme", {"penstock.prices": {"tiers": target}}, {})
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    prices = "prices: {currency: EUR, thousand_puts: 5, plugin: tiers, options: {gb: 1000000}}"
    (feed,) = asked(DiskStory(tmp_path, prices), capsys)
    wanted = feed["requests"] * 0.005 + feed["written_bytes"] / 1000
    assert (feed["amount"], feed["currency"]) == (pytest.approx(wanted), "EUR")
    look_for_packages_again()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("math:nan", "cannot be called"),
        ("builtins:object", "no `amount`"),
        (f"{__name__}:Endless", "it answered inf"),
        (f"{__name__}:Raising", "no price for"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    target: str,
    words: str,
) -> None:
    install_package(tmp_path / "packages", "acme", {"penstock.prices": {"odd": target}}, {})
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    story = DiskStory(tmp_path, "prices: {plugin: odd}")
    assert main(story.lake.words("cost")) != 0
    error = capsys.readouterr().err
    assert "PLUGIN_BROKEN: The price 'odd' of acme" in error
    assert words in error
    look_for_packages_again()


class Endless:
    """A price that is not a number."""

    def amount(self, _used: object) -> float:
        return float("inf")


class Raising:
    """A price that fails."""

    def amount(self, _used: object) -> float:
        raise KeyError("no price for it")


def test_only_entries_since_the_time_are_read(story: DiskStory) -> None:
    """Goal: a question about an hour does not read a year. Method: count the reads."""
    one = 60
    story.cluster.append(TOPIC, 1, *events("click", 8 * one))
    assert story.run_once(story.feed) == 0
    story.clock.passes(3600.0)
    story.cluster.append(TOPIC, 1, *events("click", 8))
    assert story.run_once(story.feed) == 0
    journal = story.journal()
    state = journal.open().state
    reads = counted_reads(journal)
    search = EntrySearch(journal, state.number, one_by_one)
    found = spending_since("feed", search, story.clock.now() - 1800)
    assert (found.windows, found.unknown) == (1, 0)
    assert len(reads) < 40 < state.number
    every = spending_since("feed", search, 0.0)
    assert every == spending("feed", state)
    costs = [each.cost for each in story.entries(Window)]
    total = sum((each for cost in costs for each in cost.topics), Spent(""))
    assert sum(every.topics, Spent("")) == total


def counted_reads(journal: FeedJournal) -> list[str]:
    """The keys that are read from now on."""
    reads: list[str] = []
    read = journal.store.read

    def counted(key: str) -> bytes | None:
        reads.append(key)
        return read(key)

    journal.store.read = counted  # type: ignore[method-assign]
    return reads
