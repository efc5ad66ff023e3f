"""JSON lines in pieces that are bounded by their bytes.

A file tells the names of its columns in every line, and no types. Penstock's own columns have the
types in which they are written; an audit asks for no others. All others come as the texts of their
values, exactly as they are written, or in the types of a schema.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from typing import BinaryIO

import msgspec
import pyarrow as pa

from penstock.api.file_format import PIECE_BYTES, PIECE_ROWS, FileUnreadable
from penstock.datapath.codec.shared.value_types import ColumnValue, ParserType
from penstock.datapath.formats.arrow_errors import first_line
from penstock.datapath.formats.jsonl.own_types import OWN_TYPES
from penstock.datapath.formats.line_packing import LinesBroken, lines_of
from penstock.datapath.formats.row_pieces import columns_among, row_pieces

_NULL = b"null"
_names_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class JsonLinesReader:
    """A file of JSON lines with its first line read; others are read as they are asked for."""

    words: Mapping[str, str] = {}

    def __init__(self, file: BinaryIO, schema: pa.Schema | None = None) -> None:
        self._file = file
        with _as_unreadable():
            names = _names_of(next(lines_of(self._file), b""))
        self.schema: pa.Schema = schema or pa.schema(
            [(name, OWN_TYPES.get(name, _TEXT_OF_JSON)) for name in names]
        )
        self._is_typed = schema is not None

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """The rows in their order."""
        batches = self._batches(columns, most_rows, most_bytes)
        yield from row_pieces(batches, most_rows, most_bytes)

    def _batches(
        self, columns: Sequence[str], most_rows: int, most_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """The rows, about as many at a time as there is room for; lines count as a whole."""
        schema = columns_among(self.schema, columns)
        are_texts = [not self._is_typed and name not in OWN_TYPES for name in columns]
        parser = _parser(schema, are_texts)
        held: list[ColumnValue] = []
        size = 0
        with _as_unreadable():
            for line in lines_of(self._file):
                if held and (size + len(line) > most_bytes or len(held) >= most_rows):
                    yield _batch(held, schema, are_texts)
                    held, size = [], 0
                held.append(parser.decode(line))
                size += len(line)
            if held:
                yield _batch(held, schema, are_texts)


_TEXT_OF_JSON = pa.string()


def _parser(schema: pa.Schema, are_texts: Sequence[bool]) -> msgspec.json.Decoder[ColumnValue]:
    """Parses the wanted columns of a line. Members are numbered: any name can be a column's."""
    kinds = [
        msgspec.Raw if is_text else _parsed(each.type)
        for each, is_text in zip(schema, are_texts, strict=True)
    ]
    return msgspec.json.Decoder(_struct(schema.names, kinds))


def _struct(names: Sequence[str], kinds: Sequence[ParserType]) -> ParserType:
    fields = [
        (f"f{number}", kind if kind is msgspec.Raw else kind | None, _default(kind))
        for number, kind in enumerate(kinds)
    ]
    renamed = {f"f{number}": name for number, name in enumerate(names)}
    return msgspec.defstruct("Line", fields, rename=renamed, gc=False)


def _default(kind: ParserType) -> ParserType:
    return msgspec.Raw(_NULL) if kind is msgspec.Raw else None


def _parsed(kind: pa.DataType) -> ParserType:
    """What the parser makes of a value of a type."""
    if pa.types.is_struct(kind):
        return _struct([each.name for each in kind], [_parsed(each.type) for each in kind])
    if pa.types.is_map(kind):
        return dict[str, _parsed(kind.item_type) | None]  # type: ignore[misc]
    if pa.types.is_list(kind):
        return list[_parsed(kind.value_type) | None]  # type: ignore[misc]
    found = (parsed for is_one, parsed in _PARSED if is_one(kind))
    return next(found)


_PARSED = (
    (pa.types.is_boolean, bool),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_binary, bytes),
    (pa.types.is_date32, date),
    (pa.types.is_timestamp, datetime),
    (pa.types.is_string, str),
)


def _batch(rows: list[ColumnValue], schema: pa.Schema, are_texts: Sequence[bool]) -> pa.RecordBatch:
    arrays = []
    for number, (each, is_text) in enumerate(zip(schema, are_texts, strict=True)):
        values = [getattr(row, f"f{number}") for row in rows]
        arrays.append(_texts(values) if is_text else pa.array(_plain(values, each.type), each.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _texts(values: list[msgspec.Raw]) -> pa.Array:
    raw = [bytes(value) for value in values]
    return pa.array([None if each == _NULL else each.decode() for each in raw], pa.string())


def _plain(values: list[ColumnValue], kind: pa.DataType) -> list[ColumnValue]:
    """Values as Arrow takes them: it knows no objects of the parser."""
    if not _has_structs(kind):
        return values
    return [None if value is None else _plain_value(value, kind) for value in values]


def _plain_value(value: ColumnValue, kind: pa.DataType) -> ColumnValue:
    if pa.types.is_struct(kind):
        parts = (_plain([getattr(value, f"f{at}")], each.type) for at, each in enumerate(kind))
        return {each.name: part for each, [part] in zip(kind, parts, strict=True)}
    if pa.types.is_map(kind):
        return list(zip(value, _plain(list(value.values()), kind.item_type), strict=True))
    return _plain(value, kind.value_type)


def _has_structs(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _has_structs(kind.item_type)
    return bool(
        pa.types.is_struct(kind) or (pa.types.is_list(kind) and _has_structs(kind.value_type))
    )


@contextmanager
def _as_unreadable() -> Iterator[None]:
    try:
        yield
    except LinesBroken as error:
        raise FileUnreadable(str(error)) from error
    except (msgspec.MsgspecError, pa.ArrowException, ValueError, OverflowError) as error:
        raise FileUnreadable(f"a line cannot be read: {first_line(error)}") from error
