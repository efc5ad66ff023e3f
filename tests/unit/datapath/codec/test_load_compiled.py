"""What is read to load compiled code is read by the fast ways, or nothing would be loaded."""

import json
import time

import pyarrow as pa

from penstock.datapath.codec import load_compiled as room
from penstock.datapath.codec.avro.avro_reader import avro_reader
from penstock.datapath.codec.json.decoder import DatasetRecords, JsonDecoder
from penstock.datapath.codec.shared.code_cache import is_complete
from penstock.model.registered_schema import RegisteredSchema


def test_the_records_of_the_warm_up_are_good_ones() -> None:
    reader = avro_reader(RegisteredSchema("avro", json.dumps(room._AVRO)))
    found = reader.read(pa.array([room._AVRO_RECORD], pa.binary()), 0)
    assert found.batch.to_pylist()[0] == {"name": "ok", "count": 3, "parts": [0.0]}
    decoder = JsonDecoder()
    schema = decoder.infer([room._JSON_RECORD], "a")
    parts: list[DatasetRecords] = []
    values = pa.array([room._JSON_RECORD] * 64, pa.binary())
    left = decoder.one_pass({"a": schema}, "type", ("type", "at")).read(values, parts.append)
    assert len(left) + sum(part.batch.num_rows for part in parts) == 64


def test_afterwards_all_of_it_is_compiled() -> None:
    room.load_compiled(time.monotonic, time.sleep)
    assert is_complete()
