"""Codecs by name, and how the records of a feed are read. Driver and executors."""

from functools import lru_cache

from penstock.api.codec import Codec, Message, RecordReader
from penstock.api.doors import CODECS
from penstock.api.find import load
from penstock.api.later import Later
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.model.plugin import PluginRef
from penstock.model.registered_schema import UNUSABLE, RegisteredSchema
from penstock.model.spec import DecodeSpec

# What the package offers by its entry points. Executors have no metadata of packages to find them
# by, and a registry may answer with a schema of another format than the feed's.
BUILT_IN = {
    name: PluginRef("codec", name, f"penstock.datapath.codec.{name}.codec:CODEC", "penstock")
    for name in ("json", "avro", "protobuf", "thrift", "msgpack", "text", "raw")
}


def codec_of(decode: DecodeSpec) -> Codec:
    """The codec of a feed. A configuration has found it by name already."""
    return load(CODECS, decode.codec or BUILT_IN[decode.format])


def codec_for(schema_type: str, codec: Codec | None = None) -> Codec | None:
    """The codec for schemas of a type: that of the feed, or a built-in one; None: there is none."""
    if codec is not None and codec.name == schema_type:
        return codec
    return load(CODECS, BUILT_IN[schema_type]) if schema_type in BUILT_IN else None


def load_built_in() -> None:
    """Import every built-in codec and its reader, in a process from which workers are forked."""
    for ref in BUILT_IN.values():
        codec = load(CODECS, ref)
        for read in (codec.json and codec.json.convert, codec.schemas and codec.schemas.reader):
            if isinstance(read, Later):
                read.get()


def record_reader(
    schema: RegisteredSchema, message: Message, codec: Codec | None = None
) -> RecordReader | SchemaUnsupported:
    """A schema compiled for reading, or why that cannot be; compiled once per process.

    `message` says which message of a schema that has several. `codec` is that of the feed.
    """
    if schema.type == UNUSABLE:
        return SchemaUnsupported("$", schema.text)
    found = codec_for(schema.type, codec)
    if found is None:
        return SchemaUnsupported("$", f"no codec reads schemas of the type {schema.type!r}")
    return _compiled(found, schema, message)


@lru_cache(maxsize=512)
def _compiled(
    codec: Codec, schema: RegisteredSchema, message: Message
) -> RecordReader | SchemaUnsupported:
    if codec.schemas is None:
        return SchemaUnsupported("$", f"{codec.name} has no schemas")
    try:
        return codec.schemas.reader(schema, message)
    except SchemaUnsupported as error:
        return error
    except RecursionError:
        return SchemaUnsupported("$", "it nests too deep")
