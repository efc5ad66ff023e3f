"""Protobuf schemas on the driver: words, descriptors, imports, and what is refused."""

import base64
import errno
import importlib
import re
import subprocess
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from penstock.api.codec import RecordReader
from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.codecs import record_reader
from penstock.datapath.codec.protobuf.protobuf_reader import protobuf_reader
from penstock.datapath.codec.protobuf.schema_compiler import compiler as proto_compile
from penstock.datapath.codec.protobuf.schema_compiler.compiler import prepared, prepared_file
from penstock.datapath.codec.protobuf.schema_compiler.descriptor_tree import tree_of
from penstock.datapath.codec.protobuf.schema_compiler.errors import CompilerFailed
from penstock.datapath.codec.protobuf.schema_compiler.known_imports import KNOWN_FILES
from penstock.datapath.codec.protobuf.schema_compiler.preparation import fixed_schema
from penstock.datapath.codec.protobuf.types import ProtoFile, parse_proto
from penstock.datapath.codec.shared.projection import project
from penstock.model.registered_schema import RegisteredSchema
from penstock.model.schema import (
    BOOLEAN,
    INT64,
    STRING,
    TIMESTAMP_US,
    DatasetSchema,
    decimal_of,
)
from penstock.model.schema_merging import merged
from penstock.model.spec import DecodeSpec

pytestmark = pytest.mark.usefixtures("warm_compilers")

HEAD = 'syntax = "proto3"; package shop;'
USER = f"{HEAD} message User {{ string name = 1; }}"


def proto(text: str, *references: tuple[str, str]) -> RegisteredSchema:
    return prepared(RegisteredSchema("protobuf", text, references))


def reader(
    text: str, *references: tuple[str, str], message: tuple[int, ...] = (0,)
) -> RecordReader:
    return protobuf_reader(proto(text, *references), message)


def described(name: str = "event.proto", *dependencies: str) -> FileDescriptorProto:
    """A file with a message `Event` that has one field."""
    file = FileDescriptorProto(name=name, package="shop", syntax="proto3", dependency=dependencies)
    message = file.message_type.add(name="Event")
    message.field.add(
        name="id",
        number=1,
        type=FieldDescriptorProto.TYPE_INT64,
        label=FieldDescriptorProto.LABEL_OPTIONAL,
    )
    return file


def base64_of(file: FileDescriptorProto) -> str:
    return base64.b64encode(file.SerializeToString()).decode()


def refusal(text: str, *references: tuple[str, str], message: tuple[int, ...] = (0,)) -> str:
    with pytest.raises(SchemaUnsupported) as caught:
        reader(text, *references, message=message)
    return str(caught.value)


def test_a_file_in_words_becomes_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proto_compile, "subprocess", subprocess)
    made = reader(
        f"""{HEAD}
        import "google/protobuf/timestamp.proto";
        import "google/protobuf/wrappers.proto";
        message Event {{
          int32 id = 1;
          optional uint64 total = 2;
          google.protobuf.Timestamp at = 3;
          google.protobuf.StringValue note = 4;
          enum Kind {{ NONE = 0; SALE = 1; }}
          Kind kind = 5;
          message Nothing {{}}
          oneof what {{ Nothing gone = 6; bool there = 7; }}
        }}"""
    )
    assert made.name == "shop.Event"
    assert [(field.name, field.type, field.nullable) for field in made.fields] == [
        ("id", INT64, False),
        ("total", decimal_of(20, 0), True),
        ("at", TIMESTAMP_US, True),
        ("note", STRING, True),
        ("kind", STRING, False),
        ("gone", BOOLEAN, True),
        ("there", BOOLEAN, True),
    ]
    read = made.read(pa.array([b"\x08\x01\x22\x00\x32\x00", b"\x28\x01\x32\x00\x38\x01"]), 0)
    assert [row["note"] for row in read.batch.to_pylist()] == ["", None]
    assert [row["kind"] for row in read.batch.to_pylist()] == ["NONE", "SALE"]
    assert [row["gone"] for row in read.batch.to_pylist()] == [True, None]
    assert [row["there"] for row in read.batch.to_pylist()] == [None, True]


