"""The last line of a run: one feed or fifty, in a narrow terminal or a wide one."""

import io
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from penstock.cli.commands.run import compiling_told
from penstock.cli.first_compilation import COMPILING
from penstock.cli.moving_line import Ticker, columns_of, fitted, line_of
from penstock.cli.run_output import abandon_event, as_line, stop_event
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.feeds.running_feed import FeedTools, RunningFeed
from penstock.model.window import Available
from penstock.testing.list_source import ListSource
from tests.helpers.list_story import FEED, Story

STAGING = "stage 1-1, 50,000 records, 7 s"


@dataclass
class Feed:
    """A feed that says what it does."""

    name: str
    said: str = STAGING

    def doing(self, _tick: float) -> str:
        return self.said


@dataclass
class Feeds:
    """A runner as far as the line asks it."""

    owned: list[Feed] = field(default_factory=list)
    turn: str = ""
    has_begun: bool = True
    why: str = "waiting for another owner"

    def feeds_at_work(self) -> list[Feed]:
        return self.owned

    def why_none_is_owned(self) -> str:
        return self.why


def line(feeds: Feeds, columns: int = 80) -> str:
    return line_of(cast(Runner, feeds), 0.0, columns)


def fifty(turn: str = "") -> Feeds:
    return Feeds([Feed(f"a_feed_with_a_long_name_{n}") for n in range(50)], turn)


@pytest.mark.parametrize("columns", [1, 3, 20, 40, 80, 200])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
@pytest.mark.parametrize("has_turn", [False, True])
def test_the_line_never_reaches_the_last_column(columns: int, count: int, has_turn: bool) -> None:
    feeds = Feeds(fifty().owned[:count])
    feeds.turn = feeds.owned[0].name if has_turn and count else ""
    assert len(line(feeds, columns)) <= max(columns - 1, 3)


def test_who_works_is_shown_and_who_waits_is_counted() -> None:
    shop = Feed("shop")
    assert line(Feeds([shop], "shop")) == f"shop: {STAGING}"
    assert line(Feeds([shop, Feed("a")], "shop")) == f"shop: {STAGING}; 1 other feed waiting"
    many = Feeds([*fifty().owned, shop], "shop")
    assert line(many) == f"shop: {STAGING}; 50 other feeds waiting"


def test_feeds_that_wait_for_records_look_for_nothing() -> None:
    assert line(Feeds([Feed("shop")])) == "shop: waiting for records"
    assert line(fifty()) == "50 feeds waiting for records"
    assert line(Feeds()) == "waiting for another owner"
    assert line(Feeds(has_begun=False)) == "starting Spark"


def test_while_no_feed_is_owned_the_line_says_what_is_waited_for() -> None:
    """Goal: while a new feed asks Kafka, nobody else owns it."""
    told = []
    story = Story()
    runner: list[Runner] = []

    class Slow(ListSource):
        def look(self) -> Available:
            told.append(line_of(runner[0], 0.0, 80))
            return super().look()

    tools = FeedTools(lambda spec: Slow(spec, story.cluster), story.store, story.clock.around())
    runner.append(Runner((FEED,), tools, lambda _: None, lambda: False, RunSpec(once=True)))
    assert runner[0].run() == 0
    assert told[0] == "asking for topics and offsets"
    runner[0]._waiting = [cast(RunningFeed, Feed("shop"))]
    runner[0]._told_to_wait = {"shop"}
    assert line_of(runner[0], 0.0, 80) == "waiting for another owner"


def test_what_is_compiled_meanwhile_stands_behind() -> None:
    found = line_of(cast(Runner, Feeds(has_begun=False)), 0.0, 80, COMPILING)
    assert found == f"starting Spark; {COMPILING}"
    found = line_of(cast(Runner, Feeds([Feed("shop")], "shop")), 0.0, 100, COMPILING)
    assert found == f"shop: {STAGING}; {COMPILING}"


@pytest.mark.parametrize("complete", [True, False])
def test_the_first_compilation_on_a_machine_is_told(
    complete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiling = [True]
    monkeypatch.setattr("penstock.cli.commands.run.is_complete", lambda: complete)
    monkeypatch.setattr("penstock.cli.commands.run.compile_meanwhile", lambda: lambda: compiling[0])
    told: list[Event] = []
    beside = compiling_told(told.append)
    assert [event.name for event in told] == ([] if complete else ["compiling"])
    assert beside() == ("" if complete else COMPILING)
    compiling[0] = False
    assert beside() == ""


def test_what_does_not_fit_is_counted() -> None:
    told = [f"feed_{n}: {STAGING}" for n in range(5)]
    assert fitted(told, "", 80) == f"{told[0]}; 4 more at work"
    assert fitted(told, "", 300) == "; ".join(told)


def test_a_long_sentence_is_cut_before_the_count_of_those_that_wait() -> None:
    found = fitted(["shop: " + "x" * 100], "49 other feeds waiting", 80)
    assert found.endswith("xxx...; 49 other feeds waiting")
    assert len(found) == 79


def test_there_is_no_moving_line_off_a_terminal() -> None:
    out = io.StringIO()
    with Ticker(cast(Runner, fifty()), lambda: 0.0, out) as ticker:
        assert not cast(Any, ticker)._thread.is_alive()
    assert out.getvalue() == ""
    assert columns_of(out) == 80


def test_a_stop_tells_what_is_finished_first() -> None:
    event = stop_event(cast(Runner, Feeds([Feed("shop"), Feed("a")], "shop")), 0.0, 10.0)
    assert as_line(event, {}) == (
        f"shop: stopping: finishing the window first ({STAGING}); "
        "after 10 s it is abandoned, and the next run reads it again"
    )
    assert (event.name, event.facts) == ("stopping", {"grace_s": 10.0})
    assert abandon_event("shop", 10.0).name == "abandoned"


@pytest.mark.parametrize("feeds", [None, Feeds(), Feeds([Feed("shop")])])
def test_a_stop_between_windows_is_one_line(feeds: Feeds | None) -> None:
    event = stop_event(cast(Runner, feeds), 0.0, 10.0)
    assert as_line(event, {}) == "stopping: no window is being worked on"
