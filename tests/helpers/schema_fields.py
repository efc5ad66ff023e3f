"""Fields of a schema, written as keyword arguments."""

from penstock.model.schema import (
    FieldType,
    with_columns,
)
from penstock.model.schema_merging import Fields


def fields(**types: FieldType | tuple[FieldType, bool]) -> Fields:
    """Fields of these names; not null unless a pair says so."""
    entries = [
        (name, *(kind if isinstance(kind, tuple) else (kind, False)))
        for name, kind in types.items()
    ]
    return with_columns(entries, top=True)
