"""Schemas on their way to executors: what a compiler has to make of them first. Driver only."""

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec

from penstock.datapath.codec.protobuf.types import ProtoFile
from penstock.datapath.codec.raw.codec import RAW
from penstock.datapath.codec.reader_cache import record_reader
from penstock.datapath.codec.shared.unsupported import SchemaUnsupported
from penstock.datapath.codec.text.codec import TextLayout, text_schema
from penstock.datapath.schemas.errors import SchemaRefused
from penstock.datapath.schemas.protobuf.compiler import prepared, prepared_file
from penstock.datapath.stage.schema_shredder import ONLY
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec, FeedSpec


@lru_cache(maxsize=4096)
def usable(schema: RegisteredSchema) -> RegisteredSchema:
    """A schema as executors take it; one that cannot be used says why."""
    return _or_why(partial(prepared, schema)) if schema.type == "protobuf" else schema


def fixed_schema(decode: DecodeSpec) -> RegisteredSchema | None:
    """The one schema of all records, ready for executors, where the configuration gives one."""
    if decode.format == "raw":
        return RAW
    if decode.format == "text":
        return text_schema(TextLayout(decode.pattern, decode.delimiter, decode.columns))
    if not decode.schema_text:
        return None
    if decode.format == "avro":
        return RegisteredSchema("avro", decode.schema_text)
    found = _from_file(decode.schema_text, decode.message)
    return found if found.type == "unusable" or not decode.message else _only(found, decode.message)


def fixed_for(feed: FeedSpec) -> RegisteredSchema | None:
    """The same for a feed; raises `SchemaRefused` when it cannot be used."""
    found = fixed_schema(feed.decode)
    reader = None if found is None else record_reader(found, ONLY)
    if isinstance(reader, SchemaUnsupported):
        raise SchemaRefused(feed.name, "its records", f"at {reader.path}, {reader.why}")
    return found


@lru_cache(maxsize=64)
def _from_file(text: str, message: str) -> RegisteredSchema:
    return _or_why(partial(prepared_file, text, message))


def _or_why(compiled: Callable[[], RegisteredSchema]) -> RegisteredSchema:
    try:
        return compiled()
    except SchemaUnsupported as error:
        return RegisteredSchema("unusable", f"at {error.path}, {error.why}")


def _only(schema: RegisteredSchema, message: str) -> RegisteredSchema:
    """The same schema with one of its messages as the first."""
    file = msgspec.json.decode(schema.text, type=ProtoFile)
    if message not in {each.name for each in file.messages}:
        known = ", ".join(sorted(each.name for each in file.messages)[:10])
        return RegisteredSchema("unusable", f"there is no message {message}; there are: {known}")
    rooted = msgspec.structs.replace(file, roots=(message,))
    return RegisteredSchema("protobuf", msgspec.json.encode(rooted).decode())
