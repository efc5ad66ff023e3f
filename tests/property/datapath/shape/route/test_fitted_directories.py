"""Directories that are cut always fit, keep their keys, and are the same every time."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.datapath.shape.route.directory_escape import component
from penstock.datapath.shape.route.key_room import fitted, least_room
from penstock.model.spec import PartitionKey

KEYS = (PartitionKey("day"), PartitionKey("field", "a"), PartitionKey("field", "b"))


@given(st.text(max_size=80), st.text(max_size=300), st.integers(0, 300))
def test_what_does_not_fit_is_cut_to_what_does(first: str, second: str, more: int) -> None:
    room = least_room(KEYS) + more
    path = "/".join(["day=2026-11-15", component("by_a", first), component("by_b", second)])
    found = fitted(path, room)
    assert len(found.encode()) <= room
    assert [level.partition("=")[0] for level in found.split("/")] == ["day", "by_a", "by_b"]
    assert found == fitted(path, room), "the same in every window"
