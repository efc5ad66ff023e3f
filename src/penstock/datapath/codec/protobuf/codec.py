"""Protobuf as a codec: a schema has several messages, and the driver compiles it first."""

from penstock.api.codec import Codec, Preparation, RecordSchemas
from penstock.api.later import Later

CODEC = Codec(
    "protobuf",
    schemas=RecordSchemas(
        Later("penstock.datapath.codec.protobuf.protobuf_reader:protobuf_reader"),
        fixed=Later("penstock.datapath.codec.protobuf.schema_compiler.preparation:fixed_schema"),
        preparation=Preparation(
            Later("penstock.datapath.codec.protobuf.schema_compiler.preparation:prepared_version"),
            Later("penstock.datapath.codec.protobuf.schema_compiler.preparation:prepared_once"),
            Later("penstock.datapath.codec.protobuf.schema_compiler.preparation:is_sound"),
        ),
        has_messages=True,
    ),
    options=frozenset({"schema", "message"}),
    schema_files={".proto": "text", ".desc": "bytes", ".binpb": "bytes", ".pb": "bytes"},
)
