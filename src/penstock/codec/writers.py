"""The writers of a task: one per schema and message, made when first met."""

from functools import lru_cache

from penstock.codec.avro_codec import avro_writer
from penstock.codec.json_writer import json_writer
from penstock.codec.proto_codec import proto_writer
from penstock.codec.raw_codec import raw_writer
from penstock.codec.text_codec import text_writer
from penstock.codec.unsupported import SchemaUnsupported
from penstock.codec.written import Writer
from penstock.model.registered import RegisteredSchema


@lru_cache(maxsize=512)
def writer_of(schema: RegisteredSchema, message: tuple[int, ...]) -> Writer | SchemaUnsupported:
    """A schema made ready for reading, or why that cannot be.

    `message` says which message of a schema that has several.
    """
    try:
        if schema.type == "avro":
            return avro_writer(schema)
        if schema.type == "protobuf":
            return proto_writer(schema, message)
        if schema.type == "json":
            return json_writer(schema)
        if schema.type == "text":
            return text_writer(schema)
        if schema.type == "raw":
            return raw_writer()
        raise SchemaUnsupported("$", schema.text)
    except SchemaUnsupported as error:
        return error
    except RecursionError:
        return SchemaUnsupported("$", "it nests too deep")
