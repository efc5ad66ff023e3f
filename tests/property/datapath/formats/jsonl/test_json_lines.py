"""JSON lines of any rows: the same for Python's parser, and for our own reader by their schema."""

import base64
import io
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.api.file_format import WriteOptions
from penstock.datapath.formats.jsonl.jsonl import FORMAT
from penstock.testing.contracts.file_format_rows import opened, values_of, written
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
    if table.num_rows == 0:
        return
    raw = written(FORMAT, table, options=WriteOptions(compression))
    assert values_of(opened(FORMAT, raw, ROW_TYPES), ROW_TYPES) == table.to_pylist()


def meant(text: Any, kind: pa.DataType) -> Any:
    """What a value of JSON says in a column of a type."""
    if text is None:
        return None
    if pa.types.is_struct(kind):
        return {each.name: meant(text[each.name], each.type) for each in kind}
    if pa.types.is_map(kind):
        return [(name, meant(value, kind.item_type)) for name, value in text.items()]
    if pa.types.is_list(kind):
        return [meant(each, kind.value_type) for each in text]
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(text)
    if pa.types.is_date32(kind):
        return date.fromisoformat(text)
    if pa.types.is_binary(kind):
        return base64.b64decode(text, validate=True)
    if pa.types.is_decimal(kind):
        return Decimal(text)
    return float(text) if pa.types.is_floating(kind) else text


@settings(max_examples=150, deadline=None)
@given(st.lists(FILE_ROWS, min_size=1, max_size=20))
def test_somebody_else_reads_any_rows(rows: list[dict[str, Any]]) -> None:
    table = part_of(rows, 0, 20)
    lines = written(FORMAT, table, options=WriteOptions("none")).split(b"\n")
    assert lines.pop() == b""
    found = [json.loads(line, parse_float=str) for line in lines]
    types = {each.name: each.type for each in ROW_TYPES}
    assert [
        {name: meant(value, types[name]) for name, value in row.items()} for row in found
    ] == table.to_pylist()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(FILE_ROWS, min_size=1, max_size=20),
    st.sampled_from(tuple(FORMAT.suffixes)),
    st.booleans(),
)
def test_any_rows_are_copied_as_they_were_read(
    rows: list[dict[str, Any]], compression: str, only_ours: bool
) -> None:
    """Goal: what rewrites files needs no types, and changes no byte of a value."""
    table = part_of(rows, 0, 20)
    table = table.append_column("_topic", pa.array(["t"] * len(rows)))
    table = table.append_column("_offset", pa.array(range(len(rows))))
    if only_ours:
        table = table.select(["_topic", "_offset"])
    raw = written(FORMAT, table, options=WriteOptions("none"))
    copied = copied_as_read(raw, compression)
    assert copied_as_read(copied, "none") == raw
    assert values_of(opened(FORMAT, copied, table.schema), table.schema) == table.to_pylist()


def copied_as_read(raw: bytes, compression: str) -> bytes:
    """A file with the rows of another one, without a word on their types."""
    reader, stream = FORMAT.open(io.BytesIO(raw)), io.BytesIO()
    writer = FORMAT.begin_as_read(stream, reader.schema, WriteOptions(compression))
    for piece in reader.pieces(reader.schema.names, most_rows=7):
        writer.write(pa.Table.from_batches([piece]))
    writer.finish()
    return stream.getvalue()
