"""`penstock` in a process that kills or stops itself, and its process group, at one chosen point.

`python -m tests.integration.crashing POINT WORDS...` runs the command of those words, or `clean`
for the cleaner. The points are those of the fault catalogue. At some the process is only stopped
(SIGSTOP), and goes on from there when somebody lets it; at others an act fails.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any

from penstock.care.clean import clean
from penstock.cli import common
from penstock.cli.commands import run
from penstock.cli.main import main as penstock
from penstock.config.load import load
from penstock.datapath.driver import source_tasks
from penstock.feeds import runner as run_module
from penstock.feeds import running_feed as feed_module
from penstock.feeds.heartbeat import Heart
from penstock.model.layout import Layout
from penstock.protocol.feed_book.feed_journal import FeedJournal
from penstock.protocol.feed_book.feed_lease import FeedLease
from penstock.protocol.journal.lake_identity import lake_identity
from penstock.protocol.loop import owner
from penstock.protocol.loop.owner import Owner
from penstock.protocol.loop.owner_spec import OwnerSpec
from penstock.runtime.surroundings import Surroundings, side_by_side
from tests.integration.dying import DyingStore, Fuse, die, losing_its_result
from tests.integration.points import ALL

QUICK_BEAT_S = 0.05


class Notes:
    """When what happened, on the clock that all processes of a host share."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: set[str] = set()

    def once(self, what: str) -> None:
        """Write down the first time."""
        if self._path and what not in self._seen:
            self._seen.add(what)
            with Path(self._path).open("a") as notes:
                notes.write(json.dumps({"what": what, "at": time.monotonic()}) + "\n")


def main(words: list[str]) -> int:
    """Run until the point is reached; getting to the end means that it never was."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.crashing")
    parser.add_argument("point", choices=sorted(ALL))
    parser.add_argument("--nth", type=int, default=0, help="which of the calls that fit")
    parser.add_argument("--clock", default="", help="seconds to add, `frozen`, or `at:SECONDS`")
    parser.add_argument("--note", default="", help="the file for what happened when")
    parser.add_argument("words", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(words)
    point = ALL[chosen.point]
    fuse = Fuse(point._replace(nth=chosen.nth or point.nth))
    arm(fuse, Notes(chosen.note), clock(chosen.clock))
    if chosen.words[0] == "clean":
        return clean_once(chosen.words[1], fuse)
    return penstock(chosen.words)


def arm(fuse: Fuse, notes: Notes, now: Callable[[], float]) -> None:
    """Put our hooks in. Everything else is the program that users run."""
    point = fuse.point
    for each in (run, common):  # a run, and commands that decide something beside it
        replace(each, "lake_store", lambda spec: DyingStore(spec.lake.address, fuse))
    replace(
        run,
        "surroundings",
        lambda: Surroundings(now, time.sleep, SystemRandom(), do_all=side_by_side),
    )
    hook(Owner, "open", fuse, notes)
    hook(Owner, "plan", fuse, notes)
    hook(Owner, "stage", fuse, notes)
    hook(feed_module.RunningFeed, "close", fuse, notes)
    hook(FeedLease, "try_take", fuse, notes)
    if point.call == "prove":  # all is staged, and nothing of it was looked at
        replace(owner, "prove", lambda *_: die())
    if point.call == "staged":
        threading.Thread(target=die_when_staged, daemon=True).start()
    if point.call == "task exit":
        replace(source_tasks, "shredding", losing_its_result)
    if point.call == "handler":
        replace(run, "stop_on_signals", partial(dying_handler, run.stop_on_signals))
    if "checkpoints" in point.key or "_tail" in point.key:
        replace(feed_module, "OwnerSpec", partial(OwnerSpec, checkpoint_every=1))
    if "lease" in point.key:
        replace(run_module, "Heart", partial(Heart, every_s=QUICK_BEAT_S))


def replace(place: Any, name: str, what: object) -> None:
    """Put something else under a name."""
    setattr(place, name, what)


def hook(kind: type, name: str, fuse: Fuse, notes: Notes) -> None:
    """Watch a method: note its first call and its first end, and die there if it is time."""
    inner = getattr(kind, name)

    def hooked(self: object, *arguments: object, **named: object) -> object:
        notes.once(name)
        if name == "stage" and fuse.point.call in ("handler", "close"):
            os.kill(os.getpid(), signal.SIGTERM)
        fuse.before(name, "")
        result = inner(self, *arguments, **named)
        notes.once(f"{name} answered" if result is not None else f"{name} done")
        fuse.after(name, "")
        return result

    replace(kind, name, hooked)


def dying_handler(
    inner: Callable[[threading.Event, Callable[[], None]], Callable[[], bool]],
    over: threading.Event,
    end_now: Callable[[], None],
) -> Callable[[], bool]:
    """The handler of SIGTERM as it is, and then the end."""
    is_stopping = inner(over, end_now)
    polite = signal.getsignal(signal.SIGTERM)

    def handler(number: int, frame: object) -> None:
        if callable(polite):
            polite(number, frame)  # type: ignore[arg-type]
        die()

    signal.signal(signal.SIGTERM, handler)
    return is_stopping


def die_when_staged() -> None:
    """Watch from the side, and die while the job runs with some files staged.

    A small window has staged files for a few milliseconds only, so nothing else is looked at.
    """
    words = sys.argv[1:]
    lake = Path(load(Path(words[words.index("--config") + 1]), os.environ).lake.address)
    while not any(lake.glob("_penstock/*/staging/*/*.staged")):
        time.sleep(0.001)
    die()


def clock(words: str) -> Callable[[], float]:
    """A clock that is wrong by so many seconds, stands still, or began at another time."""
    if words == "frozen":
        stopped = time.time()
        return lambda: stopped
    if words.startswith("at:"):
        ahead = float(words.removeprefix("at:")) - time.time()
        return lambda: time.time() + ahead
    shift = float(words or 0)
    return lambda: time.time() + shift


def clean_once(lake: str, fuse: Fuse) -> int:
    """The cleaner, which needs no Spark."""
    store = DyingStore(lake, fuse)
    around = Surroundings(time.time, time.sleep, SystemRandom())
    clean(FeedJournal(store, Layout("events"), lake_identity(store, around), around))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
