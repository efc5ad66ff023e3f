"""How the columns of a dataset are best written: seen from its first rows, column by column.

Parquet can write each distinct value once and refer to it. For ids, which are all different, the
attempt costs a third of the writing time and makes files larger. Where only a handful of values
occur, the references take a few bits each and there is nothing left to compress; opening a
compressor for it costs more than the column itself in a small file. And the smallest and largest of
texts that are all different tell a reader next to nothing, and take long to find.

Whole numbers that are all different are written as differences, in as many bits as those need: that
is smaller than what a compressor makes of them, and none is opened. Texts are written behind their
lengths, which leaves less to compress.

A file of few rows may have hundreds of columns with some bytes each. There a dictionary makes most
columns larger, and a compressor takes longer to open than such a column takes to write.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

_LOOKED_AT = 1_000
_TOO_FEW = 500
_FEW = 0.5  # of the values looked at, at most this share may be different
_HANDFUL = 16
_WORTH_BYTES = 256  # what a column of few rows has at least, if it is compressed


@dataclass(frozen=True, slots=True)
class ColumnEncodings:
    """Arguments for a Parquet writer; columns by their paths, as Parquet spells them."""

    use_dictionary: list[str] | bool
    compression: dict[str, str] | str
    write_statistics: list[str] | bool
    encodings: dict[str, str] = field(default_factory=dict)


# A worker runs task after task with the same datasets. How a file is written changes nothing that
# anybody compares, so what was seen once may serve again.
_remembered: dict[tuple[str, ...], ColumnEncodings] = {}
_MOST_REMEMBERED = 10_000


def usual_encodings(
    feed: str, dataset: str, rows: pa.RecordBatch, compression: str
) -> ColumnEncodings | None:
    """The best encodings for a dataset's rows, from the first ones that this process has seen."""
    key = (feed, dataset, compression, *_paths(rows.schema))
    if key not in _remembered:
        found = encodings_of(rows, compression)
        if found is None:
            return None
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[key] = found
    return _remembered[key]


def encodings_of(rows: pa.RecordBatch, compression: str) -> ColumnEncodings | None:
    """The best encodings for rows like these; None if they are too few to tell.

    There are none either where two columns have one path, such as the field `a.b` and `b` inside
    `a`: what is said of the one would be said of the other, which may be of another type.
    """
    paths = _paths(rows.schema)
    if rows.num_rows < _TOO_FEW or len(set(paths)) < len(paths):
        return None
    head = rows.slice(0, _LOOKED_AT)
    repeating, bare, vague = [], set(), set()
    encodings: dict[str, str] = {}
    leaves = [leaf for column in head.columns for leaf in _leaves(column)]
    for path, values in zip(paths, leaves, strict=True):
        distinct = _distinct(values)
        if distinct <= _FEW * (len(values) - values.null_count):
            repeating.append(path)
            bare |= {path} if distinct <= _HANDFUL else set()
        elif _is_whole(values.type):
            encodings[path] = "DELTA_BINARY_PACKED"
            bare.add(path)
        elif pa.types.is_string(values.type):
            encodings[path] = "DELTA_LENGTH_BYTE_ARRAY"
            vague.add(path)
    chosen = {path: "none" if path in bare else compression for path in paths}
    return ColumnEncodings(
        repeating, chosen, [path for path in paths if path not in vague], encodings
    )


def encodings_of_file(rows: pa.Table, compression: str, advice: object) -> ColumnEncodings:
    """How a file is written that begins with these rows.

    Advice is seen from many rows. Without it, the columns of few rows are written by their sizes,
    and those of more rows all alike.
    """
    if isinstance(advice, ColumnEncodings):
        return advice
    by_size = _encodings_by_size(rows, compression) if 0 < rows.num_rows < _TOO_FEW else None
    return by_size or ColumnEncodings(True, compression, True)


def _encodings_by_size(rows: pa.Table, compression: str) -> ColumnEncodings | None:
    """No dictionaries, and a compressor only for columns that are worth opening one."""
    paths = _paths(rows.schema)
    if len(set(paths)) < len(paths):
        return None
    columns = [column.combine_chunks() for column in rows.columns]
    leaves = [leaf for column in columns for leaf in _leaves(column)]
    chosen = {
        path: compression if values.nbytes >= _WORTH_BYTES else "none"
        for path, values in zip(paths, leaves, strict=True)
    }
    return ColumnEncodings(False, chosen, True)


def _is_whole(kind: pa.DataType) -> bool:
    return any(
        test(kind) for test in (pa.types.is_int64, pa.types.is_timestamp, pa.types.is_date32)
    )


def _distinct(values: pa.Array) -> int:
    if pa.types.is_dictionary(values.type):
        return len(values.dictionary)
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def _paths(schema: pa.Schema) -> list[str]:
    """The paths of all plain columns, also inside others."""
    return [path for each in schema for path in _paths_of(each.name, each.type)]


def _paths_of(path: str, kind: pa.DataType) -> Iterator[str]:
    """The paths inside a column; a list and a map have theirs at fixed names."""
    if pa.types.is_struct(kind):
        for each in kind:
            yield from _paths_of(f"{path}.{each.name}", each.type)
    elif pa.types.is_map(kind):
        yield from _paths_of(f"{path}.key_value.key", kind.key_type)
        yield from _paths_of(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _paths_of(f"{path}.list.element", kind.value_type)
    else:
        yield path


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """The plain columns inside a column, in the order of their paths."""
    kind = values.type
    if pa.types.is_struct(kind):
        for part in values.flatten():
            yield from _leaves(part)
    elif pa.types.is_map(kind):
        yield from _leaves(values.keys)
        yield from _leaves(values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(values.flatten())
    else:
        yield values
