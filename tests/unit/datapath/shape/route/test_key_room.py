"""Directories are cut so that every key fits into the store, and stay apart."""

import pytest

from penstock.datapath.shape.route.directory_escape import component
from penstock.datapath.shape.route.key_room import (
    FILE_NAME_BYTES,
    fitted,
    least_key_bytes,
    least_room,
    room_for_directories,
)
from penstock.model.file_groups import name_of_part
from penstock.model.layout import Layout
from penstock.model.names import encode_component
from penstock.model.ranges import OffsetRange
from penstock.model.spec import PartitionKey
from penstock.ports.store.probe import LEAST_KEY_BYTES

KEYS = (PartitionKey("day"), PartitionKey("field", "a"), PartitionKey("field", "b"))
LONGEST = 2**63 - 1


def path_of(*values: str) -> str:
    """The directories of a row with these values."""
    levels = [component(f"by_{key}", value) for key, value in zip("ab", values, strict=True)]
    return "/".join(["day=2026-11-15", *levels])


def test_what_fits_is_left_as_it_is() -> None:
    path = path_of("x" * 300, "é" * 50)
    assert fitted(path, len(path.encode())) == path


def test_two_values_never_share_a_directory() -> None:
    values = [("x" * n, "x" * m) for n in (30, 100, 199, 250) for m in (30, 100, 199, 250)]
    values += [("x" * 250 + end, "x" * 40) for end in "abc"]
    found = {fitted(path_of(*pair), least_room(KEYS) + 5) for pair in values}
    assert len(found) == len(values)


def test_a_short_value_is_not_cut_because_of_a_long_one() -> None:
    found = fitted(path_of("DE", "x" * 200), least_room(KEYS) + 30)
    assert found.startswith("day=2026-11-15/by_a=DE/by_b=xxx")


def test_no_room_for_what_a_cut_needs_is_said() -> None:
    with pytest.raises(ValueError, match="too few"):
        fitted(path_of("x" * 200, "y" * 200), 60)


@pytest.mark.parametrize("ranges", [1, 2])
def test_no_name_of_a_file_is_longer_than_what_is_left_for_it(ranges: int) -> None:
    parts = [OffsetRange("t:" * 200, "id", n, LONGEST - 1, LONGEST) for n in range(ranges)]
    name = name_of_part(10**6, f"{10**9}-{'f' * 32}", 10**6, parts, "snappy.parquet")
    assert len(name.encode()) <= FILE_NAME_BYTES


def test_every_other_key_fits_into_the_least_that_a_store_must_take() -> None:
    feed, odd = "f" * 100, encode_component(":" * 200)
    quarantine = Layout(feed).quarantine_of(":" * 200, odd)
    assert len(quarantine) + 1 + FILE_NAME_BYTES <= LEAST_KEY_BYTES
    assert least_key_bytes(feed, (PartitionKey("day"), PartitionKey("hour"))) <= LEAST_KEY_BYTES
    assert len(Layout(feed).part_marker(LONGEST, f"{odd}.table")) <= LEAST_KEY_BYTES


def test_the_room_is_what_base_and_file_leave() -> None:
    base = "feed/é"
    path = "p" * room_for_directories(1_000, base)
    assert len(f"{base}/{path}/{'n' * FILE_NAME_BYTES}".encode()) == 1_000
