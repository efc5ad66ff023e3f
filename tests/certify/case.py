"""A case of the certificate: a name, the ids it shows, and what it does with the real parts."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.certify.oracle import Tally, decided, is_broken, picture, tally_lake
from tests.certify.parts import Parts
from tests.certify.table import Outcome
from tests.integration.lakes import run_once
from tests.integration.processes import Job, a_feed


@dataclass(frozen=True)
class Run:
    """What a case is given: the parts, its own chance, a directory, and a word for its topics."""

    parts: Parts
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
        """`K7` for an id and its variants, `C` for a family, nothing for all."""
        if not only:
            return True
        rest = r"[-\d]" if only.isalpha() else r"(?:-|$)"
        return any(re.match(re.escape(only) + rest, each) for each in self.ids)


def not_shown(each: str, why: str) -> Case:
    """An id that real parts cannot show here."""
    return Case(each, (each,), lambda _run: Outcome(not_shown=why), 0.0)


def outcome(tally: Tally, problem: str = "", **measured: float | str | None) -> Outcome:
    """The numbers of a run, with what else was wrong."""
    problems = [problem, *tally.problems]
    return Outcome(
        tally.lost,
        tally.doubled,
        "; ".join(each for each in problems if each),
        **measured,  # type: ignore[arg-type]
    )


def recover(run: Run, job: Job) -> str:
    """Restart in the session that runs already; says what went wrong."""
    code, told = run_once(
        run.parts.spark, run.parts.kafka, job.lake, a_feed(job.topic, job.max_records)
    )
    return "" if code == 0 else f"the restart ended with {code}: {told[-1] if told else ''}"


def settle(run: Run, job: Job, *, strict: bool = True) -> Tally:
    """The oracle; then recovery once more, which must change nothing."""
    tally = tally_lake(run.parts, job.lake, broken=is_broken if strict else None)
    before = picture(job.lake), decided(job.lake)
    problem = recover(run, job)
    if (picture(job.lake), decided(job.lake)) != before:
        problem = "a second recovery changed something"
    return tally + Tally(problems=(problem,) if problem else ())