def test_what_was_made_ready_is_the_same_every_time_and_needs_no_references() -> None:
    text = (
        f'{HEAD} import "a/user.proto"; message Event {{ User user = 1; repeated User all = 2; }}'
    )
    one, two = (proto(text, ("a/user.proto", USER)) for _ in range(2))
    assert one == two
    assert one.references == ()
    assert isinstance(record_reader(one, (0,)), RecordReader)


def test_imports_of_imports_are_found_under_the_names_they_are_imported_by() -> None:
    middle = f'{HEAD} import public "deep/down/user.proto"; message Order {{ User user = 1; }}'
    text = f'{HEAD} import "order.proto"; message Event {{ Order order = 1; User user = 2; }}'
    made = reader(text, ("deep/down/user.proto", USER), ("order.proto", middle))
    read = made.read(pa.array([b"\x0a\x05\x0a\x03\x0a\x01x\x12\x00"]), 0)
    assert read.batch.to_pylist() == [{"order": {"user": {"name": "x"}}, "user": {"name": ""}}]


def test_descriptors_in_base64_are_taken_as_well_and_may_be_mixed_with_words() -> None:
    assert reader(base64_of(described())).name == "shop.Event"
    on_words = described("x.proto", "user.proto", "google/protobuf/timestamp.proto")
    for number, name in ((2, ".shop.User"), (3, ".google.protobuf.Timestamp")):
        on_words.message_type[0].field.add(
            name=f"f{number}",
            number=number,
            type=FieldDescriptorProto.TYPE_MESSAGE,
            type_name=name,
            label=FieldDescriptorProto.LABEL_OPTIONAL,
        )
    made = reader(base64_of(on_words), ("user.proto", USER))
    assert [field.type.kind for field in made.fields] == ["int64", "struct", "timestamp_us"]
    words = f'{HEAD} import "some/event.proto"; message Outer {{ Event event = 1; }}'
    made = reader(words, ("some/event.proto", base64_of(described())))
    assert [field.name for field in made.fields] == ["event"]


def test_a_descriptor_that_brings_a_well_known_file_along_is_read() -> None:
    known = FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(known)
    text = f'{HEAD} import "{known.name}"; message E {{ google.protobuf.Timestamp t = 1; }}'
    made = reader(text, (known.name, base64_of(known)))
    assert [field.type for field in made.fields] == [TIMESTAMP_US]


def test_a_file_of_a_configuration_holds_words_or_a_set_whose_last_file_is_the_schema() -> None:
    assert protobuf_reader(prepared_file(USER), (0,)).name == "shop.User"
    first, last = described("a.proto"), described("b.proto", "a.proto")
    last.message_type[0].name = "Later"
    packed = FileDescriptorSet(file=[first, last]).SerializeToString()
    made = protobuf_reader(prepared_file(base64.b64encode(packed).decode()), (0,))
    assert made.name == "shop.Later"
    with pytest.raises(SchemaUnsupported, match="set of descriptors is empty"):
        prepared_file("")


def test_of_a_set_of_descriptors_the_file_counts_that_declares_the_message() -> None:
    files = [described("a.proto"), described("b.proto", "a.proto"), described("c.proto")]
    for file, name in zip(files, ("Click", "View", "Sale"), strict=True):
        file.message_type[0].name = name
        inner = file.message_type[0].nested_type.add(name="In")
        inner.field.add(name="x", number=1, type=3, label=1)
    files[2].package = ""
    packed = FileDescriptorSet(file=files).SerializeToString()
    text = base64.b64encode(packed).decode()
    for name in ("shop.Click", "shop.View", "Sale", "shop.Click.In", "Sale.In"):
        found = fixed_schema(DecodeSpec("protobuf", schema_text=text, message=name))
        assert found is not None
        assert protobuf_reader(found, (0,)).name == name
    with pytest.raises(SchemaUnsupported, match=r"no message shop\.Nope; there are: Sale, Sa"):
        fixed_schema(DecodeSpec("protobuf", schema_text=text, message="shop.Nope"))


