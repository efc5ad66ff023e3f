"""A dataset's schema as an object of the lake: its JSON form, with the number of its format."""

import msgspec

from penstock.model.schema import DatasetSchema, Field, FieldType
from penstock.model.value import Value

# Format 1 has no types that accept other values; 2 has; 3 has those that accept only some scalars.
# The present version writes all three.
SCHEMA_FORMAT = 3


class StoredDatasetSchema(Value, frozen=True):
    """A dataset's schema as stored in the lake."""

    dataset: str
    version: int
    declared: bool
    fields: tuple[Field, ...]
    format: int = 1


_decoder = msgspec.json.Decoder(StoredDatasetSchema)


def encode_schema(schema: DatasetSchema) -> bytes:
    """Encode a schema for the lake; in the lowest format, so that older versions read it."""
    number = max((_format_of(field.type) for field in schema.fields), default=1)
    if number == 1:
        return msgspec.json.encode(schema)
    stored = StoredDatasetSchema(
        schema.dataset, schema.version, schema.declared, schema.fields, number
    )
    return msgspec.json.encode(stored)


def decode_schema(raw: bytes) -> DatasetSchema:
    """Decode a schema of the lake; raises ValueError. The caller detects a newer format."""
    found = _decoder.decode(raw)
    if found.format > SCHEMA_FORMAT:
        raise ValueError(f"it is of format {found.format}")
    return DatasetSchema(found.dataset, found.version, found.declared, found.fields)


def _format_of(kind: FieldType) -> int:
    """The lowest format that has a type, and those inside it."""
    own = 3 if kind.only else 2 if kind.accepts else 1
    inside = [field.type for field in kind.fields] + ([] if kind.item is None else [kind.item])
    return max((own, *map(_format_of, inside)))
