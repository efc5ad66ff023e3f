"""The certificate's table: what each run came to, kept on disk after every one, and the verdict."""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

RESUME_S = 20.0  # from the start of a process to the first read, on a host with nothing else to do
FOLLOW_S = 2.0  # from asking for a dead owner's lease to having it


@dataclass(frozen=True)
class Outcome:
    """What one run of a case came to. A `problem` is an expectation that did not hold.

    `resume_s`: from the start of the restarted process to its first read; `follow_s`: how long it
    waited for the lease of the dead one. None where no process was restarted. `not_shown` says why
    an id cannot be shown with real parts; such a row is no pass.
    """

    lost: int = 0
    doubled: int = 0
    problem: str = ""
    resume_s: float | None = None
    follow_s: float | None = None
    seconds: float = 0.0
    note: str = ""
    not_shown: str = ""

    def complaint(self, limit_s: float) -> str:
        """Why this run is red, in a few words; nothing when it is not."""
        if self.lost or self.doubled:
            return f"{self.lost} lost, {self.doubled} doubled. {self.problem}".strip()
        if self.problem:
            return self.problem
        if self.resume_s is not None and self.resume_s > limit_s:
            return f"resumed after {self.resume_s:.1f} s, more than {limit_s:g}"
        if self.follow_s is not None and self.follow_s > FOLLOW_S:
            return f"waited {self.follow_s:.1f} s for a dead owner's lease"
        return ""


@dataclass(frozen=True)
class Row:
    """All runs of one id."""

    id: str
    runs: tuple[Outcome, ...]
    limit_s: float = RESUME_S

    @property
    def shown(self) -> list[Outcome]:
        """The runs that really took place."""
        return [run for run in self.runs if not run.not_shown]

    @property
    def verdict(self) -> str:
        """`ok`, `not shown`, or `FAILED`."""
        if not self.shown:
            return "not shown"
        return "FAILED" if any(run.complaint(self.limit_s) for run in self.shown) else "ok"

    def cells(self) -> list[str]:
        """The row as text."""
        shown = self.shown
        resumed = [run.resume_s for run in shown if run.resume_s is not None]
        remarks = [run.complaint(self.limit_s) for run in shown]
        remarks += [run.not_shown or run.note for run in self.runs]
        return [
            self.id,
            str(len(shown)),
            str(sum(run.lost for run in shown)) if shown else "-",
            str(sum(run.doubled for run in shown)) if shown else "-",
            f"{max(resumed):.1f} s" if resumed else "-",
            self.verdict,
            "; ".join(dict.fromkeys(remark.replace("|", "/") for remark in remarks if remark)),
        ]


HEAD = ["id", "runs", "lost", "doubled", "time to resume", "verdict", "remarks"]


@dataclass
class Results:
    """Runs by name, of one seed and one state of the source; written after each of them."""

    path: Path
    seed: int
    tree: str
    runs: dict[str, Outcome] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, seed: int, tree: str) -> "Results":
        """What was finished before; nothing when the seed or the source is another now."""
        found = cls(path, seed, tree)
        if path.exists():
            known = json.loads(path.read_text())
            if (known["seed"], known["tree"]) == (seed, tree):
                found.runs = {name: Outcome(**run) for name, run in known["runs"].items()}
        return found

    def keep(self, name: str, outcome: Outcome) -> None:
        """Add a run; a kill leaves the file as it was or as it is now."""
        self.runs[name] = outcome
        self.path.parent.mkdir(parents=True, exist_ok=True)
        runs = {each: asdict(run) for each, run in self.runs.items()}
        draft = self.path.with_suffix(".draft")
        draft.write_text(json.dumps({"seed": self.seed, "tree": self.tree, "runs": runs}, indent=1))
        os.replace(draft, self.path)  # noqa: PTH105


def rows_of(
    cases: Iterable[tuple[str, tuple[str, ...]]],
    runs: Mapping[str, Outcome],
    limit_s: float = RESUME_S,
) -> list[Row]:
    """The rows by id; cases are given by their names and ids."""
    by_id: dict[str, list[Outcome]] = {}
    for name, ids in cases:
        for each in ids:
            by_id.setdefault(each, [])
            if name in runs:
                by_id[each].append(runs[name])
    return [Row(each, tuple(by_id[each]), limit_s) for each in sorted(by_id, key=_order)]


def _order(each: str) -> tuple[str, str, int]:
    """By family, then plain ids before `-twice` and the like, then by number."""
    letters, number, more = re.match(r"([A-Z]+)(\d*)(.*)", each).groups()  # type: ignore[union-attr]
    return letters, more, int(number or 0)


def as_table(rows: Iterable[Row], missing: int) -> str:
    """The table in Markdown, with the total at its end."""
    found = list(rows)
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    lines += [f"| {' | '.join(row.cells())} |" for row in found]
    shown = list({id(run): run for row in found for run in row.shown}.values())  # some show two ids
    resumed = [run.resume_s for run in shown if run.resume_s is not None]
    total = [
        "total",
        str(len(shown)),
        str(sum(run.lost for run in shown)),
        str(sum(run.doubled for run in shown)),
        f"{max(resumed):.1f} s" if resumed else "-",
        "ok" if exit_code(found, missing) == 0 else "FAILED",
        f"{missing} runs are missing" if missing else "",
    ]
    lines.append(f"| {' | '.join(f'**{cell}**' if cell else '' for cell in total)} |")
    return "\n".join(lines) + "\n"


def exit_code(rows: Iterable[Row], missing: int) -> int:
    """0 only when every run took place and none is red. What cannot be shown is no pass and no
    failure: it stands in the table by name, with the reason."""
    found = list(rows)
    if missing or not any(row.shown for row in found):
        return 1
    return 1 if any(row.verdict == "FAILED" for row in found) else 0
