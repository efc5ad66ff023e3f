"""`penstock demo`: the whole of Penstock in a minute and a half, with its own broker."""

import argparse
import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

from penstock.cli.errors import UsageMistake
from penstock.config.overrides import PREFIX
from penstock.config.places import java_home
from penstock.demo.errors import DemoDifference, DemoPartsMissing
from penstock.demo.lakes import lake_of
from penstock.demo.place import Place, reason
from penstock.demo.screen import Screen
from penstock.demo.serve import serve
from penstock.errors import PenstockError
from penstock.spark.java import find_java


def run(chosen: argparse.Namespace) -> int:
    """Run the demo. Raises if a record was lost or doubled."""
    story = _story()
    signal.signal(signal.SIGTERM, _as_ctrl_c)
    _forget_overrides()
    find_java(java_home())  # before an earlier demo is replaced
    store = _settings(chosen.store)
    spec = story.DemoSpec(chosen.dir, chosen.records, chosen.lake, store, os.environ)
    place, replaced = story.begin(spec)
    width = shutil.get_terminal_size((80, 24)).columns
    colour = not os.environ.get("NO_COLOR")
    screen = Screen(sys.stdout, time.monotonic, min(width, 100), colour)
    try:
        screen.title(
            f"Penstock demo: {chosen.records:,} events into a lake, and a kill -9 on the way"
        )
        gone = ", an earlier demo is gone" * replaced
        lake = f"; the lake is {place.lake_uri}" if place.lake_uri else ""
        screen.plain(f"everything lies in {place.shown()}{gone}{lake}")
        ending = story.tell(spec, place, screen)
        story.show(ending, screen, kept=not chosen.rm)
        story.judged(ending)
        if chosen.serve:
            serve(place.page, screen)
        code = 0
    except KeyboardInterrupt:
        screen.alarm("interrupted: broker and children are stopped")
        code = 1
    except DemoDifference:
        raise  # all files stay, for the person who looks into it
    except BrokenPipeError:
        code = 1  # the output was cut off, so this is not a success
    except PenstockError:
        _leave(place, screen, chosen.rm, is_whole=False)
        raise
    finally:
        place.let_go()
    _leave(place, screen, chosen.rm, is_whole=code == 0)
    return code


def _leave(place: Place, screen: Screen, is_unwanted: bool, is_whole: bool) -> None:
    """Remove the demo if asked to; else say where an unfinished one is."""
    where = place.shown()  # before the current directory may be removed
    told = _removed(place, where) if is_unwanted else ""
    if not is_unwanted and not is_whole:
        told = f"the unfinished demo is in {where}; the next demo replaces it"
    with suppress(BrokenPipeError):
        screen.close()
        if told:
            screen.plain(told)


def _removed(place: Place, where: str) -> str:
    """Remove the demo; returns what to print about it."""
    try:
        lake_of(place).remove()
        why_kept = place.remove()
    except OSError as error:
        return f"not all of {where} could be removed: {reason(error)}"
    except PenstockError as error:
        return f"not all of {place.lake_uri} could be removed, so {where} stays: {error}"
    if why_kept:
        return f"removed all that the demo made in {where}; the directory {why_kept}"
    return f"removed {where}"


def _settings(words: list[str]) -> dict[str, str]:
    """The settings of a store that were given as KEY=VALUE."""
    for word in words:
        if not word.partition("=")[0] or "=" not in word:
            raise UsageMistake(f"--store takes KEY=VALUE, not {word!r}.", "Nothing was started.")
    return dict(word.split("=", 1) for word in words)


def _forget_overrides() -> None:
    """Ignore variables that override a configuration: they are not meant for the demo's."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        del os.environ[name]


def _story() -> Any:
    """The demo's code, imported only here: it needs a Kafka client that no other command needs."""
    try:
        return import_module("penstock.demo.story")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("penstock"):
            raise
        raise DemoPartsMissing(error.name) from error


def _as_ctrl_c(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt
