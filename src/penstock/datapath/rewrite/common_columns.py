"""The columns that files of several schema versions have in common, and rows that get them.

A schema only grows: later versions have more columns, also inside others. So the newest file has
nearly all of them; what an older one does not have is null for its rows, as for everybody who reads
both files together. Pure.
"""

from collections.abc import Iterable

import pyarrow as pa

from penstock.model.fork import ROW_COLUMN


class NotCommon(ValueError):
    """A column has two types, and no file can hold both."""


def common_schema(schemas: Iterable[pa.Schema]) -> pa.Schema:
    """The columns of all schemas, in the order of the first one; the newest should be the first.

    Of a type nothing is kept but what values it has.
    """
    found: dict[str, pa.DataType] = {}
    for schema in schemas:
        if len(set(schema.names)) < len(schema.names):
            raise NotCommon("a file has two columns of one name")
        for field in schema:
            known = found.get(field.name)
            kind = plain_type(field.type)
            found[field.name] = kind if known is None else common_type(known, kind, field.name)
    return pa.schema(list(found.items()))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type without notes of a file, such as field numbers."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([(each.name, plain_type(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    return kind


def common_type(one: pa.DataType, other: pa.DataType, path: str) -> pa.DataType:
    """A type that holds the values of two plain ones. Raises `NotCommon`."""
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        members = {each.name: each.type for each in one}
        for each in other:
            known = members.get(each.name)
            kind = each.type
            inside = f"{path}.{each.name}"
            members[each.name] = kind if known is None else common_type(known, kind, inside)
        return pa.struct(list(members.items()))
    if pa.types.is_map(one) and pa.types.is_map(other) and one.key_type == other.key_type:
        return pa.map_(one.key_type, common_type(one.item_type, other.item_type, f"{path}[]"))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(common_type(one.value_type, other.value_type, f"{path}[]"))
    if one != other:
        raise NotCommon(f"the column {path} is {one} in some of them and {other} in others")
    return one


def with_columns_of(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows with all columns of a common schema."""
    names = frozenset(rows.schema.names)
    columns = [
        _as_type(rows[field.name], field.type)
        if field.name in names
        else _absent(field, rows.num_rows)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _absent(field: pa.Field, count: int) -> pa.Array:
    """What rows have in a column that their file does not have; each is the row 0 of its record."""
    if field.name == ROW_COLUMN:
        return pa.repeat(pa.scalar(0, field.type), count)
    return pa.nulls(count, field.type)


def _as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    return values if values.type == kind else values.cast(kind)
