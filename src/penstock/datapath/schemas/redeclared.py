"""A schema file that was changed: what a dataset's next version has.

The file says how records are read: which fields they need, what their times are counted in. The
columns that the dataset has stay what they are, also those of fields that the file has no more.
"""

import msgspec

from penstock.model.schema import Field, FieldType, with_columns
from penstock.model.schema_merging import merged

Fields = tuple[Field, ...]


def redeclared(known: Fields, wanted: Fields) -> Fields:
    """The fields of both, as the file wants them; raises `Incompatible`."""
    merged(known, wanted)
    return _fields(known, wanted, top=True)


def _fields(known: Fields, wanted: Fields, *, top: bool) -> Fields:
    theirs = {field.name: field for field in wanted}
    kept = tuple(_field(field, theirs.get(field.name)) for field in known)
    names = {field.name for field in known}
    new = [(field.name, field.type, field.nullable) for field in wanted if field.name not in names]
    return with_columns(new, kept, top=top)


def _field(known: Field, wanted: Field | None) -> Field:
    if wanted is None:
        return msgspec.structs.replace(known, nullable=True)
    return msgspec.structs.replace(wanted, column=known.column, type=_type(known.type, wanted.type))


def _type(known: FieldType, wanted: FieldType) -> FieldType:
    """Two types of one kind."""
    item = wanted.item
    if known.item is not None and item is not None:
        item = _type(known.item, item)
    fields = _fields(known.fields, wanted.fields, top=False)
    return msgspec.structs.replace(wanted, item=item, fields=fields)
