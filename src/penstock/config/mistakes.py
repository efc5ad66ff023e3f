"""Mistakes in a configuration, as values: where, what was found, what is allowed.

Mistakes are collected, so that a user sees all of them at once. None of them repeats a value that
could be secret.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from penstock.api.errors import PluginError

# With more than this the file is not a configuration; more text would only hide the first ones.
MOST_MISTAKES = 100
_LONGEST_SHOWN = 60
_LONGEST_GUESS = 40
_MOST_GUESSES = 200
_TAME_KEY = re.compile(r"[\w./-]{1,80}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value comes from: its key path, and its line, flag or variable."""

    path: str = ""
    line: int = 0
    origin: str = ""

    def key(self, name: str, line: int = 0) -> "Place":
        """The place of a key inside this one."""
        tame = name if _TAME_KEY.fullmatch(name) else shown(name)
        return Place(f"{self.path}.{tame}" if self.path else tame, line or self.line, self.origin)

    def item(self, index: int, line: int = 0) -> "Place":
        """The place of an item of this list."""
        return Place(f"{self.path}[{index}]", line or self.line, self.origin)

    def __str__(self) -> str:
        position = self.origin or (f"line {self.line}" if self.line else "")
        return ", ".join(part for part in (position, self.path) if part)


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake. `meant` is the name that the user probably meant.

    `plugin` is set where the file is right, and what is wrong is an installed package.
    """

    place: Place
    found: str
    allowed: str = ""
    meant: str = ""
    plugin: PluginError | None = field(default=None, compare=False)

    @property
    def path(self) -> str:
        """The key path, such as `feeds.events.window.every`."""
        return self.place.path

    @property
    def line(self) -> int:
        """The line in the file, counted from 1; 0 when the value came from elsewhere."""
        return self.place.line

    def __str__(self) -> str:
        allowed = f"; allowed: {self.allowed}" if self.allowed else ""
        meant = f"; did you mean {self.meant!r}?" if self.meant else ""
        where = str(self.place)
        return f"{where}: {self.found}{allowed}{meant}" if where else f"{self.found}{allowed}"


class Refused(Exception):
    """Raised by a reader that cannot use a value. A caller that knows the place records it."""

    def __init__(self, found: str, allowed: str = "", meant: str = "") -> None:
        super().__init__(found)
        self.found = found
        self.allowed = allowed
        self.meant = meant
        self.plugin: PluginError | None = None


class Mistakes:
    """Collects mistakes, each once: an inherited value is read again in every feed."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._found: dict[Mistake, None] = {}

    def add(self, place: Place, found: str, allowed: str = "", meant: str = "") -> None:
        """Record one mistake; mistakes beyond the limit are dropped."""
        self._add(Mistake(place, found, allowed, meant))

    def refuse(self, place: Place, refused: Refused) -> None:
        """Record a value that a reader refused."""
        self._add(Mistake(place, refused.found, refused.allowed, refused.meant, refused.plugin))

    def _add(self, mistake: Mistake) -> None:
        if not self.full:
            self._found.setdefault(mistake)

    @property
    def full(self) -> bool:
        """True when the limit is reached, and further mistakes are dropped."""
        return len(self._found) >= MOST_MISTAKES

    def all(self) -> tuple[Mistake, ...]:
        """Every mistake so far: by line, those from flags and environment last."""
        return tuple(sorted(self._found, key=lambda one: (one.place.origin, one.line)))

    @property
    def only_plugin(self) -> PluginError | None:
        """The error of a plug-in, if nothing else is wrong."""
        causes = {str(mistake.plugin): mistake.plugin for mistake in self._found}
        return next(iter(causes.values())) if len(causes) == 1 else None


def shown(text: str) -> str:
    """A value in quotes for a message: short, on one line, without control characters."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")


def closest(word: str, known: Iterable[str]) -> str:
    """The known word that is closest to `word`, or nothing."""
    if len(word) > _LONGEST_GUESS:
        return ""
    found = difflib.get_close_matches(word.lower(), islice(known, _MOST_GUESSES), n=1, cutoff=0.7)
    return found[0] if found else ""
