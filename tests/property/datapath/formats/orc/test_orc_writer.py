"""ORC files of any rows: the same as in Parquet, and times that readers refuse are found."""

import io
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datapath.formats.orc.orc_times import rows_not_orc
from penstock.datapath.formats.orc.orc_writer import plain_field
from tests.helpers.orc_files import COMPRESSIONS, TIMED_TYPES, TYPES, rows_of_both, written
from tests.helpers.shredding import an_event

# Arrow's reader of ORC counts nanoseconds, so that it cannot show all years; the writer can.
MOMENTS = st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1))

ROWS = st.fixed_dictionaries(
    {
        "flag": st.none() | st.booleans(),
        "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        "float": st.none() | st.floats(allow_nan=False),
        "text": st.none() | st.text(max_size=20),
        "bytes": st.none() | st.binary(max_size=20),
        "day": st.none() | st.dates(),
        "at": st.none() | MOMENTS.map(lambda at: at.replace(tzinfo=UTC)),
        "local": st.none() | MOMENTS,
        "money": st.none() | st.decimals(-(10**20), 10**20, places=9),
        "names": st.none() | st.sampled_from(["a", "b", "ü"]),
        "list": st.none() | st.lists(st.none() | st.lists(st.none() | st.text(max_size=3))),
        "map": st.none()
        | st.dictionaries(
            st.text(max_size=3),
            st.none()
            | st.fixed_dictionaries(
                {"x": st.none() | st.integers(0, 9), "y": st.none() | st.lists(st.integers(0, 9))}
            ),
        ).map(lambda found: list(found.items())),
        "partition": st.integers(0, 2**31 - 1),
    }
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ROWS, min_size=1, max_size=30), st.sampled_from(COMPRESSIONS))
def test_every_type_comes_back_as_it_was(rows: list[dict[str, Any]], compression: str) -> None:
    table = pa.Table.from_pylist(rows, schema=TYPES)
    plain = pa.schema([plain_field(field) for field in TYPES])
    read = orc.read_table(io.BytesIO(written(table, compression))).replace_schema_metadata()
    assert read.cast(plain).to_pylist() == table.cast(plain).to_pylist()


INNER = pa.struct(
    [("x", pa.int64()), ("list", pa.list_(pa.string())), ("last", pa.struct([("t", pa.string())]))]
)

STRUCTS = pa.schema(
    [
        ("plain", INNER),
        ("nested", pa.struct([("inner", INNER), ("flag", pa.bool_())])),
        ("list", pa.list_(pa.list_(INNER))),
        ("map", pa.map_(pa.string(), INNER)),
        ("in_struct", pa.struct([("list", pa.list_(INNER))])),
    ]
)

AN_INNER = st.none() | st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(0, 9),
        "list": st.none() | st.just(["a", None]),
        "last": st.none() | st.fixed_dictionaries({"t": st.none() | st.text(max_size=2)}),
    }
)

A_ROW = st.fixed_dictionaries(
    {
        "plain": AN_INNER,
        "nested": st.none()
        | st.fixed_dictionaries({"inner": AN_INNER, "flag": st.none() | st.booleans()}),
        "list": st.none() | st.lists(st.none() | st.lists(AN_INNER, max_size=2), max_size=2),
        "in_struct": st.none()
        | st.fixed_dictionaries({"list": st.none() | st.lists(AN_INNER, max_size=2)}),
        "map": st.none()
        | st.dictionaries(st.sampled_from("ab"), AN_INNER).map(lambda d: list(d.items())),
    }
)


@settings(max_examples=100, deadline=None)
@given(st.lists(A_ROW, min_size=2, max_size=40), st.data())
def test_a_part_of_an_array_is_written_as_it_is(rows: list[dict[str, Any]], data: Any) -> None:
    start = data.draw(st.integers(0, len(rows) - 1))
    part = pa.Table.from_pylist(rows, schema=STRUCTS).slice(start, data.draw(st.integers(1, 40)))
    read = orc.read_table(io.BytesIO(written(part))).replace_schema_metadata()
    assert read.to_pylist() == part.to_pylist()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(st.text("xyz", min_size=1), JSON, max_size=4), max_size=12))
def test_any_records_give_the_same_rows_in_both_formats(events: list[dict[str, Any]]) -> None:
    values = [an_event("click"), *(an_event("click", **each) for each in events)]
    parquet, in_orc = rows_of_both(values)
    assert in_orc == parquet


MICROS = st.sampled_from([-1, -999_999, -1_500_001, -86_400_000_001, -1_000_000, 0, 1, 5])

TIMED = st.fixed_dictionaries(
    {
        "at": st.none() | MICROS,
        "inner": st.none() | st.fixed_dictionaries({"at": st.none() | MICROS}),
        "list": st.none() | st.lists(st.none() | st.lists(st.none() | MICROS, max_size=2)),
        "map": st.none()
        | st.dictionaries(st.sampled_from("ab"), st.none() | MICROS).map(lambda d: list(d.items())),
    }
)


def moments_in(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [each for inner in value.values() for each in moments_in(inner)]
    if isinstance(value, list | tuple):
        return [each for inner in value for each in moments_in(inner)]
    return [value] if isinstance(value, int) else []


@settings(max_examples=100, deadline=None)
@given(st.lists(TIMED, max_size=12), st.integers(0, 3))
def test_times_that_readers_refuse_are_found_wherever_they_are(
    rows: list[dict[str, Any]], cut: int
) -> None:
    batch = pa.RecordBatch.from_pylist(rows, schema=TIMED_TYPES).slice(cut)
    wanted = [
        number
        for number, row in enumerate(rows[cut:])
        if any(at < 0 and at % 1_000_000 for at in moments_in(row))
    ]
    assert rows_not_orc(batch) == wanted
