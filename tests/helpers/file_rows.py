"""Any rows of files, for searches: every type of column, and values at the ends of their ranges."""

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INNER = pa.struct([("x", pa.int64()), ("list", pa.list_(pa.string())), ("d", pa.float64())])
ROW_TYPES = pa.schema(
    [
        ("flag", pa.bool_()),
        ("number", pa.int64()),
        ("float", pa.float64()),
        ("text", pa.string()),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("local", pa.timestamp("us")),
        ("money", pa.decimal128(38, 9)),
        ("names", pa.dictionary(pa.int32(), pa.string())),
        ("list", pa.list_(pa.list_(pa.decimal128(9, 2)))),
        ("map", pa.map_(pa.string(), INNER)),
        ("inner", pa.struct([("inner", INNER), ("flags", pa.list_(pa.bool_()))])),
        ("partition", pa.int32()),
    ]
)
_MOMENTS = st.datetimes(datetime.min, datetime.max)
_INNERS = st.none() | st.fixed_dictionaries(
    {
        "x": st.none() | st.integers(-(2**63), 2**63 - 1),
        "list": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
        "d": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    }
)
FILE_ROWS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "flag": st.none() | st.booleans(),
        "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        "float": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "text": st.none() | st.text(max_size=20),
        "bytes": st.none() | st.binary(max_size=20),
        "day": st.none() | st.dates(date.min, date.max),
        "at": st.none() | _MOMENTS.map(lambda at: at.replace(tzinfo=UTC)),
        "local": st.none() | _MOMENTS,
        "money": st.none() | st.decimals(-(10**28), 10**28, places=9),
        "names": st.none() | st.sampled_from(["a", "b", "ü"]),
        "list": st.none()
        | st.lists(
            st.none() | st.lists(st.none() | st.decimals(-9999999, 9999999, places=2), max_size=3),
            max_size=3,
        ),
        "map": st.none()
        | st.dictionaries(st.text(max_size=3), _INNERS, max_size=3).map(lambda d: list(d.items())),
        "inner": st.none()
        | st.fixed_dictionaries(
            {
                "inner": _INNERS,
                "flags": st.none() | st.lists(st.none() | st.booleans(), max_size=3),
            }
        ),
        "partition": st.integers(0, 2**31 - 1),
    }
)


def part_of(rows: list[dict[str, Any]], start: int, count: int) -> pa.Table:
    """Some of the rows, as a part of longer columns."""
    return pa.Table.from_pylist(rows, schema=ROW_TYPES).slice(start, count)
