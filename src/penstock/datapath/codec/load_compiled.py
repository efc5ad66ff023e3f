"""Brings all compiled code into this process: every fast way reads or writes a few records.

Code is compiled when it is first called, which takes some ten seconds, and kept on disk; to load it
from there takes a fraction of a second.
"""

import json
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.avro.columns import avro_plan
from penstock.datapath.codec.avro.record_encoder import EncoderSteps, encoded
from penstock.datapath.codec.avro.record_run import RunReader
from penstock.datapath.codec.avro.types import parse_avro
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.json.row_text import TextSteps, text_lines
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.shared.code_cache import compiling_alone, mark_complete
from penstock.datapath.codec.thrift.thrift_reader import thrift_reader
from penstock.model.registered_schema import RegisteredSchema

_AVRO = {
    "type": "record",
    "name": "Any",
    "fields": [
        {"name": "name", "type": "string"},
        {"name": "count", "type": ["null", "long"]},
        {"name": "parts", "type": {"type": "array", "items": "double"}},
    ],
}
_AVRO_RECORD = b"\x04ok\x02\x06\x02" + bytes(8) + b"\x00"
_JSON_RECORD = (
    b'{"type": "a", "at": 1, "score": 1.5, "ok": true, "none": null, "text": "\\u00e9",'
    b' "inside": {"n": 1}, "list": [{"n": 1}, {"n": 2}], "words": ["x"], "empty": []}'
)
_PROTOBUF = {  # what the compiler of schemas makes of `_PROTOBUF_SOURCE`
    "roots": ["Any"],
    "messages": [
        {
            "name": "Any",
            "fields": [
                {"number": 1, "name": "name", "kind": "string", "label": "implicit"},
                {"number": 2, "name": "count", "kind": "int64", "label": "implicit"},
                {
                    "number": 3,
                    "name": "parts",
                    "kind": "double",
                    "label": "repeated",
                    "packed": True,
                },
            ],
        }
    ],
    "enums": [],
}
_PROTOBUF_SOURCE = """\
syntax = "proto3";
message Any { string name = 1; int64 count = 2; repeated double parts = 3; }
"""
_PROTOBUF_RECORD = b"\x0a\x02ok\x10\x03\x1a\x08" + bytes(8)
_THRIFT = {
    "root": "Any",
    "protocol": "compact",
    "structs": [
        {
            "name": "Any",
            "fields": [
                {"number": 1, "name": "name", "type": {"kind": "string"}},
                {"number": 2, "name": "count", "type": {"kind": "i64"}},
                {
                    "number": 3,
                    "name": "parts",
                    "type": {"kind": "list", "items": [{"kind": "double"}]},
                },
            ],
        }
    ],
    "enums": [],
}
_THRIFT_RECORD = b"\x18\x02ok\x16\x06\x19\x17" + bytes(9)
_RECORDS = 64


def load_compiled(tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
    """Load compiled code; what is missing is compiled, by one process at a time."""
    with compiling_alone(tick, sleep):
        _read_json()
        _read_avro()
        _read_protobuf()
        _read_thrift()
        _write_rows()
        mark_complete()


def _read_json() -> None:
    decoder = JsonDecoder()
    schema = decoder.infer([_JSON_RECORD], "a")
    values = pa.array([_JSON_RECORD] * _RECORDS, pa.binary())
    decoder.one_pass({"a": schema}, "type", ("type", "at")).read(values, lambda _part: None)
    decoder.decode(values, schema)
    decoder.partial_decode(values, ("type", "at"))


def _read_avro() -> None:
    reader = avro_reader(RegisteredSchema("avro", json.dumps(_AVRO)))
    reader.read(pa.array([_AVRO_RECORD] * _RECORDS, pa.binary()), 0)
    run = RunReader(avro_plan(parse_avro(json.dumps(_AVRO))).program)
    list(run.pieces(np.frombuffer(_AVRO_RECORD * _RECORDS, np.uint8), _RECORDS, [0], _RECORDS))


def _write_rows() -> None:
    rows = pa.RecordBatch.from_pydict({"name": ["ok"], "count": [3]})
    encoded(rows, EncoderSteps.of(rows.schema))
    list(text_lines(rows, TextSteps.of(rows.schema)))


def _read_protobuf() -> None:
    reader = protobuf_reader(RegisteredSchema("protobuf", json.dumps(_PROTOBUF)), (0,))
    reader.read(pa.array([_PROTOBUF_RECORD] * _RECORDS, pa.binary()), 0)


def _read_thrift() -> None:
    reader = thrift_reader(RegisteredSchema("thrift", json.dumps(_THRIFT)))
    reader.read(pa.array([_THRIFT_RECORD] * _RECORDS, pa.binary()), 0)
