"""Sums over values: the same for the same values, however they are cut; another one for others."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.evidence.value_columns import MASK, Unhashable, value_sum

POINT = pa.struct([("x", pa.int64()), ("tags", pa.list_(pa.string()))])
SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("raw", pa.binary()),
        ("flag", pa.bool_()),
        ("count", pa.int64()),
        ("share", pa.float64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("price", pa.decimal128(20, 4)),
        ("point", POINT),
        ("parts", pa.list_(pa.struct([("n", pa.int64())]))),
        ("named", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
    ]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXTS | st.sampled_from(["a" * 70_000, "a" * 69_999 + "b"]),
    "raw": st.binary(max_size=8),
    "flag": st.booleans(),
    "count": NUMBERS,
    "share": st.floats(allow_nan=False).map(lambda share: share + 0.0),  # no -0.0
    "at": st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)).map(
        lambda at: at.replace(tzinfo=UTC)
    ),
    "day": st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    "price": st.integers(-(10**12), 10**12).map(lambda n: Decimal(n).scaleb(-4)),
    "point": st.fixed_dictionaries(
        {"x": st.none() | NUMBERS, "tags": st.none() | st.lists(st.none() | TEXTS, max_size=3)}
    ),
    "parts": st.lists(st.none() | st.fixed_dictionaries({"n": st.none() | NUMBERS}), max_size=3),
    "named": st.dictionaries(TEXTS, st.none() | st.lists(NUMBERS, max_size=2), max_size=3).map(
        lambda found: list(found.items())
    ),
}
Row = dict[str, Any]
ROWS = st.lists(
    st.fixed_dictionaries({name: st.none() | each for name, each in VALUES.items()}),
    min_size=1,
    max_size=6,
)


def batch(rows: list[Row], first: int = 0) -> pa.RecordBatch:
    """Rows of two partitions in turn, with their positions."""
    placed = [
        {**row, "_topic": "events", "_partition": n % 2, "_offset": n}
        for n, row in enumerate(rows, first)
    ]
    return pa.RecordBatch.from_pylist(placed, SCHEMA)


@given(ROWS, st.data())
def test_the_sum_depends_neither_on_the_order_nor_on_batches(rows: list[Row], data: Any) -> None:
    whole = batch(rows)
    cut = data.draw(st.integers(0, len(rows)))
    order = data.draw(st.permutations(range(len(rows))))
    parts = value_sum(whole.slice(0, cut)) + value_sum(whole.slice(cut))
    assert parts & MASK == value_sum(whole) == value_sum(whole.take(pa.array(order)))


@given(ROWS, st.data())
def test_any_other_value_gives_another_sum(rows: list[Row], data: Any) -> None:
    number = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.sampled_from(sorted(VALUES)))
    value = data.draw(st.none() | VALUES[column])
    changed = [dict(row) for row in rows]
    changed[number][column] = value
    before, after = batch(rows), batch(changed)
    assert (value_sum(before) == value_sum(after)) == before.equals(after)


@given(ROWS, st.data())
def test_values_that_change_their_rows_give_another_sum(rows: list[Row], data: Any) -> None:
    column = data.draw(st.sampled_from(sorted(VALUES)))
    values = [row[column] for row in rows]
    turned = [*values[1:], values[0]]
    assume(turned != values)
    moved = [{**row, column: value} for row, value in zip(rows, turned, strict=True)]
    assert value_sum(batch(moved)) != value_sum(batch(rows))


@given(ROWS, st.sampled_from(sorted(VALUES)))
def test_a_column_that_came_later_is_as_one_that_is_null(rows: list[Row], column: str) -> None:
    without = [{**row, column: None} for row in rows]
    whole = batch(without)
    assert value_sum(whole.drop_columns([column])) == value_sum(whole)


@given(ROWS)
def test_a_member_that_came_later_is_as_one_that_is_null(rows: list[Row]) -> None:
    whole = batch(rows)
    wider = pa.struct([("new", pa.int64()), *[(each.name, each.type) for each in POINT]])
    place = SCHEMA.get_field_index("point")
    grown = whole.set_column(place, "point", whole["point"].cast(wider))
    assert value_sum(grown) == value_sum(whole)


@given(ROWS)
def test_how_values_are_kept_in_memory_does_not_matter(rows: list[Row]) -> None:
    whole = batch(rows)
    place = SCHEMA.get_field_index("text")
    encoded = whole.set_column(place, "text", whole["text"].dictionary_encode())
    large = whole.set_column(place, "text", whole["text"].cast(pa.large_string()))
    assert value_sum(encoded) == value_sum(large) == value_sum(whole)


def test_nothing_there_and_something_empty_are_not_the_same() -> None:
    points: tuple[Row | None, ...] = (None, {"x": None, "tags": None}, {"x": None, "tags": []})
    sums = {value_sum(batch([{"point": each}])) for each in points} | {
        value_sum(batch([{"text": ""}])),
        value_sum(batch([{"raw": b""}])),
        value_sum(batch([{"parts": []}])),
        value_sum(batch([{"parts": [None]}])),
        value_sum(batch([{"named": []}])),
    }
    assert len(sums) == 8


def test_values_of_one_row_do_not_count_for_another_row_of_its_record() -> None:
    rows = batch([{"text": "a"}, {"text": "b"}]).set_column(
        SCHEMA.get_field_index("_offset"), "_offset", pa.array([5, 5])
    )
    rows = rows.set_column(
        SCHEMA.get_field_index("_partition"), "_partition", pa.array([0, 0], pa.int32())
    )
    one = rows.append_column("_row", pa.array([0, 1], pa.int32()))
    other = rows.append_column("_row", pa.array([1, 0], pa.int32()))
    assert value_sum(one) != value_sum(other)


def test_the_sum_is_that_of_earlier_versions() -> None:
    """It stands in entries, and must never change."""
    row: Row = {
        "text": "käse", "raw": b"\x00\x01", "flag": True, "count": -3, "share": 0.1,
        "at": datetime(2026, 11, 15, 1, 2, 3, 4, UTC), "day": date(2026, 11, 15),
        "price": Decimal("12.3400"), "point": {"x": 1, "tags": ["a", None]},
        "parts": [{"n": 1}, None], "named": [("k", [1, 2]), ("l", None)],
    }  # fmt: skip
    assert value_sum(batch([row, {"text": "b" * 70_000}])) == PINNED


PINNED = 5130133347785039396


def test_a_type_that_no_format_has_is_refused() -> None:
    odd = batch([{}]).append_column("odd", pa.array([b"abcd"], pa.binary(4)))
    with pytest.raises(Unhashable, match="fixed_size_binary"):
        value_sum(odd)