def test_files_that_confluents_tools_know_are_known() -> None:
    text = f"""{HEAD} import "confluent/meta.proto"; import "confluent/type/decimal.proto";
        message Event {{
          option (confluent.message_meta).doc = "an event";
          string name = 1 [(confluent.field_meta) = {{doc: "who", tags: ["PII"]}}];
          confluent.type.Decimal price = 2;
        }}"""
    made = reader(text)
    read = made.read(pa.array([b"\x12\x05\x0a\x01\x07\x18\x02"]), 0)
    price = {"value": b"\x07", "precision": 0, "scale": 2}
    assert read.batch.to_pylist() == [{"name": "", "price": price}]


KNOWN_TYPES = [name for name in KNOWN_FILES if name.startswith("google/type/")]


@pytest.mark.parametrize("name", KNOWN_TYPES)
def test_known_files_declare_what_their_makers_declare(name: str) -> None:
    """The packages of their makers are the oracle; both become trees."""
    module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    found = proto(KNOWN_FILES[name])
    wanted = tree_of(module.DESCRIPTOR, with_entries=False)
    assert msgspec.json.decode(found.text, type=ProtoFile) == wanted
    if module.DESCRIPTOR.enum_types_by_name:
        [(kind, enum)] = module.DESCRIPTOR.enum_types_by_name.items()
        ours = prepared(
            RegisteredSchema(
                "protobuf",
                f"""{HEAD} import "{name}";
            message Event {{ google.type.{kind} kind = 1; }}""",
            )
        )
        [made] = msgspec.json.decode(ours.text, type=ProtoFile).enums
        assert made.values == tuple((each.number, each.name) for each in enum.values)


def test_a_schema_may_import_them_and_bring_its_own_file_of_such_a_name() -> None:
    text = f"""{HEAD} import "google/type/money.proto"; import "google/type/dayofweek.proto";
        message Event {{ google.type.Money price = 1; google.type.DayOfWeek day = 2; }}"""
    read = reader(text).read(pa.array([b"\x0a\x05\x0a\x03EUR\x10\x07"]), 0)
    price = {"currency_code": "EUR", "units": 0, "nanos": 0}
    assert list(read.batch.to_pylist()[0].values()) == [price, "SUNDAY"]
    own = 'syntax = "proto3"; package google.type; message Money { int32 cents = 1; }'
    text = f'{HEAD} import "google/type/money.proto"; message E {{ google.type.Money m = 1; }}'
    [field] = reader(text, ("google/type/money.proto", own)).fields
    assert [inner.name for inner in field.type.fields] == ["cents"]


def test_extensions_that_a_schema_declares_are_columns() -> None:
    text = """syntax = "proto2"; package shop; import "google/protobuf/descriptor.proto";
        message A { optional int32 x = 1; extensions 100 to 199; }
        message Scope { extend A { repeated In inner = 101; } }
        message In { optional bool yes = 1; extensions 5; }
        extend A { optional string x = 100; }
        extend In { optional int32 deep = 5; }
        extend google.protobuf.FieldOptions { optional string hint = 50001; }"""
    made = reader(text)
    assert [field.name for field in made.fields] == ["x", "[shop.x]", "[shop.Scope.inner]"]
    payloads = [b"\x08\x05\xa2\x06\x02hi\xaa\x06\x04\x08\x01\x28\x07", b"\x08\x06"]
    read = made.read(pa.array(payloads, pa.binary()), 0)
    assert [list(row.values()) for row in read.batch.to_pylist()] == [
        [5, "hi", [{"yes": True, "[shop.deep]": 7}]],
        [6, None, []],
    ]


def test_messages_are_found_by_their_places() -> None:
    text = f"""{HEAD}
        message A {{ map<string, int32> m = 1; message In {{ int32 x = 1; }} }}
        message B {{ string y = 1; message C {{ message D {{ bool z = 1; }} bool c = 1; }} }}"""
    names = {place: reader(text, message=place).name for place in [(0,), (1,), (0, 0), (1, 0, 0)]}
    assert names == {(0,): "shop.A", (1,): "shop.B", (0, 0): "shop.A.In", (1, 0, 0): "shop.B.C.D"}
    for place in [(2,), (0, 1), (1, 0, 0, 0), ()]:
        assert "message" in refusal(text, message=place)
    found = record_reader(proto(text), (7,))
    assert isinstance(found, SchemaUnsupported)


