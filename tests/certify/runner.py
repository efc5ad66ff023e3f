"""Runs cases one after the other, keeps what each came to, and prints the table."""

import argparse
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event
from typing import TYPE_CHECKING

from tests.certify.case import Case, Run
from tests.certify.table import RESUME_S, Outcome, Results, as_table, exit_code, rows_of

if TYPE_CHECKING:
    from tests.certify.parts import Parts

stopping = Event()
REPOSITORY = Path(__file__).parents[2]
SEED = 1


def stop(*_of: object) -> None:
    """For signals: all that was started is ended, and the run that is under way says nothing."""
    stopping.set()
    sys.exit(1)


def certify(
    everything: Sequence[Case], make_parts: Callable[[], "Parts"], chosen: argparse.Namespace
) -> int:
    """Run what is not finished; 0 only when nothing was lost or doubled and all went as it must."""
    cases = [case for case in everything if case.fits(chosen.only)]
    if not cases:
        print(f"no case is called {chosen.only!r}")
        return 2
    folder = results_folder(chosen)
    results = Results.load(folder / "results.json", chosen.seed, source_tree())
    if chosen.fresh:
        results.runs.clear()
    print(f"seed {chosen.seed}, source {results.tree[:12]}, {len(cases)} runs", flush=True)
    run_all(cases, results, make_parts, again=chosen.again)
    named = [(case.name, case.ids) for case in cases]
    rows = rows_of(named, results.runs, chosen.resume_limit)
    missing = sum(case.name not in results.runs for case in cases)
    table = as_table(rows, missing)
    (folder / "table.md").write_text(table)
    print(table)
    return exit_code(rows, missing)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The words of the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.certify", description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", default="", help="one id (K7), or a family (C)")
    parser.add_argument("--fresh", action="store_true", help="forget what is finished")
    parser.add_argument("--again", action="store_true", help="run the red ones once more")
    parser.add_argument("--results", type=Path, default=REPOSITORY / "certify")
    parser.add_argument("--store", choices=["local", "s3", "hdfs", "gcs"], default="local")
    parser.add_argument("--lake", default="", help="s3://bucket/prefix of your own, for --store s3")
    parser.add_argument("--resume-limit", type=float, default=RESUME_S, metavar="SECONDS")
    return parser.parse_args(arguments)


def results_folder(chosen: argparse.Namespace) -> Path:
    """Each kind of store has its own table."""
    word = "own-bucket" if chosen.lake else "" if chosen.store == "local" else chosen.store
    folder: Path = chosen.results / word
    return folder


def source_tree() -> str:
    """A word for the source as it is: git's hash of src/, with what is not committed."""
    index = REPOSITORY / ".git"
    if not index.exists():
        return "unknown"
    said = [("git", "rev-parse", "HEAD:src"), ("git", "diff", "HEAD", "--", "src")]
    tree, changes = (
        subprocess.run(words, cwd=REPOSITORY, capture_output=True, check=True).stdout.decode()
        for words in said
    )
    return tree.strip() + (f"+{abs(hash_of(changes)):08x}" if changes else "")


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    return Random(text).getrandbits(32)


def run_all(
    cases: Sequence[Case], results: Results, make_parts: Callable[[], "Parts"], *, again: bool
) -> None:
    """Run the cases that have no result yet, with a line and an estimate for each."""
    for name in [n for n, run in results.runs.items() if again and run.complaint(RESUME_S)]:
        del results.runs[name]
    waiting = [case for case in cases if case.name not in results.runs]
    waiting.sort(key=lambda case: case.turn)
    pace = 1.0
    with make_parts() as parts:
        for number, case in enumerate(waiting):
            found = run_one(case, parts, results.seed)
            if stopping.is_set():  # what Python raised for the signal was taken for an error
                sys.exit(1)
            results.keep(case.name, found)
            if case.guess_s and not found.not_shown:
                pace = 0.9 * pace + 0.1 * found.seconds / case.guess_s
            left_s = sum(each.guess_s for each in waiting[number + 1 :]) * pace
            print(line_of(case, found, len(waiting) - number - 1, left_s), flush=True)


def run_one(case: Case, parts: "Parts", seed: int) -> Outcome:
    """One case. Whatever it raises is an expectation that did not hold, and no end of the rest."""
    word = case.name.replace("/", "-").lower()
    directory = parts.directory(word)
    began = time.monotonic()
    try:
        found = case.act(Run(parts, Random(f"{seed}/{case.name}"), directory, f"certify-{word}"))
    except Exception as error:  # noqa: BLE001  the table says what it was
        where = traceback.extract_tb(error.__traceback__)[-1]
        found = Outcome(problem=f"{type(error).__name__} in {where.name}: {error}"[:600])
        traceback.print_exc()
    found = replace(found, seconds=round(time.monotonic() - began, 1))
    if not found.complaint(RESUME_S):
        shutil.rmtree(directory, ignore_errors=True)
    return found


def line_of(case: Case, found: Outcome, left: int, left_s: float) -> str:
    """What happened, and how much is left."""
    if found.not_shown:
        told = f"not shown: {found.not_shown}"
    else:
        told = f"lost {found.lost}, doubled {found.doubled}, {found.seconds:.0f} s"
        told += f", resumed in {found.resume_s:.1f} s" if found.resume_s is not None else ""
        told += f"  RED: {found.problem}" if found.problem else ""
    return f"{case.name:14} {told}  ({left} left, about {left_s / 60:.0f} min)"
