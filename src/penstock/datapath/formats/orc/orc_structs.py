"""Structs as Arrow's writer of ORC takes them.

Why it exists: that writer (Arrow 26) writes wrong values, without an error, when a struct is a part
of a larger array, and when a struct that may be null is inside one that is not. It takes what lies
below a null struct for values unless that is null as well, and ORC's readers then take it for the
values of the next rows. So every array begins where its memory does, and whatever is below a null
struct is null.
"""

import pyarrow as pa


def with_plain_structs(table: pa.Table) -> pa.Table:
    """The same rows, with structs that are written as they are."""
    columns = [
        pa.chunked_array([_plain(_unshared(chunk)) for chunk in column.chunks], column.type)
        if _has_structs(column.type)
        else column
        for column in table.columns
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def _has_structs(kind: pa.DataType) -> bool:
    if pa.types.is_map(kind):
        return _has_structs(kind.item_type)
    if pa.types.is_list(kind):
        return _has_structs(kind.value_type)
    return bool(pa.types.is_struct(kind))


def _unshared(array: pa.Array) -> pa.Array:
    """An array in memory of its own, also inside; joining it with nothing copies it."""
    return pa.concat_arrays([array, array.slice(0, 0)])


def _plain(array: pa.Array) -> pa.Array:
    """An array in which whatever is below a null struct is null."""
    kind = array.type
    if not _has_structs(kind):
        return array
    if pa.types.is_map(kind):
        return pa.MapArray.from_arrays(
            array.offsets, array.keys, _plain(array.items), kind, mask=array.is_null()
        )
    if pa.types.is_list(kind):
        values = _plain(array.values)
        return pa.ListArray.from_arrays(array.offsets, values, kind, mask=array.is_null())
    below = [_plain(each) for each in array.flatten()]
    return pa.StructArray.from_arrays(below, fields=list(kind), mask=array.is_null())