def test_entries_of_maps_have_places_in_descriptors_only() -> None:
    """Writers that register descriptors count what is in them, and so do their records."""
    file = described()
    event = file.message_type[0]
    entry = event.nested_type.add(name="MEntry")
    entry.options.map_entry = True
    for name, number in (("key", 1), ("value", 2)):
        entry.field.add(name=name, number=number, type=9, label=1)
    event.field.add(name="m", number=2, type=11, label=3, type_name=".shop.Event.MEntry")
    event.nested_type.add(name="In").field.add(name="x", number=1, type=3, label=1)
    assert reader(base64_of(file), message=(0, 1)).name == "shop.Event.In"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("message Event { Event e = 1; }", r"at \$\.e, shop\.Event contains itself"),
        ("message Event { A a = 1; } message A { repeated B b = 1; } message B { A a = 1; }",
         r"at \$\.a\.b\[\]\.a, shop\.A contains itself"),
        ("message Event {}", "has no fields"),
        ("message Event { Nope n = 1; }", '"Nope" is not defined'),
        ("message Event { int32 a = 1; int32 b = 1; }", "already been used"),
        ("this is no schema", "the compiler refuses it"),
        ("enum E { A = 0; }", r"there is no message \[0\]"),
        ("", r"there is no message \[0\]"),
    ],
)  # fmt: skip
def test_a_schema_that_cannot_become_columns_is_refused_with_the_place(body: str, why: str) -> None:
    assert re.search(why, refusal(f"{HEAD} {body}"))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("message E { optional group G = 1 { optional int32 a = 1; } }", r"\$\.g, groups"),
        ("message E { extensions 1 to max; }", "nothing but extensions"),
        ("message E { option message_set_wire_format = true; extensions 4 to max; }",
         "message set"),
        ('import "google/protobuf/struct.proto"; '
         "message E { optional google.protobuf.Struct s = 1; }", "contains itself"),
    ],
)  # fmt: skip
def test_what_only_old_or_loose_schemas_have_is_refused(body: str, why: str) -> None:
    assert re.search(why, refusal(f'syntax = "proto2"; package shop; {body}'))


def test_editions_say_for_each_field_what_absence_means() -> None:
    made = reader(
        """edition = "2023"; package shop;
        message Event {
          int32 maybe = 1;
          int32 always = 2 [features.field_presence = IMPLICIT];
          int32 must = 3 [features.field_presence = LEGACY_REQUIRED];
          repeated int32 apart = 4 [features.repeated_field_encoding = EXPANDED];
        }"""
    )
    assert [field.nullable for field in made.fields] == [True, False, False, False]
    read = made.read(pa.array([b"\x18\x05\x20\x01\x20\x02", b""]), 0)
    assert read.batch.to_pylist() == [{"maybe": None, "always": 0, "must": 5, "apart": [1, 2]}]
    assert [bad.reason for bad in read.bad] == ["MISSING_FIELD"]
    group = """edition = "2023"; package shop; message In { int32 a = 1; }
        message Event { In old = 1 [features.message_encoding = DELIMITED]; }"""
    assert "groups are not read" in refusal(group, message=(1,))


def test_a_schema_that_is_only_partly_readable_is_read_in_the_messages_that_are() -> None:
    text = f"{HEAD} message Tree {{ repeated Tree below = 1; }} message Event {{ int32 a = 1; }}"
    assert reader(text, message=(1,)).name == "shop.Event"
    assert "contains itself" in refusal(text)


@pytest.mark.parametrize(
    "name",
    ["/etc/x.proto", "../x.proto", "a/../../x.proto", "a//x.proto", "./x.proto", "", "-Ix.proto",
     "a\\x.proto", "a\0.proto", "penstock_schema_itself.proto"],
)  # fmt: skip
def test_references_that_are_no_paths_below_a_folder_are_refused(name: str) -> None:
    assert "cannot be an import" in refusal(USER, (name, USER))


