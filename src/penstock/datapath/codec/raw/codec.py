"""Raw bytes as a codec: nothing is decoded."""

from penstock.api.codec import Codec, RecordSchemas
from penstock.api.later import Later
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec

RAW = RegisteredSchema("raw", "")


def _fixed(_: DecodeSpec) -> RegisteredSchema:
    return RAW


CODEC = Codec(
    "raw",
    schemas=RecordSchemas(
        Later("penstock.datapath.codec.raw.raw_reader:raw_reader"), fixed=_fixed, has_names=False
    ),
)
