"""A schema that a record names: in what form, in which words, with what it refers to."""

import hashlib
import json

import msgspec

from penstock.model.value import Value

UNUSABLE = "unusable"  # the type of a schema that cannot be used
# Of registered schemas as they lie in the lake. Since 2 they are of any codec; 1 knows these types.
REGISTERED_FORMAT = 2
_TYPES_OF_FORMAT_1 = frozenset({"avro", "protobuf", "json", "text", "raw", UNUSABLE})


class RegisteredSchema(Value, frozen=True):
    """One schema of a registry, or of the configuration. It never changes behind its name.

    `type` is the name of the codec that reads records of this schema; the text of one that is
    `unusable` says why. `references` are (name, text) of all that it refers to, each after what it
    refers to itself.
    """

    type: str
    text: str
    references: tuple[tuple[str, str], ...] = ()

    @property
    def fingerprint(self) -> str:
        """What tells two schemas apart."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def is_same(self, other: "RegisteredSchema") -> bool:
        """Whether both say the same; white space and the order of keys say nothing in JSON."""
        if self == other:
            return True
        return self.type == other.type and self._form() == other._form()

    def _form(self) -> tuple[tuple[str, str], ...]:
        """What the schema says, as far as that is known without reading it as a schema."""
        parts = (("", self.text), *self.references)
        return tuple((name, _form_of(text)) for name, text in parts)


class StoredSchema(Value, frozen=True):
    """A registered schema as it lies in the lake."""

    type: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    format: int = 1


_decoder = msgspec.json.Decoder(StoredSchema)


def encode_registered(schema: RegisteredSchema) -> bytes:
    """A schema for the lake; in format 1 where that can say it, so that older versions read it."""
    if schema.type in _TYPES_OF_FORMAT_1:
        return msgspec.json.encode(schema)
    stored = StoredSchema(schema.type, schema.text, schema.references, REGISTERED_FORMAT)
    return msgspec.json.encode(stored)


def decode_registered(raw: bytes) -> RegisteredSchema:
    """A schema of the lake; raises ValueError. A newer format is for the caller to find out."""
    found = _decoder.decode(raw)
    if found.format > REGISTERED_FORMAT:
        raise ValueError(f"it is of format {found.format}")
    return RegisteredSchema(found.type, found.text, found.references)


def _form_of(text: str) -> str:
    """One form for all ways to write a JSON document; a text of another language as it is."""
    try:
        found = json.loads(text)
        return text if isinstance(found, int | float) else json.dumps(found, sort_keys=True)
    except (ValueError, RecursionError):
        return text