@pytest.mark.parametrize("path", ["/etc/hosts", "../../../../etc/hosts", "missing.proto"])
def test_imports_reach_nothing_but_what_was_given(path: str) -> None:
    found = refusal(f'{HEAD} import "{path}"; message Event {{ int32 a = 1; }}')
    assert "the compiler refuses it" in found
    assert "localhost" not in found


def test_two_different_files_of_one_name_are_refused() -> None:
    text = f'{HEAD} import "u.proto"; message Event {{ User u = 1; }}'
    assert "called 'u.proto'" in refusal(text, ("u.proto", USER), ("u.proto", USER + " "))
    assert reader(text, ("u.proto", USER), ("u.proto", USER)).name == "shop.Event"


def test_files_that_cannot_lie_beside_each_other_are_refused() -> None:
    assert "cannot be files" in refusal(USER, ("a", "x"), ("a/b.proto", "y"))
    assert "cannot be files" in refusal(USER, ("a" * 300, "x"))


def test_columns_of_two_versions_of_a_message_merge_and_records_of_both_fit() -> None:
    """Goal: what lies behind the codec takes its columns. Method: merge, read, project."""
    old = reader(
        f"{HEAD} message E {{ uint64 id = 1; repeated P all = 2; }} message P {{ int32 x = 1; }}"
    )
    new = reader(
        f"""{HEAD} message E {{ uint64 id = 1; repeated P all = 2; map<int32, P> by = 3; }}
        message P {{ int32 x = 1; string y = 2; }}"""
    )
    schema = DatasetSchema("events", 1, True, merged(old.fields, new.fields))
    payload = b"\x08\x07\x12\x02\x08\x05"
    for made in (old, new):
        read = made.read(pa.array([payload]), 0)
        row = project(read.batch, made.fields, schema).to_pylist()[0]
        assert (row["id"], row["all"][0]["x"]) == (7, 5)


@pytest.mark.parametrize(
    "program",
    ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "import no_such_module",
     "import time; time.sleep(60)"],
)  # fmt: skip
def test_a_compiler_that_gives_no_verdict_is_not_taken_for_one_that_refuses(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Goal: a machine in trouble makes no record bad. Method: other programs in its place."""
    monkeypatch.setattr(proto_compile, "subprocess", subprocess)
    monkeypatch.setattr(proto_compile, "_PROGRAM", program)
    monkeypatch.setattr(proto_compile, "_TIMEOUT_S", 1)
    with pytest.raises(CompilerFailed):
        proto(USER)


def test_a_folder_that_cannot_be_written_to_is_not_the_fault_of_a_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(proto_compile, "_write", full)
    with pytest.raises(CompilerFailed):
        proto(USER)


def test_a_tree_that_was_tampered_with_is_refused() -> None:
    for text in ["", "{", "[]", '{"roots": ["x"]}', USER]:
        with pytest.raises(SchemaUnsupported):
            parse_proto(text)
    twice = proto(USER).text.replace(
        '"fields":[', '"fields":[{"number":1,"name":"n","kind":"int32","label":"implicit"},'
    )
    with pytest.raises(SchemaUnsupported, match="one number"):
        parse_proto(twice)
    lost = proto(f"{HEAD} message A {{ B b = 1; }} message B {{ int32 x = 1; }}").text
    lost = lost.replace('"type":"shop.B"', '"type":"shop.C"')
    with pytest.raises(SchemaUnsupported, match=r"shop\.C is not known"):
        protobuf_reader(RegisteredSchema("protobuf", lost), (0,))


def test_a_schema_with_too_many_fields_is_refused() -> None:
    """Goal: a small file can be a very large tree. Method: each message uses the next twice."""
    words = [f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }}" for n in range(30)]
    assert "more than 1000 fields" in refusal(
        f"{HEAD} {' '.join(words)} message M30 {{ int32 x = 1; }}"
    )
