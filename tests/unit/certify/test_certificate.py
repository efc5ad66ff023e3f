"""The certificate's own arithmetic: when it is red, and what a run that was killed keeps."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from tests.certify.case import Case
from tests.certify.table import Outcome, Results, as_table, exit_code, rows_of

REPOSITORY = Path(__file__).parents[3]
CASES = [("C1/1", ("C1",)), ("C1/2", ("C1",)), ("K5", ("K5", "K9")), ("C18", ("C18",))]
GOOD = {
    "C1/1": Outcome(resume_s=6.5, follow_s=0.1),
    "C1/2": Outcome(),
    "K5": Outcome(note="as every day"),
    "C18": Outcome(not_shown="there is no archive"),
}


def code_with(**changes: Outcome) -> int:
    """The exit code when some runs came out in another way."""
    return exit_code(rows_of(CASES, GOOD | changes), missing=0)


def test_it_is_green_when_nothing_was_lost_or_doubled_and_all_went_as_it_must() -> None:
    assert code_with() == 0


@pytest.mark.parametrize(
    "red",
    [
        Outcome(lost=1),
        Outcome(doubled=1),
        Outcome(problem="a second recovery changed something"),
        Outcome(resume_s=20.5),
        Outcome(resume_s=5.0, follow_s=15.0),
    ],
)
def test_it_is_red_when_anything_was_lost_or_doubled_or_an_expectation_failed(red: Outcome) -> None:
    assert code_with(K5=red) == 1
    assert "FAILED" in as_table(rows_of(CASES, GOOD | {"K5": red}), 0).splitlines()[-1]


def test_it_is_red_when_a_run_is_missing_or_none_took_place() -> None:
    assert exit_code(rows_of(CASES, GOOD), missing=1) == 1
    assert exit_code(rows_of([("C18", ("C18",))], GOOD), missing=0) == 1


def test_what_cannot_be_shown_stands_in_the_table_with_its_reason_and_is_no_pass() -> None:
    lines = as_table(rows_of(CASES, GOOD), 0).splitlines()
    assert lines[3] == "| C18 | 0 | - | - | - | not shown | there is no archive |"
    assert lines[2] == "| C1 | 2 | 0 | 0 | 6.5 s | ok |  |"
    assert lines[4] == "| K5 | 1 | 0 | 0 | - | ok | as every day |"
    assert lines[-1].startswith("| **total** | **3** | **0** | **0** | **6.5 s** | **ok** |")


def test_what_is_finished_is_kept_for_the_same_seed_and_the_same_source_only(
    tmp_path: Path,
) -> None:
    path = tmp_path / "results.json"
    Results.load(path, 1, "tree").keep("C1/1", GOOD["C1/1"])
    assert Results.load(path, 1, "tree").runs == {"C1/1": GOOD["C1/1"]}
    assert Results.load(path, 2, "tree").runs == {}
    assert Results.load(path, 1, "another").runs == {}


PROGRAM = """
import os, signal, sys, tempfile
from pathlib import Path
from tests.certify.case import Case
from tests.certify.runner import certify, parsed, stop
from tests.certify.case import Case
from tests.certify.table import Outcome

class NoParts:
    def __enter__(self):
        return self
    def __exit__(self, *_):
        pass
    def directory(self, name):
        return Path(tempfile.mkdtemp(dir=sys.argv[2]))

def act(name):
    def run(_run):
        with open(sys.argv[1], "a") as ran:
            ran.write(name + " ")
        if name == "B2" and sys.argv[3] == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "B2" and sys.argv[3] == "stopped":
            try:
                os.kill(os.getpid(), signal.SIGTERM)
            finally:
                raise AttributeError("what a library makes of it")
        return Outcome()
    return run

signal.signal(signal.SIGTERM, stop)
cases = [Case(name, (name,), act(name)) for name in ("B1", "B2", "B3")]
words = ["--results", sys.argv[2], *sys.argv[4:]]
sys.exit(certify(cases, NoParts, parsed(words)))
"""


@pytest.mark.parametrize(("how", "code"), [("dies", -signal.SIGKILL), ("stopped", 1)])
def test_a_run_that_was_ended_goes_on_with_what_is_not_finished(
    tmp_path: Path, how: str, code: int
) -> None:
    ran, results = tmp_path / "ran", tmp_path / "results"
    results.mkdir()

    def certify(how: str, *words: str) -> int:
        command = [sys.executable, "-c", textwrap.dedent(PROGRAM), str(ran), str(results), how]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run(
            [*command, *words], cwd=REPOSITORY, env=environment, capture_output=True, check=False
        ).returncode

    assert certify(how) == code
    assert list(json.loads((results / "results.json").read_text())["runs"]) == ["B1"]
    assert certify("lives") == 0
    assert ran.read_text().split() == ["B1", "B2", "B2", "B3"]
    assert certify("lives") == 0
    assert certify("lives", "--only", "B3", "--fresh") == 0
    assert ran.read_text().split() == ["B1", "B2", "B2", "B3", "B3"]
    assert "| **total** | **1** |" in (results / "table.md").read_text()


@pytest.mark.parametrize(
    ("only", "fitting"),
    [
        ("", "C1/1 C1-twice C10 C-random K5"),
        ("C1", "C1/1 C1-twice"),
        ("C", "C1/1 C1-twice C10 C-random"),
        ("K9,C10", "C10 K5"),
        ("C1/1", "C1/1"),
        ("X", ""),
    ],
)
def test_a_part_of_it_is_chosen_by_id_by_family_or_by_name(only: str, fitting: str) -> None:
    ids = {"C1/1": ("C1",), "K5": ("K5", "K9")}
    names = ["C1/1", "C1-twice", "C10", "C-random", "K5"]
    cases = [Case(name, ids.get(name, (name,)), lambda _run: Outcome()) for name in names]
    assert " ".join(case.name for case in cases if case.fits(only)) == fitting


def test_a_red_run_is_not_forgotten(tmp_path: Path) -> None:
    results = Results.load(tmp_path / "results.json", 1, "tree")
    results.keep("K5", replace(GOOD["K5"], lost=3))
    assert Results.load(tmp_path / "results.json", 1, "tree").runs["K5"].lost == 3
