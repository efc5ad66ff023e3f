"""A lake has one identity, and does not lie inside another lake."""

from pathlib import Path

import pytest

from penstock.ports.store.list_keys import list_keys
from penstock.ports.store.local.local_store import LocalStore
from penstock.protocol.journal.errors import LakeInsideLake
from penstock.protocol.journal.lake_identity import known_identity, lake_identity
from tests.simulator.programs import surroundings


@pytest.mark.parametrize("inside", ["events", "events/click/day=2026-11-15", "_penstock/events"])
def test_a_new_lake_inside_another_is_refused_and_nothing_is_written(
    tmp_path: Path, inside: str
) -> None:
    outer = tmp_path / "lake"
    lake_identity(LocalStore(outer), surroundings("outer"))
    (outer / inside).mkdir(parents=True, exist_ok=True)
    inner = LocalStore(outer / inside)
    with pytest.raises(LakeInsideLake, match=str(outer)):
        lake_identity(inner, surroundings("inner"))
    assert list_keys(inner, "") == []


def test_a_lake_beside_another_is_made_and_one_that_is_known_is_not_asked_again(
    tmp_path: Path,
) -> None:
    first = LocalStore(tmp_path / "first")
    made = lake_identity(first, surroundings("first"))
    assert lake_identity(LocalStore(tmp_path / "second"), surroundings("second")) != made
    lake_identity(LocalStore(tmp_path), surroundings("around"))
    assert known_identity(first) == lake_identity(first, surroundings("again")) == made
