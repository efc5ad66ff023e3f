"""A schema compiled for columns: the tree of a record's fields with their Arrow types.

Nothing here is pickled; executors compile what they are sent.
"""

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from penstock.model.arrow_types import FIRST_DAY, FIRST_US, LAST_DAY, LAST_US, arrow_type
from penstock.model.event_paths import path_below
from penstock.model.schema import REST, DatasetSchema, Field, FieldType

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A compiled type. `path` says where it is found in an event: `user.tags[]`.

    A list or map has an `item`, a struct a `record`.
    """

    type: FieldType
    path: str
    arrow: pa.DataType
    item: "Shape | None" = None
    record: "Record | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """An object with known keys."""

    path: str
    members: tuple["Member", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """One field of an object: its name in events, and its column."""

    name: str
    column: str
    nullable: bool
    shape: Shape


def bounds_of(kind: FieldType) -> tuple[int, int]:
    """The least and the greatest integer that may be written for a type."""
    if kind.kind == "date":
        return FIRST_DAY, LAST_DAY
    if kind.kind in {"timestamp_us", "local_us"}:
        return -(-FIRST_US // kind.unit_us), LAST_US // kind.unit_us
    return INT64_MIN, INT64_MAX


def shape_of(kind: FieldType, path: str) -> Shape:
    """Compile one type, found at a path of an event."""
    arrow = arrow_type(kind)
    if kind.kind == "struct":
        return Shape(kind, path, arrow, record=_record(kind.fields, path))
    item = None if kind.item is None else shape_of(kind.item, f"{path}[]")
    return Shape(kind, path, arrow, item)


def _record(fields: tuple[Field, ...], path: str) -> Record:
    members = (
        Member(
            field.name,
            field.column,
            field.nullable,
            shape_of(field.type, path_below(path, field.name)),
        )
        for field in fields
    )
    return Record(path, tuple(members))


@lru_cache(maxsize=512)
def arrow_schema(schema: DatasetSchema) -> pa.Schema:
    """The columns that decoding gives: those of the schema, then `_rest`."""
    columns = [
        pa.field(field.column, arrow_type(field.type), field.nullable) for field in schema.fields
    ]
    return pa.schema([*columns, pa.field(REST, pa.string())])
