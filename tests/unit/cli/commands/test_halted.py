"""A halted feed as other processes see it: `status`, `check`, `errors list --halted`, `accept`."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.cli.commands.check import Finding
from penstock.cli.halted_check import tell_halted, tell_held_back
from penstock.cli.main import main
from penstock.config.load import load
from penstock.model.spec import FeedSpec
from penstock.protocol.feed_book.halted_objects import read_halted, write_halted
from penstock.testing.list_source import ListSource
from tests.helpers.lakes_on_disk import DiskLake
from tests.helpers.list_story import TOPIC, Story, events, places

CONFIG = """\
version: 1
lake: ./lake
kafka: {bootstrap.servers: "nowhere:1"}
feeds:
  feed:
    topics: [events]
    route: {by: "field:type"}
    quarantine: {max_ratio: 0.25, min_records: 4}
"""
SECRET = b'{"type": "click", "card": "4111-secret\x1b[2J"'


class Halting:
    """A lake on disk whose feed has halted, and the configuration that it ran with."""

    def __init__(self, directory: Path) -> None:
        self.lake = DiskLake(directory)
        self.lake.config.write_text(CONFIG)
        self.story = Story()
        self.story.store = self.lake.store
        self.story.cluster.append(TOPIC, 0, *events("click", 2), *[SECRET] * 3)
        assert self.run() == 5

    @property
    def feed(self) -> FeedSpec:
        """The feed as the configuration has it now."""
        (feed,) = load(self.lake.config, {}).feeds
        return feed

    def run(self) -> int:
        """`penstock run --once` in a process of its own."""
        return self.story.run_once(self.feed)

    def call(self, *words: str) -> int:
        """A command on this lake."""
        return main(self.lake.words(*words))

    def check(self, *, asked: bool = True) -> Finding:
        """What `check` says of the halt."""
        journal = self.story.journal()
        finding = Finding("feed")
        available = ListSource(self.feed, self.story.cluster).look() if asked else None
        tell_halted(finding, self.feed, journal, journal.open().state, available)
        return finding


@pytest.fixture
def halting(tmp_path: Path) -> Halting:
    return Halting(tmp_path)


Captured = pytest.CaptureFixture[str]


def as_json(capsys: Captured) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_status_shows_the_halt_with_code_sentence_since_and_what_to_do(
    halting: Halting, capsys: Captured
) -> None:
    assert halting.call("status") == 5
    header, row, *lines = capsys.readouterr().out.splitlines()
    assert (header.split()[1], row.split()[1]) == ("state", "halted")
    told = "\n".join(lines)
    assert "feed: halted since 2027-01-15T08:00:00.000+00:00: QUARANTINE_RATIO: 3 of 5" in told
    assert "feed: 3 NOT_JSON, events/0/2 to events/0/4" in told
    assert "feed: what to do: Nothing of the window is visible" in told
    assert "secret" not in told


def test_status_gives_programs_the_same(halting: Halting, capsys: Captured) -> None:
    assert halting.call("status", "--output", "json") == 5
    text = capsys.readouterr().out
    found = json.loads(text)
    assert (found["state"], found["owner_state"]) == ("halted", "stopped")
    halt = found["halted"]
    assert (halt["code"], halt["reasons"]) == ("QUARANTINE_RATIO", {"NOT_JSON": 3})
    assert halt["since"] == "2027-01-15T08:00:00.000+00:00"
    assert halt["accepted_by"] is None
    assert halt["what_to_do"]
    [group] = halt["groups"]
    assert (group["count"], group["first"], group["last"]) == (3, "events/0/2", "events/0/4")
    assert group["samples"] == ["events/0/2", "events/0/3", "events/0/4"]
    assert "secret" not in text


def test_errors_list_shows_what_would_be_quarantined_before_anybody_accepts_it(
    halting: Halting, capsys: Captured
) -> None:
    assert halting.call("errors", "list", "feed") == 0
    assert "no record of feed feed is in the quarantine" in capsys.readouterr().err
    assert halting.call("errors", "list", "feed", "--halted") == 0
    told = capsys.readouterr()
    header, row = told.out.splitlines()
    assert header.split() == [
        "fingerprint", "count", "reason", "dataset", "first", "last", "detail", "sample",
    ]  # fmt: skip
    assert row.split()[1:6] == ["3", "NOT_JSON", "-", "events/0/2", "events/0/4"]
    assert '"card": "4111-secret\\x1b[2J"' in row
    assert "QUARANTINE_RATIO: 3 of 5 records" in told.err
    assert "window 1-1: events/0 [0, 5)" in told.err


def test_programs_get_the_samples_with_their_exact_bytes(
    halting: Halting, capsys: Captured
) -> None:
    assert halting.call("errors", "list", "feed", "--halted", "--output", "json") == 0
    [group] = as_json(capsys)
    assert (group["count"], group["reason"], group["dataset"]) == (3, "NOT_JSON", [None])
    assert [record["offset"] for record in group["records"]] == [2, 3, 4]
    assert base64.b64decode(group["records"][0]["value_base64"]) == SECRET
    assert group["records"][0]["value_bytes"] == len(SECRET)


def test_accept_names_the_ranges_that_were_shown_and_the_feed_goes_on(
    halting: Halting, capsys: Captured
) -> None:
    words = ("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.call(*words) == 0
    assert (
        "of feed: events/0 [0, 5); a live run takes it up within 10 seconds"
        in capsys.readouterr().out
    )
    assert halting.call(*words, "--output", "json") == 0
    [row] = as_json(capsys)
    assert row["ranges"] == [{"topic": "events", "partition": 0, "start": 0, "end": 5}]
    kept = json.loads((halting.lake.root / "_penstock/feed/accepted" / f"{0:020}.json").read_text())
    assert [(each["start"], each["end"]) for each in kept["ranges"]] == [(0, 5)]
    assert halting.call("status") == 0
    assert "feed: accepted by ann: a live run goes on within 10 seconds" in capsys.readouterr().out
    assert halting.run() == 0
    assert halting.story.quarantined() == places(0, 2, 3, 4)
    assert halting.call("status") == 0
    assert "halted" not in capsys.readouterr().out
    assert halting.call("errors", "list", "feed", "--halted") == 0
    assert "feed feed is not halted" in capsys.readouterr().err
    assert halting.check().state == "ok"


def test_the_decision_is_kept_with_author_and_reason(
    halting: Halting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "somebody")
    assert halting.call("errors", "accept", "feed", "--reason", " known ") == 0
    kept = json.loads((halting.lake.root / "_penstock/feed/accepted" / f"{0:020}.json").read_text())
    assert (kept["author"], kept["reason"], kept["windows"]) == ("somebody", "known", 0)


def test_an_acceptance_does_not_open_the_limit_for_the_window_after_it(
    halting: Halting, capsys: Captured
) -> None:
    """Goal: a second call in haste accepts nothing that nobody has seen."""
    words = ("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.call(*words) == 0
    assert halting.run() == 0
    assert halting.call(*words) == 2
    assert "is not halted" in capsys.readouterr().err
    halting.story.cluster.append(TOPIC, 0, *[SECRET] * 4)
    assert halting.run() == 5


def test_a_feed_that_halted_for_another_cause_has_no_window_to_accept(
    halting: Halting, capsys: Captured
) -> None:
    journal = halting.story.journal()
    state = journal.open().state
    halted = read_halted(journal, state)
    assert halted is not None
    write_halted(journal, replace(halted, code="GAP", window="", ranges=()))
    assert halting.call("errors", "accept", "feed", "--reason", "known") == 2
    assert "is halted with GAP" in capsys.readouterr().err


def test_check_says_that_a_run_would_halt_again(halting: Halting) -> None:
    finding = halting.check()
    assert (finding.state, finding.exit_code) == ("halted", 5)
    assert finding.found[0].startswith("halted since 2027-01-15T08:00:00.000+00:00: QUARANTINE")
    assert "errors accept feed" in finding.found[0]


def test_check_finds_a_halt_while_kafka_does_not_answer(
    halting: Halting, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cli.commands.check._check_kafka", lambda *_: {"feed": False})
    assert halting.call("check", "--output", "json") == 5
    feed = next(line for line in as_json(capsys) if line["what"] == "feed feed")
    assert (feed["state"], feed["exit_code"]) == ("halted", 5)


def test_check_only_warns_when_the_window_is_accepted(halting: Halting) -> None:
    assert halting.call("errors", "accept", "feed", "--reason", "known", "--author", "ann") == 0
    finding = halting.check()
    assert (finding.state, finding.exit_code) == ("warning", 0)
    assert "accepted by ann" in finding.found[0]


def test_check_only_warns_when_the_configuration_has_changed(halting: Halting) -> None:
    halting.lake.config.write_text(CONFIG.replace("0.25", "0.9"))
    finding = halting.check()
    assert (finding.state, finding.exit_code) == ("warning", 0)
    assert "configuration of the feed has changed" in finding.found[0]


@pytest.mark.parametrize(("asked", "state"), [(True, "warning"), (False, "halted")])
def test_check_trusts_its_own_look_at_kafka(halting: Halting, asked: bool, state: str) -> None:
    halting.story.cluster.expire(TOPIC, 0, before=3)
    assert halting.run() == 5
    finding = halting.check(asked=asked)
    assert finding.state == state
    assert "GAP" in finding.found[0]


def test_check_does_not_take_a_topic_that_is_still_missing_for_found(halting: Halting) -> None:
    halting.lake.config.write_text(CONFIG.replace("[events]", "[events, evnets]"))
    assert halting.call("errors", "accept", "feed", "--reason", "known", "--author", "ann") == 0
    assert halting.run() == 5
    finding = halting.check()
    assert (finding.state, finding.exit_code) == ("halted", 5)
    assert "TOPIC_MISSING" in finding.found[0]
    halting.story.cluster.create_topic("evnets")
    finding = halting.check()
    assert (finding.state, finding.exit_code) == ("warning", 0)


def test_a_halt_that_cannot_be_read_is_shown_as_a_halt_and_blocks_no_command(
    halting: Halting, capsys: Captured
) -> None:
    (sample, halt) = sorted(
        (halting.lake.root / "_penstock/feed/halted").iterdir(), key=lambda each: len(each.name)
    )[::-1]
    assert "samples" in sample.name
    halt.write_bytes(b"{")
    assert halting.call("status", "--output", "json") == 5
    [found] = as_json(capsys)
    assert (found["state"], found["halted"]["code"]) == ("halted", "HALTED_DAMAGED")
    halt.write_text('{"format": 99}')
    assert halting.call("status") == 5
    told = " ".join(capsys.readouterr().out.split())
    assert "ENTRY_NEWER" in told
    assert "upgrade this installation" in told
    assert halting.call("errors", "accept", "feed", "--reason", "x", "--author", "ann") == 0
    assert halting.run() == 0


def test_a_topic_that_the_owner_did_not_find_is_shown(tmp_path: Path, capsys: Captured) -> None:
    lake = DiskLake(tmp_path)
    lake.config.write_text(CONFIG.replace("[events]", "[evnets]"))
    story = Story()
    story.store = lake.store
    (feed,) = load(lake.config, {}).feeds
    assert story.run_once(feed) == 5
    assert main(lake.words("status")) == 5
    told = capsys.readouterr().out
    assert "feed: halted since" in told
    assert "feed: topic 'evnets' does not exist, or the owner may not see it" in told


def test_a_setting_that_cannot_matter_does_not_make_a_halt_a_warning(halting: Halting) -> None:
    for setting in ("compression: snappy", "window: {every: 5s}", "publish: {tries: 2}"):
        halting.lake.config.write_text(f"{CONFIG}    {setting}\n")
        finding = halting.check()
        assert (finding.state, finding.exit_code) == ("halted", 5), setting


def test_giving_up_a_record_leaves_the_feed_halted(halting: Halting, capsys: Captured) -> None:
    """Goal: a command that moves no watermark does not turn a halted feed green."""
    halting.call("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.run() == 0
    halting.story.clock.passes(60.0)
    halting.story.cluster.append(TOPIC, 0, *[SECRET] * 5)
    assert halting.run() == 5
    capsys.readouterr()
    halting.call("status", "--output", "json")
    before = json.loads(capsys.readouterr().out)["halted"]
    why = ("--reason", "x", "--author", "ann")
    assert halting.call("errors", "drop", "feed", "events/0/2", "--execute", *why) == 0
    capsys.readouterr()
    halting.call("status", "--output", "json")
    assert json.loads(capsys.readouterr().out)["halted"] == before
    assert halting.call("errors", "list", "feed", "--halted", "--output", "json") == 0
    [group] = as_json(capsys)
    assert len(group["records"]) > 0, "the samples are there, too"
    assert halting.call("errors", "list", "feed") == 0
    assert "--halted" in capsys.readouterr().err
    accept = ("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.call(*accept) == 0
    assert halting.run() == 0


REFUSALS = [
    ("datasets: {click: {schema: click.json}}", "schema feed", "SCHEMA_REFUSED"),
    ("convert: [{flatten: [n]}]", "schema feed", "CONVERT_REFUSED"),
    ("format: orc", "feed feed", "FORMAT_CHANGED"),
    ("partition: [day, hour]", "feed feed", "PARTITION_CHANGED"),
]


@pytest.mark.parametrize(("setting", "what", "code"), REFUSALS, ids=lambda word: word[:12])
def test_check_refuses_what_a_run_refuses(
    halting: Halting,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    what: str,
    code: str,
) -> None:
    """Goal: the same exit code before and after a run that was refused; then it is cured."""
    monkeypatch.setattr("penstock.cli.commands.check._check_kafka", lambda *_: {"feed": False})
    halting.call("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.run() == 0
    schema = {"type": "object", "properties": {"n": {"type": "string"}}}
    (halting.lake.config.parent / "click.json").write_text(json.dumps(schema))
    halting.lake.config.write_text(f"{CONFIG}    {setting}\n")
    capsys.readouterr()
    for _ in ("before the run", "after it"):
        assert halting.call("check", "--output", "json") == 2
        found = {line["what"]: line for line in as_json(capsys)}
        assert any(code in sentence for sentence in found[what]["found"])
        assert halting.run() == 2
    assert halting.call("status") == 2
    row, told = capsys.readouterr().out.split("\nfeed: ", 1)
    assert "  refused  " in row
    assert f"refused since 2027-01-15T08:00:00.000+00:00: {code}: " in told
    halting.lake.config.write_text(CONFIG)
    assert halting.call("check", "--output", "json") == 0


def test_check_gives_the_exit_code_of_a_run_for_datasets_that_are_held_back(
    halting: Halting,
) -> None:
    halting.call("errors", "accept", "feed", "--reason", "known", "--author", "ann")
    assert halting.run() == 0
    journal = halting.story.journal()
    fold = journal.open()
    finding = Finding("feed")
    state = fold.state
    state.parked["click"] = "no space"
    tell_held_back(finding, halting.feed, state)
    assert (finding.state, finding.exit_code) == ("halted", 5)
    assert "DATASET_PARKED" in finding.found[0]
    state.stopped = ["click"]
    for policy, expected in (("stop", 5), ("quarantine", 0)):
        halting.lake.config.write_text(f"{CONFIG}    decode: {{incompatible: {policy}}}\n")
        finding = Finding("feed")
        tell_held_back(finding, halting.feed, state)
        assert finding.exit_code == expected


@pytest.mark.parametrize(("given", "columns"), [("", 100), ("60", 60), ("200", 200)])
def test_lines_below_the_table_are_wrapped(
    halting: Halting, capsys: Captured, monkeypatch: pytest.MonkeyPatch, given: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", given)
    assert halting.call("status") == 5
    _, _, *lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= columns
    whole = " ".join(line.strip() for line in lines)
    assert "penstock errors accept feed --reason TEXT" in whole
