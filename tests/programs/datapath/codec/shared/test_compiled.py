"""Compiled functions: right results, and a cache that no other version of the code uses."""

import os
import subprocess
import sys
from pathlib import Path

_PROGRAM = """
import sys

import numpy as np
from penstock.datapath.codec.shared import compiled as room

__name__ = "penstock.datapath.codec.program"  # functions of others are not kept there
sys.modules[__name__] = sys.modules["__main__"]

@room.compiled
def total(numbers):
    found = 0
    for number in numbers:
        found += number
    return found

print(total(np.arange(10)), room._use_cache())
"""


def _run(tmp_path: Path, cache: Path) -> str:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, env=environment, check=True
    )
    return done.stdout.strip()


def test_a_compiled_function_is_kept_in_the_cache_of_the_user(tmp_path: Path) -> None:
    assert _run(tmp_path, tmp_path / "cache") == "45 True"
    kept = [path for path in (tmp_path / "cache").rglob("*.nbc") if "total" in path.name]
    assert len(kept) == 1
    changed = kept[0].stat().st_mtime_ns
    assert _run(tmp_path, tmp_path / "cache") == "45 True"
    assert kept[0].stat().st_mtime_ns == changed


def test_without_a_place_for_the_cache_a_function_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert _run(tmp_path, tmp_path / "file") == "45 False"
