"""The last line of a run: one feed or fifty, in a narrow terminal or a wide one."""

import io
import json
from dataclasses import dataclass, field
from typing import Any, cast, get_args

import pytest

from penstock.cli.commands.run import compiling_told
from penstock.cli.first_compilation import COMPILING
from penstock.cli.moving_line import Ticker, columns_of, fitted, line_of
from penstock.cli.run_output import teller
from penstock.feeds.feed_tools import FeedTools
from penstock.feeds.live_states import Doing, LiveState
from penstock.feeds.run_events import Event
from penstock.feeds.runner import Runner, RunSpec
from penstock.model.window import Available
from penstock.testing.list_source import ListSource
from tests.helpers.list_story import FEED, Story

STAGING = "stage 1-1, 50,000 records, 7 s"


class Terminal(io.StringIO):
    """A terminal whose lines a test can read."""

    def isatty(self) -> bool:
        return True


@dataclass
class Feeds:
    """A runner as far as the line asks it."""

    states: list[LiveState] = field(default_factory=list)
    has_begun: bool = True

    def live_states(self) -> list[LiveState]:
        return self.states


def feed(name: str, doing: Doing = "idle") -> LiveState:
    is_owned = doing in ("working", "idle", "waiting for a slot", "in trouble")
    return LiveState(name, doing, STAGING if doing == "working" else "", is_owned)


def line(*states: LiveState, columns: int = 80, has_begun: bool = True) -> str:
    return line_of(cast(Runner, Feeds(list(states), has_begun)), columns)


def fifty(doing: Doing = "idle") -> list[LiveState]:
    return [feed(f"a_feed_with_a_long_name_{n}", doing) for n in range(50)]


@pytest.mark.parametrize("columns", [1, 3, 20, 40, 80, 200])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
@pytest.mark.parametrize("doing", get_args(Doing))
def test_the_line_never_reaches_the_last_column(columns: int, count: int, doing: Doing) -> None:
    assert len(line(*fifty(doing)[:count], columns=columns)) <= max(columns - 1, 3)
    mixed = [feed("first", "working"), *fifty(doing)[:count]]
    assert len(line(*mixed, columns=columns)) <= max(columns - 1, 3)


def test_who_works_is_shown_and_who_waits_is_counted() -> None:
    shop = feed("shop", "working")
    assert line(shop) == f"shop: {STAGING}"
    assert line(shop, feed("a")) == f"shop: {STAGING}; 1 other feed waiting"
    assert line(*fifty(), shop) == f"shop: {STAGING}; 50 other feeds waiting"


def test_feeds_that_do_something_else_are_counted_by_what_they_do() -> None:
    others = [feed("a", "waiting for a slot"), feed("b", "waiting for a slot"), feed("c", "halted")]
    found = line(feed("shop", "working"), feed("d"), *others, columns=120)
    assert found == f"shop: {STAGING}; 1 other feed waiting; 2 waiting for a slot; 1 halted"
    assert (
        line(feed("shop"), feed("a", "in trouble")) == "2 feeds waiting for records; 1 in trouble"
    )
    assert line(feed("shop", "in trouble")) == "shop: trying again after a failure"
    assert line(feed("shop"), feed("a", "in line")) == (
        "shop: waiting for records; 1 of another instance"
    )


def test_feeds_that_wait_for_records_look_for_nothing() -> None:
    assert line(feed("shop")) == "shop: waiting for records"
    assert line(*fifty()) == "50 feeds waiting for records"
    assert line(feed("shop", "in line")) == "waiting for another owner"
    assert line(feed("shop", "claiming")) == "asking for topics and offsets"
    assert line(has_begun=False) == "starting Spark"


def test_many_feeds_stay_on_one_screen_and_what_is_not_usual_is_shown() -> None:
    """Goal: 50 feeds do not fill a terminal with claims and windows; few feeds tell each one."""
    usual, odd = Event("a", "window", "window 1-1"), Event("a", "trouble", "again", level="warning")
    for count, shown in ((3, 2), (50, 1)):
        out = Terminal()
        tell = teller({"NO_COLOR": "1"}, out, feeds=count)
        for event in (usual, odd):
            tell(event)
        assert out.getvalue().count("\n") == shown
        assert "again" in out.getvalue()
    plain = io.StringIO()
    teller({}, plain, feeds=50)(usual)
    assert json.loads(plain.getvalue())["event"] == "window"


def test_while_no_feed_is_owned_the_line_says_what_is_waited_for() -> None:
    """Goal: while a new feed asks Kafka, nobody else owns it."""
    told = []
    story = Story()
    runner: list[Runner] = []

    class Slow(ListSource):
        def look(self) -> Available:
            told.append(line_of(runner[0], 80))
            return super().look()

    tools = FeedTools(lambda spec: Slow(spec, story.cluster), story.store, story.clock.around())
    runner.append(Runner((FEED,), tools, lambda _: None, lambda: False, RunSpec(once=True)))
    assert runner[0].run() == 0
    assert told[0] == "asking for topics and offsets"


def test_what_is_compiled_meanwhile_stands_behind() -> None:
    found = line_of(cast(Runner, Feeds(has_begun=False)), 80, COMPILING)
    assert found == f"starting Spark; {COMPILING}"
    found = line_of(cast(Runner, Feeds([feed("shop", "working")])), 100, COMPILING)
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
    with Ticker(cast(Runner, Feeds(fifty())), out) as ticker:
        assert not cast(Any, ticker)._thread.is_alive()
    assert out.getvalue() == ""
    assert columns_of(out) == 80
