"""`penstock plugins`: every door for plug-ins, and what is behind it."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import get_args

from penstock import __version__
from penstock.api.doors import CONVERTERS, EVERY_DOOR, FORKS, PRICES
from penstock.api.errors import OWN_PACKAGE, PluginAmbiguous, PluginError
from penstock.api.find import Door, load, offers
from penstock.cli.common import print_rows
from penstock.model.convert_spec import Verb
from penstock.model.plugin import PluginRef
from penstock.model.spec import PriceSpec

Row = dict[str, object]
# What the configuration has words of its own for; these are not found by a name.
_OWN_WORDS: dict[str, tuple[str, ...]] = {
    CONVERTERS.word: tuple(verb for verb in get_args(Verb) if verb != "plugin"),
    FORKS.word: ("when",),
    PRICES.word: tuple(
        name for name in PriceSpec.__struct_fields__ if name not in {"currency", "call"}
    ),
}


def run(chosen: argparse.Namespace) -> int:
    """Print a line for everything that the configuration can name."""
    with redirect_stdout(sys.stderr):  # a module may print when it is imported
        rows = [row for door in EVERY_DOOR for row in _behind(door)]
    print_rows(rows, chosen.output)
    return 0


def _behind(door: Door[object]) -> Iterator[Row]:
    for word in _OWN_WORDS.get(door.word, ()):
        yield _row(PluginRef(door.word, word, "", OWN_PACKAGE, __version__), "built in", "")
    every = offers(door)
    for ref in every:
        rivals = [each for each in every if each.name == ref.name]
        yield _row(ref, *_state(door, ref, rivals))


def _state(door: Door[object], ref: PluginRef, rivals: list[PluginRef]) -> tuple[str, str]:
    """One word for lists, and what is wrong, if anything is."""
    try:
        if len({each.target for each in rivals}) > 1:
            raise PluginAmbiguous(rivals)
        load(door, ref)
    except PluginError as error:
        return error.state, f"{error.found} {error.advice}"
    return "built in" if ref.package == OWN_PACKAGE else "installed", ""


def _row(ref: PluginRef, state: str, note: str) -> Row:
    return {
        "door": ref.door,
        "name": ref.name,
        "state": state,
        "package": ref.package or None,
        "version": ref.version or None,
        "target": ref.target or None,
        "note": note or None,
    }
