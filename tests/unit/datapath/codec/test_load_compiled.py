"""What is read to load compiled code is read by the fast ways, or nothing would be loaded."""

import json
import time
from typing import Any, cast

import pyarrow as pa
import pytest

from penstock.datapath.codec import load_compiled as room
from penstock.datapath.codec.avro import program_reader as avro_program
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import DatasetRecords, JsonDecoder
from penstock.datapath.codec.protobuf import program_reader as protobuf_program
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared
from penstock.datapath.codec.shared.code_cache import is_complete
from penstock.datapath.codec.thrift import program_reader as thrift_program
from penstock.datapath.codec.thrift.thrift_reader import thrift_reader
from penstock.model.registered_schema import RegisteredSchema


def test_the_records_of_the_warm_up_are_good_ones() -> None:
    reader = avro_reader(RegisteredSchema("avro", json.dumps(room._AVRO)))
    found = reader.read(pa.array([room._AVRO_RECORD], pa.binary()), 0)
    assert found.batch.to_pylist()[0] == {"name": "ok", "count": 3, "parts": [0.0]}
    proto = protobuf_reader(RegisteredSchema("protobuf", json.dumps(room._PROTOBUF)), (0,))
    found = proto.read(pa.array([room._PROTOBUF_RECORD], pa.binary()), 0)
    assert found.batch.to_pylist()[0] == {"name": "ok", "count": 3, "parts": [0.0]}
    thrift = thrift_reader(RegisteredSchema("thrift", json.dumps(room._THRIFT)))
    found = thrift.read(pa.array([room._THRIFT_RECORD], pa.binary()), 0)
    assert found.batch.to_pylist()[0] == {"name": "ok", "count": 3, "parts": [0.0]}
    decoder = JsonDecoder()
    schema = decoder.infer([room._JSON_RECORD], "a")
    parts: list[DatasetRecords] = []
    values = pa.array([room._JSON_RECORD] * 64, pa.binary())
    left = decoder.one_pass({"a": schema}, "type", ("type", "at")).read(values, parts.append)
    assert len(left) + sum(part.batch.num_rows for part in parts) == 64


@pytest.mark.usefixtures("warm_compilers")
def test_the_protobuf_schema_is_what_its_source_is_compiled_to() -> None:
    made = prepared(RegisteredSchema("protobuf", room._PROTOBUF_SOURCE))
    assert json.loads(made.text) == room._PROTOBUF


def test_afterwards_all_of_it_is_compiled() -> None:
    room.load_compiled(time.monotonic, time.sleep)
    assert is_complete()
    for program in (avro_program, protobuf_program, thrift_program):
        assert cast(Any, program.read_records).signatures, "no task has to compile it"
