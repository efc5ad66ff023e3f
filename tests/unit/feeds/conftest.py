"""Runs of tests have threads that watch each other; here they look more often than in real runs."""

import pytest

from penstock.feeds import runner, slots


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often is looked decides only how long a test takes."""
    monkeypatch.setattr(runner, "WATCH_S", 0.02)
    monkeypatch.setattr(slots, "LOOK_S", 0.02)
