"""How the columns of a dataset are best written: seen from its first rows, column by column.

Parquet can write each distinct value once and refer to it. For ids, which are all different, the
attempt costs a third of the writing time and makes files larger. Where only a handful of values
occur, the references take a few bits each and there is nothing left to compress; opening a
compressor for it costs more than the column itself in a small file. And the smallest and largest of
texts that are all different tell a reader next to nothing, and take long to find.

Whole numbers that are all different are written as differences, in as many bits as those need: that
is smaller than what a compressor makes of them, and none is opened. Texts are written behind their
lengths, which leaves less to compress.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LOOKED_AT = 1_000
_TOO_FEW = 500
_FEW = 0.5  # of the values looked at, at most this share may be different
_HANDFUL = 16


@dataclass(frozen=True, slots=True)
class Ways:
    """Arguments for a Parquet writer; columns by their paths, as Parquet spells them."""

    use_dictionary: list[str] | bool
    compression: dict[str, str] | str
    write_statistics: list[str] | bool
    encodings: dict[str, str] = field(default_factory=dict)


# A worker runs task after task with the same datasets. How a file is written changes nothing that
# anybody compares, so what was seen once may serve again.
_remembered: dict[tuple[str, ...], Ways] = {}
_MOST_REMEMBERED = 10_000


def usual_ways(feed: str, dataset: str, rows: Any, compression: str) -> Ways | None:
    """The best ways for the rows of a dataset, from the first ones that this process has seen."""
    key = (feed, dataset, compression, *rows.schema.names)
    if key not in _remembered:
        found = ways_of(rows, compression)
        if found is None:
            return None
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[key] = found
    return _remembered[key]


def ways_of(rows: Any, compression: str) -> Ways | None:
    """The best ways for rows like these; None if they are too few to tell."""
    if rows.num_rows < _TOO_FEW:
        return None
    head = rows.slice(0, _LOOKED_AT)
    repeating, bare, vague = [], set(), set()
    encodings: dict[str, str] = {}
    paths = []
    for name in head.schema.names:
        for path, values in _leaves(name, head[name]):
            paths.append(path)
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
    return Ways(repeating, chosen, [path for path in paths if path not in vague], encodings)


def _is_whole(kind: pa.DataType) -> bool:
    return any(
        test(kind) for test in (pa.types.is_int64, pa.types.is_timestamp, pa.types.is_date32)
    )


def _distinct(values: Any) -> int:
    if pa.types.is_dictionary(values.type):
        return len(values.dictionary)
    return int(pc.count_distinct(values, mode="only_valid").as_py())


def _leaves(path: str, values: Any) -> Iterator[tuple[str, Any]]:
    """The plain columns inside a column; a list and a map have theirs at fixed names."""
    kind = values.type
    if pa.types.is_struct(kind):
        for field, part in zip(kind, values.flatten(), strict=True):
            yield from _leaves(f"{path}.{field.name}", part)
    elif pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", values.keys)
        yield from _leaves(f"{path}.key_value.value", values.items)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", values.flatten())
    else:
        yield path, values
