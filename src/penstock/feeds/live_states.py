"""What the feeds of a run are doing now, as values. Any thread may ask; nothing is changed."""

from collections.abc import Iterable, Mapping
from typing import Literal, assert_never

from penstock.errors import FeedHalted, PenstockError
from penstock.feeds.feed_turns import FeedTurns
from penstock.model.value import Value

Doing = Literal[
    "opening",  # its journal is folded
    "claiming",  # it is claimed, or its source is asked for the first time
    "in line",  # another instance has it
    "working",  # a window is read, decided or published
    "waiting for a slot",
    "idle",  # nothing to read, or not enough yet
    "in trouble",  # something failed, and is tried again after a pause
    "done",
    "stopped",  # it ended by an error
    "halted",  # it ended, and waits for a person
    "stuck",  # its thread does not come back
]


class LiveState(Value, frozen=True):
    """One feed of a run. `lag_records` is as of the last look; None: it was not looked at yet.

    `last_window_s` is how long the last window took, 0 if there was none in this run. `code` is
    that of the error by which it ended. `sentence` says what it is at, for people.
    """

    feed: str
    doing: Doing
    sentence: str = ""
    is_owned: bool = False
    epoch: int = 0
    phase: str = ""
    lag_records: int | None = None
    windows: int = 0
    records: int = 0
    last_window: str = ""
    last_window_at: str = ""
    last_window_s: float = 0.0
    code: str = ""


def live_state(
    turns: FeedTurns, failures: Mapping[str, PenstockError], stuck: Iterable[str], tick: float
) -> LiveState:
    """What one feed does now."""
    error = failures.get(turns.name)
    doing = _doing(turns, error, is_stuck=turns.name in stuck)
    code = "" if error is None else error.code
    feed = turns.feed
    if feed is None:
        return LiveState(turns.name, doing, code=code)
    state = feed.state
    return LiveState(
        turns.name,
        doing,
        feed.doing(tick),
        turns.stage == "owned",
        feed.owner.epoch,
        feed.phase,
        turns.lag_records,
        state.windows,
        state.counts.read,
        state.last_window,
        state.last_window_at,
        turns.last_took_s,
        code,
    )


def _doing(turns: FeedTurns, error: PenstockError | None, *, is_stuck: bool) -> Doing:
    if is_stuck:
        return "stuck"
    match turns.stage:
        case "opening":
            return "opening"
        case "in line":
            if turns.trouble is not None:
                return "in trouble"
            return "in line" if turns.reports.is_told_to_wait else "claiming"
        case "owned":
            if turns.is_reading:
                return "working"
            if turns.trouble is not None:
                return "in trouble"
            return "waiting for a slot" if turns.waits_for_slot else "idle"
        case "halted" | "ended":
            if error is None:
                return "done"
            return "halted" if isinstance(error, FeedHalted) else "stopped"
        case _ as never:
            assert_never(never)
