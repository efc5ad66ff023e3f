"""Which columns of a file are worth a dictionary.

Parquet can write each distinct value once and refer to it. For ids, which are all different, the
attempt costs a third of the writing time and makes files larger. So the first rows of a file are
looked at, value by value, before its writer is opened.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LOOKED_AT = 2_000
_TOO_FEW = 500
_FEW = 0.5  # of the values looked at, at most this share may be different


def repeating_columns(table: Any) -> list[str] | bool:
    """The paths of the columns whose values repeat, as Parquet spells them.

    True, for all columns, when there are so few rows that looking costs more than it saves.
    """
    if table.num_rows < _TOO_FEW:
        return True
    head = table.slice(0, _LOOKED_AT)
    return [
        path
        for name in head.schema.names
        for path, values in _leaves(name, head[name].combine_chunks())
        if _repeats(values)
    ]


def _repeats(values: Any) -> bool:
    if pa.types.is_dictionary(values.type):
        return True
    present: int = len(values) - values.null_count
    distinct = int(pc.count_distinct(values, mode="only_valid").as_py())
    return distinct <= _FEW * present


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
