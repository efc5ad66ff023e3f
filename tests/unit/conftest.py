"""Unit tests write thousands of small files, and are the same in every terminal."""

import pytest

from penstock.ports.store.local import disk


@pytest.fixture(autouse=True)
def without_waiting_for_the_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files and directories are not synced, which was half of the time that unit tests took.

    The folders `contract` and `crash` test what is durable when, and sync for real.
    """
    monkeypatch.setattr(disk, "_sync_descriptor", lambda _descriptor: None)


@pytest.fixture(autouse=True)
def whatever_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines are as wide as where nobody knows the terminal, also in a worker with `COLUMNS`."""
    monkeypatch.delenv("COLUMNS", raising=False)
