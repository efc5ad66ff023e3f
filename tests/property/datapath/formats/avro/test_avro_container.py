"""Avro files of any rows: the same for fastavro, and for our own reader."""

import io
from typing import Any

import fastavro
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.file_format import WriteOptions
from penstock.datapath.formats.avro.avro import FORMAT
from penstock.testing.contracts.file_format_rows import values_of, written
from tests.helpers.file_rows import FILE_ROWS, ROW_TYPES, part_of


@settings(max_examples=150, deadline=None)
@given(
    st.lists(FILE_ROWS, min_size=1, max_size=20),
    st.integers(0, 3),
    st.sampled_from(tuple(FORMAT.suffixes)),
)
def test_any_rows_come_back_as_they_were(
    rows: list[dict[str, Any]], start: int, compression: str
) -> None:
    table = part_of(rows, start, 20)
    raw = written(FORMAT, table, options=WriteOptions(compression))
    assert values_of(FORMAT.open(io.BytesIO(raw)), ROW_TYPES) == table.to_pylist()


@settings(max_examples=150, deadline=None)
@given(st.lists(FILE_ROWS, min_size=1, max_size=20), st.sampled_from(["none", "deflate"]))
def test_somebody_else_reads_any_rows(rows: list[dict[str, Any]], compression: str) -> None:
    table = part_of(rows, 0, 20)
    raw = written(FORMAT, table, options=WriteOptions(compression))
    wanted = table.to_pylist()
    for row in wanted:
        row["map"] = None if row["map"] is None else dict(row["map"])
    assert list(fastavro.reader(io.BytesIO(raw))) == wanted
