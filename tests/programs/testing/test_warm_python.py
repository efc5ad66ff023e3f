"""Forked processes end as real ones do, so that a test may use one for the other."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.warm_python import WarmPython

PROGRAMS = {
    "says something": "import sys; print(sys.argv[1:]); print('ü', file=sys.stderr)",
    "ends with a number": "import sys; print('x'); sys.exit(7)",
    "ends with a sentence": "import sys; sys.exit('a sentence')",
    "dies of an error": "raise ValueError('wrong')",
    "is killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "says something at its very end": "import atexit; atexit.register(print, 'the end')",
    "waits for its threads": "import threading, time; threading.Thread(target=lambda: "
    "(time.sleep(0.05), print('late'))).start()",
    "sees where it is": "import os; print(os.getcwd(), os.environ['A'], 'HOME' in os.environ)",
}
Run = Callable[..., subprocess.CompletedProcess[Any]]


def seen(run: Run, program: str, where: Path) -> tuple[int, str, list[str]]:
    """Exit code, output, and the first and last line of what was said besides."""
    command = [sys.executable, "-c", program, "a", "b c"]
    env = {"PATH": os.environ["PATH"], "A": "1"}
    ran = run(command, capture_output=True, text=True, check=False, cwd=where, env=env)
    said = ran.stderr.splitlines()
    return ran.returncode, ran.stdout, [*said[:1], *said[-1:]]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_forked_process_shows_what_a_real_one_shows(
    warm_python: WarmPython, tmp_path: Path, name: str
) -> None:
    real = seen(subprocess.run, PROGRAMS[name], tmp_path)
    assert seen(warm_python.run, PROGRAMS[name], tmp_path) == real


@pytest.mark.parametrize("program", ["print('x')", "print('x' * 100_000)"])
def test_output_that_nobody_takes_changes_the_exit_code_alike(
    warm_python: WarmPython, program: str
) -> None:
    codes = []
    for run in (subprocess.run, warm_python.run):
        reader, writer = os.pipe()
        os.close(reader)
        env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        ran: Any = run([sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE,
                       check=False, env=env)  # fmt: skip
        os.close(writer)
        codes.append((ran.returncode, b"BrokenPipeError" in ran.stderr))
    assert codes[0] == codes[1]
    assert codes[0][0] in {1, 120}


def test_a_module_is_run_as_a_program(warm_python: WarmPython) -> None:
    ran = warm_python.run([sys.executable, "-m", "json.tool", "--help"], capture_output=True)
    assert ran.returncode == 0
    assert b"usage: python" in ran.stdout or b"usage: json.tool" in ran.stdout


def test_one_that_takes_too_long_is_killed_and_the_next_one_runs(warm_python: WarmPython) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm_python.run([sys.executable, "-c", "import time; time.sleep(600)"], timeout=0.2)
    assert warm_python.run([sys.executable, "-c", "pass"]).returncode == 0


@pytest.mark.parametrize("words", [["true"], [sys.executable, "script.py", "x"]])
def test_what_is_not_this_python_is_refused(warm_python: WarmPython, words: list[str]) -> None:
    with pytest.raises(ValueError, match=r"not"):
        warm_python.run(words)
