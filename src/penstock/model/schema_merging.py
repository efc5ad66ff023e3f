"""Merges versions of a schema: fields are added or become nullable, and are never narrowed.

the next version has                          the dataset
------------------------------------------    ------------------------------------------------
a field more, also inside another             a new column, null in older rows
a field less                                  the column stays, and may be null from now on
a field that may be null                      the column may be null from now on
fields in another order                       the columns keep theirs
another width of a number                     the same: all numbers have 64 bits
another unit of a time                        the same: times are in microseconds
another type: a string for a number           incompatible
an integer for a fraction, or the reverse     incompatible: values would change
a decimal with other digits                   incompatible: no reader merges such columns
"""

import msgspec

from penstock.model.schema import Field, FieldType, with_columns

Fields = tuple[Field, ...]

SCHEMA_INCOMPATIBLE = "SCHEMA_INCOMPATIBLE"  # the reason of quarantined records of such a version


class Incompatible(ValueError):
    """Two versions of a schema that cannot be merged: where, and why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"at {path}, {why}")
        self.path = path
        self.why = why


def first_version(fields: Fields) -> Fields:
    """The columns for the fields of a dataset's first schema."""
    return tuple(msgspec.structs.replace(each, type=_as_column_type(each.type)) for each in fields)


def merged(known: Fields, incoming: Fields, path: str = "") -> Fields:
    """The fields of both; `known` itself when nothing is new. Raises `Incompatible`."""
    theirs = {field.name: field for field in incoming}
    kept = tuple(_merged_field(field, theirs.get(field.name), path) for field in known)
    names = {field.name for field in known}
    new = [(f.name, _as_column_type(f.type), True) for f in incoming if f.name not in names]
    return with_columns(new, kept, top=not path)


def _merged_field(known: Field, incoming: Field | None, path: str) -> Field:
    if incoming is None:
        return msgspec.structs.replace(known, nullable=True)
    kind = _merged_type(known.type, incoming.type, f"{path}.{known.name}" if path else known.name)
    nullable = known.nullable or incoming.nullable
    return msgspec.structs.replace(known, type=kind, nullable=nullable)


def _merged_type(known: FieldType, incoming: FieldType, path: str) -> FieldType:
    if known.kind != incoming.kind:
        raise Incompatible(path, f"it was {known.kind} and is now {incoming.kind}")
    if (known.precision, known.scale) != (incoming.precision, incoming.scale):
        raise Incompatible(path, f"it was {_decimal(known)} and is now {_decimal(incoming)}")
    if known.item is not None and incoming.item is not None:
        item = _merged_type(known.item, incoming.item, f"{path}[]")
        nullable = known.item_nullable or incoming.item_nullable
        return msgspec.structs.replace(known, item=item, item_nullable=nullable)
    if known.fields:
        fields = merged(known.fields, incoming.fields, path)
        return msgspec.structs.replace(known, fields=fields)
    return known


def _decimal(kind: FieldType) -> str:
    return f"decimal({kind.precision}, {kind.scale})"


def _as_column_type(kind: FieldType) -> FieldType:
    """A type in the form of columns: times are in microseconds, and nothing is said of reading."""
    return msgspec.structs.replace(
        kind,
        item=None if kind.item is None else _as_column_type(kind.item),
        fields=first_version(kind.fields),
        unit_us=1,
        accepts="",
    )
