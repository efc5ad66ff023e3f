"""One row of the certificate as a test: a real Spark cluster on loopback.

Too slow for every day; `make certify` runs it as E4.
"""

from pathlib import Path
from random import Random

import pytest

from tests.certify.case import Run
from tests.certify.executor_cases import slow_task_is_copied
from tests.certify.parts import Parts

pytestmark = [pytest.mark.certify, pytest.mark.xdist_group("kafka")]


def test_e2_e4_a_copy_of_a_slow_task_delivers_and_the_slow_one_leaves_nothing_visible(
    tmp_path: Path,
) -> None:
    """Method: stop one Python worker in the middle; the run must end while it is still stopped."""
    with Parts() as parts:
        found = slow_task_is_copied(Run(parts, Random(1), tmp_path, "cluster"))
    assert (found.lost, found.doubled, found.problem) == (0, 0, "")
