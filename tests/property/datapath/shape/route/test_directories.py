"""Directories of a batch are those of its rows; a value never leaves its component."""

from datetime import UTC, datetime, timedelta
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from penstock.datapath.shape.event_time.zones import EARLIEST, LATEST
from penstock.datapath.shape.route.directories import directory_keys, partition_directories
from penstock.datapath.shape.route.directory_escape import (
    MAX_COMPONENT_BYTES,
    component,
    escape,
)
from penstock.datapath.shape.route.value_names import encode_scalars, scalar_text
from penstock.model.names import NULL_NAME
from penstock.model.spec import PartitionKey
from penstock.ports.store.keys import check_key

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"]
)
# A few days around each change of clocks, New Year and a leap day; and all of history.
BUSY = st.sampled_from(["2026-03-29", "2026-10-25", "2026-10-04", "2025-12-31", "2024-02-29"])
MOMENTS = st.integers(EARLIEST, LATEST) | st.tuples(BUSY, st.integers(-(10**11), 10**11)).map(
    lambda drawn: (
        (datetime.fromisoformat(f"{drawn[0]}T00:00:00Z") - EPOCH) // timedelta(microseconds=1)
        + drawn[1]
    )
)
CHARACTERS = st.characters() | st.sampled_from("/\\%~_.- \0\n=:aA0é\ud800")
TEXTS = st.text(CHARACTERS, max_size=30) | st.text(CHARACTERS, min_size=60, max_size=300)
VALUES = (
    TEXTS
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([b"x", b"\xff", [1], {"a": 1}, 10**400, "1", 1, 1.0, True])
)
TIME = [PartitionKey("day"), PartitionKey("hour"), PartitionKey("minute")]
FIELDS = [PartitionKey("field", "a.x"), PartitionKey("field", "y")]
KEYS = st.lists(st.sampled_from(TIME + FIELDS), unique=True).map(tuple)
ROWS = st.lists(st.tuples(MOMENTS, VALUES, st.sampled_from(["p", "q", None, 3])), max_size=30)


def path_of(
    micros: int, keys: tuple[PartitionKey, ...], zone: str, fields: dict[str, object]
) -> str:
    """The path of one row, said plainly."""
    shown = (EPOCH + timedelta(microseconds=micros)).astimezone(ZoneInfo(zone))
    names = {
        "day": f"day={shown.year:04}-{shown.month:02}-{shown.day:02}",
        "hour": f"hour={shown.hour:02}",
        "minute": f"minute={shown.minute:02}",
    }
    return "/".join(
        names[key.kind] if key.kind != "field" else component(name, scalar_text(fields[key.path]))
        for key, name in zip(keys, directory_keys(keys), strict=True)
    )


@given(ROWS, KEYS, ZONES)
@example([(0, None, None), (0, "x", None)], (PartitionKey("field", "a.x"),), "UTC")
@example([(86_400_000_000, None, None), (0, "x", None)], (PartitionKey("day"),), "UTC")
def test_a_batch_lies_where_its_rows_lie(
    batch: list[tuple[int, object, object]], keys: tuple[PartitionKey, ...], zone: str
) -> None:
    micros = np.array([row[0] for row in batch], np.int64)
    fields = {"a.x": [row[1] for row in batch], "y": [row[2] for row in batch]}
    found = partition_directories(micros, keys, zone, fields)
    expected = [path_of(row[0], keys, zone, {"a.x": row[1], "y": row[2]}) for row in batch]
    assert [found.paths[code] for code in found.codes.tolist()] == expected
    assert found.paths == list(dict.fromkeys(expected))


@given(TEXTS)
@example("..")
@example("\ud800")
def test_any_value_stays_one_component_of_a_bounded_length(value: str) -> None:
    name = component("by_x", value)
    assert check_key(name) == (name,)
    assert len(name.encode()) <= MAX_COMPONENT_BYTES


@given(TEXTS, TEXTS)
@example("a/b", "a%2Fb")
@example("\ud800", "%ED%A0%80")
@example("\ud800", "\u00ed\u00a0\u0080")
def test_two_values_never_share_a_directory(one: str, other: str) -> None:
    assert (component("by_x", one) == component("by_x", other)) == (one == other)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=15))
def test_a_reader_gets_the_value_back(value: str) -> None:
    """Spark turns `%` and two digits into the character of that number; these are all ASCII."""
    assume(value != NULL_NAME)
    assert unquote(escape(value)) == value
    assert component("by_x", value) == f"by_x={escape(value)}"


@given(st.lists(VALUES))
def test_a_dictionary_says_what_its_rows_say(values: list[object]) -> None:
    found = encode_scalars(values)
    texts = [found.texts[code] if code >= 0 else None for code in found.codes.tolist()]
    assert texts == [scalar_text(value) for value in values]
    assert found.texts == list(dict.fromkeys(text for text in texts if text is not None))


@given(st.lists(st.none() | st.sampled_from(["", "a", "b", "e\u0301", "\u00e9"])))
def test_a_dictionary_of_texts_leaves_out_the_empty_one(values: list[object]) -> None:
    found = encode_scalars(values)
    texts = [found.texts[code] if code >= 0 else None for code in found.codes.tolist()]
    assert texts == [value or None for value in values]
    assert found.texts == list(dict.fromkeys(value for value in values if value))
