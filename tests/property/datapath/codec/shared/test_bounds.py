"""Compiled loops check no bounds, so they run here as Python, which does.

Whatever bytes they are given, they stay inside their arrays and agree with the reference.
"""

import os
import subprocess
import sys

import pytest

_PROGRAM = """
import random
import numpy as np
np.seterr(over="ignore")
from tests.helpers.bounds_worlds import {world}

chance = random.Random(7)
for _ in range(10):
    world = {world}(chance)
    world.read_in_both_ways()
print("in bounds")
"""


@pytest.mark.parametrize("world", ["AvroBounds", "ProtoBounds", "ThriftBounds"])
def test_no_bytes_lead_a_loop_out_of_its_arrays(world: str) -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(world=world)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "in bounds"
