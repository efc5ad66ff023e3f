"""The writers of a task: one per schema and message, made when first met."""

from functools import lru_cache

from penstock.datapath.codec.avro.codec import avro_writer
from penstock.datapath.codec.json.schema_reader import json_writer
from penstock.datapath.codec.protobuf.codec import proto_writer
from penstock.datapath.codec.raw.codec import raw_writer
from penstock.datapath.codec.shared.record_reader import Writer
from penstock.datapath.codec.shared.unsupported import SchemaUnsupported
from penstock.datapath.codec.text.codec import text_writer
from penstock.model.registered_schema import RegisteredSchema


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
