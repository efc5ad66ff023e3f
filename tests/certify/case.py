"""A case of the certificate: a name, the ids it shows, and what it does with the real parts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tests.certify.table import Outcome

if TYPE_CHECKING:  # the runner itself needs no Spark
    from tests.certify.parts import Parts


@dataclass(frozen=True)
class Run:
    """What a case is given: the parts, its own chance, a directory, and a word for its topics."""

    parts: "Parts"
    chance: Random
    directory: Path
    word: str


Act = Callable[[Run], Outcome]


@dataclass(frozen=True)
class Case:
    """One run of one or more ids. `guess_s` is how long it takes on two idle cores.

    Cases of an earlier `turn` run first, so that a run that is stopped has seen every id once.
    """

    name: str
    ids: tuple[str, ...]
    act: Act
    guess_s: float = 20.0
    turn: int = 0

    def fits(self, only: str) -> bool:
        """`K7` for an id and its variants, `C` for a family, `K7,E` for both, nothing for all."""
        return not only or any(self._is(word) for word in only.split(","))

    def _is(self, word: str) -> bool:
        rest = r"[-\d]" if word.isalpha() else r"(?:-|$)"
        return word == self.name or any(re.match(re.escape(word) + rest, each) for each in self.ids)


def not_shown(each: str, why: str) -> Case:
    """An id that real parts cannot show here."""
    return Case(each, (each,), lambda _run: Outcome(not_shown=why), 0.0)
