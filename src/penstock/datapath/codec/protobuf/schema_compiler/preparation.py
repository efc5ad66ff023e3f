"""Protobuf schemas prepared for executors, from a registry or a configuration. Driver only."""

from functools import lru_cache
from importlib.metadata import version

import msgspec

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared, prepared_file
from penstock.datapath.codec.protobuf.types import ProtoFile, parse_proto
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec

_proto_file_decoder = msgspec.json.Decoder(ProtoFile)

# Of the tree that `descriptor_tree` makes; a test tells when it has to be raised. Also raised when
# more schemas can be compiled than before, since the lake keeps of each that it cannot be.
FORMAT = 2
_MOST_NAMED = 10


def fixed_schema(decode: DecodeSpec) -> RegisteredSchema | None:
    """The schema file of a configuration, compiled; raises SchemaUnsupported, CompilerFailed."""
    return _of_file(decode.schema_text, decode.message) if decode.schema_text else None


@lru_cache(maxsize=64)
def _of_file(text: str, message: str) -> RegisteredSchema:
    found = prepared_file(text, message)
    return _with_root(found, message) if message else found


def _with_root(schema: RegisteredSchema, message: str) -> RegisteredSchema:
    """The same schema with one of its messages as the first."""
    file = _proto_file_decoder.decode(schema.text)
    names = sorted(each.name for each in file.messages)
    if message not in names:
        known = ", ".join(names[:_MOST_NAMED])
        raise SchemaUnsupported("$", f"there is no message {message}; there are: {known}")
    rooted = msgspec.structs.replace(file, roots=(message,))
    return RegisteredSchema("protobuf", msgspec.json.encode(rooted).decode())


def prepared_version() -> str:
    """The form of what is prepared; the lake keeps it under this name."""
    return f"{FORMAT}-{version('grpcio-tools')}"


def is_sound(schema: RegisteredSchema) -> bool:
    """True if executors can read by a schema that was found in the lake."""
    try:
        parse_proto(schema.text)
    except SchemaUnsupported:
        return False
    return True


@lru_cache(maxsize=4096)
def prepared_once(schema: RegisteredSchema) -> RegisteredSchema:
    """A schema of a registry, compiled once per process; raises SchemaUnsupported."""
    return prepared(schema)
