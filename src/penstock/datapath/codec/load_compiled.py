"""Brings all compiled code into this process: every fast way reads a few records.

Code is compiled when it is first called, which takes some ten seconds, and kept on disk; to load it
from there takes a fraction of a second.
"""

import json
from collections.abc import Callable

import pyarrow as pa

from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import JsonDecoder
from penstock.datapath.codec.shared.code_cache import compiling_alone, mark_complete
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
_RECORDS = 64


def load_compiled(tick: Callable[[], float], sleep: Callable[[float], None]) -> None:
    """Load compiled code; what is missing is compiled, by one process at a time."""
    with compiling_alone(tick, sleep):
        _read_json()
        _read_avro()
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
