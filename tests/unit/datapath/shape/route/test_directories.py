"""Directories below a dataset: the day a clock shows, fields by name, and nothing that escapes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from penstock.datapath.shape.route.directories import (
    Directories,
    directory_keys,
    partition_directories,
)
from penstock.datapath.shape.route.directory_escape import MAX_COMPONENT_BYTES, component, escape
from penstock.model.spec import PartitionKey, PartitionKind
from penstock.ports.store.keys import check_key

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def at(text: str) -> int:
    """UTC microseconds of a time that names its zone."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)


def keys(*words: str) -> tuple[PartitionKey, ...]:
    """Partition keys as a user writes them: day, hour, minute, or a field's path."""
    pieces: dict[str, PartitionKind] = {"day": "day", "hour": "hour", "minute": "minute"}
    return tuple(
        PartitionKey(pieces[word]) if word in pieces else PartitionKey("field", word)
        for word in words
    )


def rows(found: Directories) -> list[str]:
    """The path of each row."""
    assert found.codes.dtype == np.int32
    return [found.paths[code] for code in found.codes.tolist()]


def times(*texts: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A column of event times."""
    return np.array([at(text) for text in texts], np.int64)


@pytest.mark.parametrize(
    ("moment", "zone", "expected"),
    [
        ("2026-11-15T07:05:59.999999Z", "UTC", "day=2026-11-15/hour=07/minute=05"),
        ("2026-11-15T23:30:00Z", "Europe/Berlin", "day=2026-11-16/hour=00/minute=30"),
        ("2026-11-15T18:29:59Z", "Asia/Kolkata", "day=2026-11-15/hour=23/minute=59"),
        ("2026-11-15T18:30:00Z", "Asia/Kolkata", "day=2026-11-16/hour=00/minute=00"),
        # New Year, on both sides of the date line.
        ("2025-12-31T23:59:59.999999Z", "UTC", "day=2025-12-31/hour=23/minute=59"),
        ("2026-01-01T00:00:00Z", "UTC", "day=2026-01-01/hour=00/minute=00"),
        ("2025-12-31T10:00:00Z", "Pacific/Kiritimati", "day=2026-01-01/hour=00/minute=00"),
        ("2026-01-01T10:00:00Z", "Pacific/Pago_Pago", "day=2025-12-31/hour=23/minute=00"),
        ("2024-02-29T12:00:00Z", "UTC", "day=2024-02-29/hour=12/minute=00"),
        # Clocks go forward: 02 is never shown. They go back: 02 is shown twice.
        ("2026-03-29T00:59:00Z", "Europe/Berlin", "day=2026-03-29/hour=01/minute=59"),
        ("2026-03-29T01:00:00Z", "Europe/Berlin", "day=2026-03-29/hour=03/minute=00"),
        ("2026-10-25T00:30:00Z", "Europe/Berlin", "day=2026-10-25/hour=02/minute=30"),
        ("2026-10-25T01:30:00Z", "Europe/Berlin", "day=2026-10-25/hour=02/minute=30"),
        # By half an hour, in the middle of an hour.
        ("2026-10-03T15:29:00Z", "Australia/Lord_Howe", "day=2026-10-04/hour=01/minute=59"),
        ("2026-10-03T15:30:00Z", "Australia/Lord_Howe", "day=2026-10-04/hour=02/minute=30"),
        # Local mean time, 13 minutes and 35 seconds ahead.
        ("1900-01-01T00:00:28Z", "Africa/Lagos", "day=1900-01-01/hour=00/minute=14"),
        ("1969-12-31T23:59:59.999999Z", "UTC", "day=1969-12-31/hour=23/minute=59"),
        ("0001-01-02T00:00:00Z", "America/New_York", "day=0001-01-01/hour=19/minute=03"),
        ("9999-12-30T23:59:59Z", "Pacific/Kiritimati", "day=9999-12-31/hour=13/minute=59"),
    ],
)
def test_directories_show_what_the_clocks_of_the_zone_show(
    moment: str, zone: str, expected: str
) -> None:
    found = partition_directories(times(moment), keys("day", "hour", "minute"), zone, {})
    assert rows(found) == [expected]


def test_two_real_hours_share_a_directory_when_clocks_go_back() -> None:
    column = times("2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z")
    found = partition_directories(column, keys("day", "hour"), "Europe/Berlin", {})
    assert found.paths == ["day=2026-10-25/hour=02", "day=2026-10-25/hour=03"]
    assert found.codes.tolist() == [0, 0, 1]


def test_paths_are_distinct_and_in_order_of_appearance() -> None:
    column = times("2026-11-16T01:00:00Z", "2026-11-15T01:00:00Z", "2026-11-16T23:00:00Z")
    found = partition_directories(column, keys("day"), "UTC", {})
    assert found.paths == ["day=2026-11-16", "day=2026-11-15"]
    assert found.codes.tolist() == [0, 1, 0]
    assert partition_directories(column, keys("hour"), "UTC", {}).paths == ["hour=01", "hour=23"]


def test_fields_stand_where_the_user_put_them() -> None:
    column = times("2026-11-15T01:00:00Z", "2026-11-15T02:00:00Z", "2026-11-15T01:59:00Z")
    fields: dict[str, list[object | None]] = {
        "geo.country": ["DE", "DE", "FR"],
        "plan": [1, True, None],
    }
    found = partition_directories(column, keys("geo.country", "day", "plan", "hour"), "UTC", fields)
    assert rows(found) == [
        "by_country=DE/day=2026-11-15/by_plan=1/hour=01",
        "by_country=DE/day=2026-11-15/by_plan=true/hour=02",
        "by_country=FR/day=2026-11-15/by_plan=__HIVE_DEFAULT_PARTITION__/hour=01",
    ]


def test_values_become_text_and_what_has_none_lies_under_the_name_for_null() -> None:
    values = ["a", "", None, 7, 7.5, True, [1], {"a": 1}, float("nan"), "7", -0.0]
    found = partition_directories(np.zeros(len(values), np.int64), keys("x"), "UTC", {"x": values})
    null = "by_x=__HIVE_DEFAULT_PARTITION__"
    expected = ["by_x=a", null, null, "by_x=7", "by_x=7.5", "by_x=true", null, null, null]
    assert rows(found) == [*expected, "by_x=7", "by_x=-0.0"]
    assert len(set(found.paths)) == len(found.paths)


def test_without_rows_or_without_keys_there_is_little_to_say() -> None:
    nothing = np.zeros(0, np.int64)
    for words in (("day", "hour"), ("x",), ()):
        found = partition_directories(nothing, keys(*words), "Europe/Berlin", {"x": []})
        assert (found.codes.tolist(), found.paths) == ([], [])
    assert rows(partition_directories(np.zeros(2, np.int64), (), "UTC", {})) == ["", ""]


def test_a_time_that_has_no_day_is_refused() -> None:
    for micros in (2**63 - 1, -(2**63), at("0001-01-01T00:00:00Z") - 86_400 * 10**6):
        for zone in ("UTC", "Europe/Berlin"):
            with pytest.raises(ValueError, match="calendar"):
                partition_directories(np.array([micros], np.int64), keys("day"), zone, {})


def test_every_row_needs_a_value_of_every_field() -> None:
    with pytest.raises(ValueError, match="1 values of by_x for 2 rows"):
        partition_directories(np.zeros(2, np.int64), keys("x"), "UTC", {"x": [1]})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("day", "country"), ("day", "by_country")),
        (("geo.country",), ("by_country",)),
        (("_id",), ("by__id",)),
        (("größe",), ("by_größe",)),
        (("a/b=c",), ("by_a%2Fb%3Dc",)),
        (("a.",), ("by_a.",)),
        (("user.id", "order.id", "x"), ("by_user.id", "by_order.id", "by_x")),
        (("user.id", "order.ID"), ("by_user.id", "by_order.ID")),
    ],
)
def test_a_field_is_named_after_the_end_of_its_path_unless_two_end_alike(
    words: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    assert directory_keys(keys(*words)) == expected


# What ExternalCatalogUtils.getPartitionPathString of Spark 4.1.4 answers for the key by_x.
SPARK_SAYS = {
    None: "by_x=__HIVE_DEFAULT_PARTITION__",
    "": "by_x=__HIVE_DEFAULT_PARTITION__",
    "__HIVE_DEFAULT_PARTITION__": "by_x=__HIVE_DEFAULT_PARTITION__",
    "a b": "by_x=a b",
    " ": "by_x= ",
    "a/b": "by_x=a%2Fb",
    ".": "by_x=.",
    "..": "by_x=..",
    "a.": "by_x=a.",
    "100%": "by_x=100%25",
    "a=b": "by_x=a%3Db",
    "C:\\x": "by_x=C%3A%5Cx",
    "{x}": "by_x=%7Bx}",
    "ä": "by_x=ä",
    "e\u0301": "by_x=e\u0301",
    "\U0001f600": "by_x=\U0001f600",
}
# Every character below 256, and a few above, that escapePathName changes.
SPARK_ESCAPES = {chr(code): f"%{code:02X}" for code in range(1, 0x20)} | {
    '"': "%22", "#": "%23", "%": "%25", "'": "%27", "*": "%2A", "/": "%2F", ":": "%3A",
    "=": "%3D", "?": "%3F", "[": "%5B", "\\": "%5C", "]": "%5D", "^": "%5E", "{": "%7B",
    "\x7f": "%7F",
}  # fmt: skip


@pytest.mark.parametrize(("value", "expected"), SPARK_SAYS.items())
def test_a_value_is_written_as_spark_writes_it(value: str | None, expected: str) -> None:
    assert component("by_x", value) == expected


def test_the_characters_that_spark_escapes_are_escaped_and_no_others_but_nul() -> None:
    codes = [*range(1, 0x100), 0x3B1, 0x2028, 0xFEFF, 0xE000, 0x1F600]
    assert {
        chr(code): escape(chr(code)) for code in codes if escape(chr(code)) != chr(code)
    } == SPARK_ESCAPES
    assert escape("\0") == "%00"
    assert escape("a\ud800b") == "a%ED%A0%80b"


@pytest.mark.parametrize("value", ["x" * 500, "ä" * 300, "/" * 200, "\U0001f600" * 60, "\0" * 400])
def test_a_long_value_is_cut_and_keeps_apart_from_its_neighbours(value: str) -> None:
    name = component("by_x", value)
    assert len(name.encode()) <= MAX_COMPONENT_BYTES
    assert name != component("by_x", value + "x")
    assert "%7E" in name
    assert check_key(name) == (name,)


def test_a_short_value_cannot_pose_as_a_long_one() -> None:
    cut = component("by_x", "x" * 500).removeprefix("by_x=")
    assert component("by_x", cut) != f"by_x={cut}"
    assert component("by_x", cut.replace("%7E", "~")) != f"by_x={cut}"


def test_the_longest_field_name_leaves_room_for_values() -> None:
    words = keys("ä" * 300)
    column = np.zeros(2, np.int64)
    found = partition_directories(column, words, "UTC", {"ä" * 300: ["one", "other"]})
    assert len(set(found.paths)) == 2
    assert all(len(path.encode()) <= MAX_COMPONENT_BYTES for path in found.paths)


@pytest.mark.parametrize(
    "value",
    ["../../x", "a/b", ".hid", "_hid", "CON", "x" * 300, "%2e", "%2e%2e%2f", "\0", "..", "a\\b"],
)
def test_a_hostile_value_stays_one_component(value: str) -> None:
    found = partition_directories(np.zeros(1, np.int64), keys("day", "x"), "UTC", {"x": [value]})
    components = check_key(found.paths[0])
    assert len(components) == 2
    assert components[1].startswith("by_x=")


def test_sixteen_threads_find_the_same_directories() -> None:
    start = at("2026-01-01T00:00:00Z")
    column = np.arange(0, 8760, dtype=np.int64) * 3_600_000_000 + start
    values = [str(row % 7) for row in range(len(column))]

    def run(_: int) -> list[str]:
        """All rows, by time and by a field."""
        words = keys("day", "x", "hour")
        return rows(partition_directories(column, words, "America/New_York", {"x": values}))

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(run, range(32)))
    assert all(answer == answers[0] for answer in answers)
