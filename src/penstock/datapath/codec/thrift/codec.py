"""Thrift as a codec: all records of a feed are one struct of a file, in one of two protocols."""

from collections.abc import Iterator

from penstock.api.codec import Codec, Complaint, RecordSchemas
from penstock.api.later import Later
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.model.spec import DecodeSpec

_fixed_struct = Later("penstock.datapath.codec.thrift.idl.fixed_struct:fixed_struct")


def _check(decode: DecodeSpec) -> Iterator[Complaint]:
    if not decode.schema_text:
        yield "no `schema`: Thrift records do not say what they are", "a file .thrift"
        return
    try:
        _fixed_struct(decode)
    except SchemaUnsupported as error:
        where = "" if error.path == "$" else f"at {error.path}, "
        yield f"`schema`: {where}{error.why}", "a struct whose fields can become columns"


CODEC = Codec(
    "thrift",
    schemas=RecordSchemas(
        Later("penstock.datapath.codec.thrift.thrift_reader:thrift_reader"),
        fixed=_fixed_struct,
    ),
    options=frozenset({"schema", "message", "protocol"}),
    schema_files={".thrift": "text"},
    included=Later("penstock.datapath.codec.thrift.idl.fixed_struct:included_files"),
    check=_check,
)
