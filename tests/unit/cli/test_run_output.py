"""The lines of a run: what a person sees on a terminal, and what a program reads elsewhere."""

from io import StringIO

from penstock.cli.run_output import teller
from penstock.feeds.run_events import Event, Fact

FACTS: dict[str, Fact] = {
    "dataset": "order",
    "path": "id",
    "wanted": "int64",
    "cause": "",
    "records": 3,
}


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def conflict(feed: str, window: str, **facts: str | int) -> Event:
    return Event(feed, "conflict", f"{window} {facts}", {**FACTS, **facts}, "warning")


def told(out: StringIO) -> int:
    """How many lines were printed for these: a conflict, again, and three others."""
    tell = teller({"NO_COLOR": "1"}, out)
    tell(conflict("events", "1-1"))
    tell(conflict("events", "1-2", records=9))
    tell(conflict("events", "1-3", path="name"))
    tell(conflict("events", "1-3", wanted=""))
    tell(conflict("other", "1-1"))
    return out.getvalue().count("\n")


def test_a_field_that_does_not_fit_is_told_once_on_a_terminal() -> None:
    assert told(Screen()) == 4


def test_programs_get_the_event_of_every_window() -> None:
    assert told(StringIO()) == 5


def test_windows_are_told_however_alike_they_are() -> None:
    screen = Screen()
    tell = teller({}, screen)
    for _ in range(3):
        tell(Event("events", "window", "window 1-1"))
    assert screen.getvalue().count("\n") == 3
