"""A schema that a record names: in what form, in which words, with what it refers to."""

import hashlib
from typing import Literal

import msgspec

from penstock.model.value import Value

SchemaType = Literal["avro", "protobuf", "json", "text", "raw", "unusable"]


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
