"""The writers of a task: one per schema and message, made when first met."""

from functools import lru_cache

from penstock.datapath.codec.avro.codec import avro_reader
from penstock.datapath.codec.json.schema_reader import json_schema_reader
from penstock.datapath.codec.protobuf.codec import protobuf_reader
from penstock.datapath.codec.raw.codec import raw_reader
from penstock.datapath.codec.shared.record_reader import RecordReader
from penstock.datapath.codec.shared.unsupported import SchemaUnsupported
from penstock.datapath.codec.text.codec import text_reader
from penstock.model.registered_schema import RegisteredSchema


@lru_cache(maxsize=512)
def record_reader(
    schema: RegisteredSchema, message: tuple[int, ...]
) -> RecordReader | SchemaUnsupported:
    """A schema made ready for reading, or why that cannot be.

    `message` says which message of a schema that has several.
    """
    try:
        if schema.type == "avro":
            return avro_reader(schema)
        if schema.type == "protobuf":
            return protobuf_reader(schema, message)
        if schema.type == "json":
            return json_schema_reader(schema)
        if schema.type == "text":
            return text_reader(schema)
        if schema.type == "raw":
            return raw_reader()
        raise SchemaUnsupported("$", schema.text)
    except SchemaUnsupported as error:
        return error
    except RecursionError:
        return SchemaUnsupported("$", "it nests too deep")
