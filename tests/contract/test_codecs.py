"""The contract of codecs, on those that are built in."""

import json
from collections.abc import Callable

import msgspec
import pyarrow as pa
import pytest

from penstock.api.codec import BadRecord, Codec, JsonDocuments, JsonRecords
from penstock.datapath.codec.avro.codec import CODEC as AVRO
from penstock.datapath.codec.codecs import BUILT_IN
from penstock.datapath.codec.json.codec import CODEC as JSON
from penstock.datapath.codec.msgpack.codec import CODEC as MSGPACK
from penstock.datapath.codec.msgpack.msgpack_json import as_json
from penstock.datapath.codec.protobuf.codec import CODEC as PROTOBUF
from penstock.datapath.codec.raw.codec import CODEC as RAW
from penstock.datapath.codec.text.codec import CODEC as TEXT
from penstock.datapath.codec.thrift.codec import CODEC as THRIFT
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.spec import DecodeSpec
from penstock.testing.contracts.codec import JsonContract, SchemasContract
from tests.helpers.avro_worlds import written

CLICK = {
    "type": "record",
    "name": "Click",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "pages", "type": {"type": "array", "items": "long"}},
        {"name": "price", "type": ["null", "double"]},
    ],
}
CLICKS = [
    {"user": "ann", "pages": [1, 2], "price": 1.5},
    {"user": "", "pages": [], "price": None},
    {"user": "bö", "pages": [2**40], "price": -0.0},
]
JSON_SCHEMA = {
    "title": "Click",
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "pages": {"type": "array", "items": {"type": "integer"}},
        "price": {"type": "number"},
    },
}
PROTO = """syntax = "proto3"; message Click {
  string user = 1; repeated int64 pages = 2; optional double price = 3;
  message Inside { string user = 1; } Inside inside = 4;
}"""

IDL = """struct Inside { 1: string user }
struct Click { 1: required string user, 2: list<i64> pages, 3: double price, 4: Inside inside }"""


class TestJson(SchemasContract):
    """Records that name a JSON Schema; without one, they are JSON already."""

    @pytest.fixture
    def codec(self) -> Codec:
        return JSON

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("json", ids=True)

    @pytest.fixture
    def schema(self) -> RegisteredSchema:
        return RegisteredSchema("json", json.dumps(JSON_SCHEMA))

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [json.dumps(each).encode()[:-1] + b', "more": 1}' for each in CLICKS]


class TestAvro(SchemasContract):
    """Records that name their schemas."""

    @pytest.fixture
    def codec(self) -> Codec:
        return AVRO

    @pytest.fixture
    def schema(self) -> RegisteredSchema:
        return RegisteredSchema("avro", json.dumps(CLICK))

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [written(CLICK, each) for each in CLICKS]


class TestAvroFromAFile(TestAvro):
    """All records have one schema."""

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("avro", schema_text=json.dumps(CLICK))

    @pytest.fixture
    def schema(self, decode: DecodeSpec) -> RegisteredSchema:
        return RegisteredSchema("avro", decode.schema_text)


@pytest.mark.usefixtures("warm_compilers")
class TestProtobuf(SchemasContract):
    """All records are one message of a file."""

    @pytest.fixture
    def codec(self) -> Codec:
        return PROTOBUF

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("protobuf", schema_text=PROTO, message="Click")

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [b"\x0a\x03ann\x12\x02\x01\x02", b"", b"\x0a\x01b\x22\x03\x0a\x01c\x19" + bytes(8)]


class TestThrift(SchemasContract):
    """All records are one struct of a file, in the binary protocol."""

    @pytest.fixture
    def codec(self) -> Codec:
        return THRIFT

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("thrift", schema_text=IDL, message="Click")

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        user, pages = b"\x0b\x00\x01\x00\x00\x00\x03ann", b"\x0f\x00\x02\x0a\x00\x00\x00\x01"
        price = b"\x04\x00\x03" + bytes(8)
        return [user + pages + bytes(8) + b"\x00", user + b"\x00", price + user + b"\x00"]


class TestThriftCompact(TestThrift):
    """The same in the compact protocol."""

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("thrift", schema_text=IDL, message="Click", protocol="compact")

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        user = b"\x18\x03ann"
        return [user + b"\x19\x26\x02\x80\x01\x00", user + b"\x00", user + b"\x27" + bytes(9)]


class TestMsgpack(JsonContract):
    @pytest.fixture
    def codec(self) -> Codec:
        return MSGPACK

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [msgspec.msgpack.encode(each) for each in CLICKS]


class TestText(SchemasContract):
    """Lines that are cut by a delimiter."""

    @pytest.fixture
    def codec(self) -> Codec:
        return TEXT

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("text", delimiter=",", columns=("user", "page", "price"))

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [b"ann,1,2\n", b'"b,\xc3\xb6",,', b",,"]


class TestTextByAPattern(TestText):
    """Lines that are cut by an expression."""

    @pytest.fixture
    def decode(self) -> DecodeSpec:
        return DecodeSpec("text", pattern=r"(?P<user>[^,]*),(?P<page>\d*),(?P<price>.*)")

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [b"ann,1,2\n", b"b,,", b",,"]


class TestRaw(SchemasContract):
    @pytest.fixture
    def codec(self) -> Codec:
        return RAW

    @pytest.fixture
    def payloads(self) -> list[bytes]:
        return [b"", b"\xff", b"abc"]


def test_every_built_in_codec_is_tried_here() -> None:
    codecs = (JSON, AVRO, PROTOBUF, THRIFT, MSGPACK, TEXT, RAW)
    tried = {codec.name for codec in codecs}
    assert tried == set(BUILT_IN)


def _raises(payloads: pa.Array) -> JsonDocuments:
    return JsonDocuments(pa.array([msgspec.msgpack.decode(p.as_py()) for p in payloads]), [])


def _takes_neighbours(payloads: pa.Array) -> JsonDocuments:
    found = as_json(payloads)
    if not found.bad:
        return found
    every = [BadRecord(row, "NOT_READ") for row in range(len(payloads))]
    return JsonDocuments(pa.array([b""] * len(payloads), pa.binary()), every)


def _shortens(payloads: pa.Array) -> JsonDocuments:
    found = as_json(payloads)
    texts = [text for text in found.texts.to_pylist() if text]
    return JsonDocuments(pa.array(texts, pa.binary()), found.bad)


@pytest.mark.parametrize("convert", [_raises, _takes_neighbours, _shortens])
def test_the_contract_notices_a_codec_that_breaks_it(
    convert: Callable[[pa.Array], JsonDocuments],
) -> None:
    payloads = [msgspec.msgpack.encode(each) for each in CLICKS]
    codec = Codec("broken", json=JsonRecords(convert, growth=6))
    with pytest.raises((AssertionError, msgspec.DecodeError, pa.ArrowException, TypeError)):
        JsonContract().test_a_broken_record_is_bad_alone(codec, None, payloads)
