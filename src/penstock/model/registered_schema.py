"""A schema that a record names: in what form, in which words, with what it refers to."""

import hashlib
import json
from typing import Literal

import msgspec

from penstock.model.value import Value

SchemaType = Literal["avro", "protobuf", "json", "text", "raw", "unusable"]

REGISTERED_FORMAT = 1  # of registered schemas as they lie in the lake


class RegisteredSchema(Value, frozen=True):
    """One schema of a registry, or of the configuration. It never changes behind its name.

    `references` are (name, text) of all that it refers to, each after what it refers to itself. The
    text of one that is `unusable` says why.
    """

    type: SchemaType
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
        if self.type not in {"avro", "json"}:
            return parts
        return tuple((name, _form_of(text)) for name, text in parts)


def _form_of(text: str) -> str:
    """One form for all ways to write a JSON document; as it is, if it is none."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text
