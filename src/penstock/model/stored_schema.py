"""A dataset's schema as an object of the lake: its JSON form, with the number of its format."""

import msgspec

from penstock.model.schema import DatasetSchema, Field, FieldType
from penstock.model.value import Value

# Format 1 has no types that accept other values; 2 has. The present version writes both.
SCHEMA_FORMAT = 2


class StoredDatasetSchema(Value, frozen=True):
    """A dataset's schema as stored in the lake."""

    dataset: str
    version: int
    declared: bool
    fields: tuple[Field, ...]
    format: int = 1


_decoder = msgspec.json.Decoder(StoredDatasetSchema)


def encode_schema(schema: DatasetSchema) -> bytes:
    """Encode a schema for the lake; in format 1 if possible, so that older versions read it."""
    if not any(_accepts_more(field.type) for field in schema.fields):
        return msgspec.json.encode(schema)
    stored = StoredDatasetSchema(
        schema.dataset, schema.version, schema.declared, schema.fields, SCHEMA_FORMAT
    )
    return msgspec.json.encode(stored)


def decode_schema(raw: bytes) -> DatasetSchema:
    """Decode a schema of the lake; raises ValueError. The caller detects a newer format."""
    found = _decoder.decode(raw)
    if found.format > SCHEMA_FORMAT:
        raise ValueError(f"it is of format {found.format}")
    return DatasetSchema(found.dataset, found.version, found.declared, found.fields)


def _accepts_more(kind: FieldType) -> bool:
    """True when a type, or one inside it, accepts values of other kinds."""
    if kind.accepts or (kind.item is not None and _accepts_more(kind.item)):
        return True
    return any(_accepts_more(field.type) for field in kind.fields)
