"""A schema that a record names: its type, its text, and the schemas it refers to."""

import hashlib
import json

import msgspec

from penstock.model.value import Value

UNUSABLE = "unusable"  # the type of a schema that cannot be used
# The format of registered schemas in the lake. Format 1 has these types; 2 has any codec.
REGISTERED_FORMAT = 2
_TYPES_OF_FORMAT_1 = frozenset({"avro", "protobuf", "json", "text", "raw", UNUSABLE})


class RegisteredSchema(Value, frozen=True):
    """One schema of a registry or of the configuration. The schema of an id never changes.

    `type` is the name of the codec that reads records of this schema; the text of an `unusable` one
    says why. `references` are (name, text) of all schemas it refers to, in order of dependency.
    """

    type: str
    text: str
    references: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the schema."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def is_same(self, other: "RegisteredSchema") -> bool:
        """Whether both are equal; white space and the order of keys are ignored in JSON."""
        if self == other:
            return True
        return self.type == other.type and self._form() == other._form()

    def _form(self) -> tuple[tuple[str, str], ...]:
        """The normalised text of the schema and its references."""
        parts = (("", self.text), *self.references)
        return tuple((name, _form_of(text)) for name, text in parts)


class StoredSchema(Value, frozen=True):
    """A registered schema as stored in the lake."""

    type: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    format: int = 1


_decoder = msgspec.json.Decoder(StoredSchema)


def encode_registered(schema: RegisteredSchema) -> bytes:
    """Encode a schema for the lake; in format 1 if possible, so that older versions read it."""
    if schema.type in _TYPES_OF_FORMAT_1:
        return msgspec.json.encode(schema)
    stored = StoredSchema(schema.type, schema.text, schema.references, REGISTERED_FORMAT)
    return msgspec.json.encode(stored)


def decode_registered(raw: bytes) -> RegisteredSchema:
    """Decode a schema of the lake; raises ValueError. The caller detects a newer format."""
    found = _decoder.decode(raw)
    if found.format > REGISTERED_FORMAT:
        raise ValueError(f"it is of format {found.format}")
    return RegisteredSchema(found.type, found.text, found.references)


def _form_of(text: str) -> str:
    """A normal form of a JSON document; other text is returned unchanged."""
    try:
        found = json.loads(text)
        return text if isinstance(found, int | float) else json.dumps(found, sort_keys=True)
    except (ValueError, RecursionError):
        return text
