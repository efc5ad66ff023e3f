"""The directed schedules, Z1 to Z12 among them, each a test of its own."""

import pytest

from tests.simulator.schedules import SCHEDULES, Schedule


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.__name__)
def test_the_protocol_survives(schedule: Schedule) -> None:
    schedule()
