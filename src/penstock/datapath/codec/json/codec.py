"""JSON as a codec: records without a schema, or with a JSON Schema that each record names."""

from collections.abc import Iterator

from penstock.api.codec import Codec, Complaint, JsonRecords, RecordSchemas
from penstock.api.later import Later
from penstock.model.spec import DecodeSpec


def _check(decode: DecodeSpec) -> Iterator[Complaint]:
    if decode.spread and decode.ids:
        yield "both `spread` and `ids`", "one of the two"


CODEC = Codec(
    "json",
    json=JsonRecords(),
    schemas=RecordSchemas(Later("penstock.datapath.codec.json.schema_reader:json_schema_reader")),
    options=frozenset({"ids", "spread"}),
    check=_check,
)
