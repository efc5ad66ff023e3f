"""Avro as a codec: one schema for all records of a feed, or one that each record names."""

from penstock.api.codec import Codec, RecordSchemas
from penstock.api.later import Later
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec


def _fixed(decode: DecodeSpec) -> RegisteredSchema | None:
    return RegisteredSchema("avro", decode.schema_text) if decode.schema_text else None


CODEC = Codec(
    "avro",
    schemas=RecordSchemas(
        Later("penstock.datapath.codec.avro.avro_reader:avro_reader"), fixed=_fixed
    ),
    options=frozenset({"schema"}),
    schema_files={".avsc": "json"},
)
