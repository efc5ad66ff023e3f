"""Prepared schemas in the lake: a restart reads them, and none is prepared that no record names."""

import hashlib

import msgspec
import pytest

from penstock.api.codec import Preparation
from penstock.datapath.codec.protobuf.codec import CODEC
from penstock.datapath.codec.protobuf.schema_compiler import preparation
from penstock.datapath.codec.protobuf.schema_compiler.errors import CompilerFailed
from penstock.datapath.codec.protobuf.schema_compiler.preparation import FORMAT
from penstock.datapath.schemas import prepared_schemas
from penstock.datapath.schemas.named_schemas import NamedSchemas
from penstock.datapath.schemas.prepared_schemas import PreparedSchemas, prepared
from penstock.model.registered_schema import RegisteredSchema
from penstock.testing.memory_store import MemoryStore
from tests.helpers.registered_schemas import ONE, Registered, kept, shelf_of

WORDS = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Click {
  string id = 1;
  repeated uint64 counts = 2;
  map<string, Kind> kinds = 3;
  google.protobuf.Timestamp at = 4;
  oneof what { Kind kind = 5; bytes raw = 6; }
  optional int32 maybe = 7;
  enum Kind { NONE = 0; SOME = 1; }
  message Inner { double x = 1; }
  Inner inner = 8;
}
"""
CLICK = RegisteredSchema("protobuf", WORDS)
BROKEN = RegisteredSchema("protobuf", "this is no schema")
MADE = RegisteredSchema("protobuf", '{"roots":[],"messages":[],"enums":[]}')


class Compiler:
    """Stands in for the compiler: what it makes, whether it fails, and for whom it worked."""

    def __init__(self) -> None:
        self.made = {CLICK: MADE, BROKEN: RegisteredSchema("unusable", "it is no schema")}
        self.fails = False
        self.worked: list[RegisteredSchema] = []

    def __call__(self, schema: RegisteredSchema, _: Preparation) -> RegisteredSchema:
        """As `prepared` does."""
        self.worked.append(schema)
        if self.fails:
            raise CompilerFailed("it took over 60 s")
        return self.made[schema]


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    found = Compiler()
    monkeypatch.setattr(prepared_schemas, "prepared", found)
    return found


def one_run(store: MemoryStore, registry: Registered, *keys: str) -> tuple[NamedSchemas, int]:
    """A run that meets records of these keys; how often it had to read its first window."""
    shelf = shelf_of(store, registry)
    shelf.begin()
    reads = 1
    while not set(keys) <= set(shelf.ready()):
        assert shelf.learn(keys), "else nobody would read them again"
        reads += 1
    assert not shelf.learn(keys)
    return shelf, reads


def test_a_restart_reads_what_was_compiled_and_reads_no_window_twice(compiler: Compiler) -> None:
    store, registry = MemoryStore(), Registered(id1=CLICK, id2=BROKEN, id3=ONE)
    shelf, reads = one_run(store, registry, "1", "2", "3")
    assert (reads, compiler.worked) == (2, [CLICK, BROKEN])
    first = shelf.ready()
    compiler.fails = True
    shelf, reads = one_run(store, registry, "1", "2", "3")
    assert (reads, compiler.worked) == (1, [CLICK, BROKEN])
    assert shelf.ready() == first == {"1": MADE, "2": compiler.made[BROKEN], "3": ONE}


def test_a_schema_that_nobody_names_is_not_compiled_and_stops_nobody(compiler: Compiler) -> None:
    """Method: the lake is one from before compiled forms were kept."""
    store, registry = MemoryStore(), Registered(id1=CLICK, id3=ONE)
    shelf_of(store, registry).learn(["1", "3"])
    compiler.fails = True
    shelf, reads = one_run(store, registry, "3")
    assert (reads, compiler.worked) == (1, [])
    assert shelf.ready() == {"3": ONE}
    assert shelf.learn(["1"]), "a record names it"
    with pytest.raises(CompilerFailed):
        shelf.ready()
    compiler.fails = False
    assert shelf.ready() == {"1": MADE, "3": ONE}


def test_it_is_met_also_while_the_registry_is_down(compiler: Compiler) -> None:
    store, registry = MemoryStore(), Registered(id1=CLICK)
    shelf_of(store, registry).learn(["1"])
    registry.is_up = False
    shelf, reads = one_run(store, registry, "1")
    assert (reads, compiler.worked) == (2, [CLICK])
    assert shelf.ready() == {"1": MADE}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff",
        b"{}",
        msgspec.json.encode(ONE),
        msgspec.json.encode(CLICK),
        b'{"type":"protobuf","text":"\xff"}',
    ],
)
def test_a_form_that_cannot_be_read_is_made_anew(compiler: Compiler, raw: bytes) -> None:
    store = MemoryStore()
    PreparedSchemas(store, "r", CODEC).make(CLICK)
    [place] = kept(store)
    assert place.startswith("r/compiled/")
    store.shelf = store.shelf.with_object(place, raw)
    later = PreparedSchemas(store, "r", CODEC)
    assert later.find(CLICK) is None
    assert later.make(CLICK) == later.make(CLICK) == MADE
    assert compiler.worked == [CLICK, CLICK]
    assert kept(store) == {place: raw}


def test_whoever_has_another_format_makes_another_form(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore()
    PreparedSchemas(store, "r", CODEC).make(CLICK)
    monkeypatch.setattr(preparation, "FORMAT", FORMAT + 1)
    assert PreparedSchemas(store, "r", CODEC).find(CLICK) is None
    PreparedSchemas(store, "r", CODEC).make(CLICK)
    assert (len(kept(store)), compiler.worked) == (2, [CLICK, CLICK])


def test_the_number_of_the_format_changes_with_what_is_compiled() -> None:
    """If this fails on purpose: raise `FORMAT`, and put both here. Else lakes keep the old form."""
    schemas = CODEC.schemas
    assert schemas is not None
    assert schemas.preparation is not None
    found = hashlib.sha256(prepared(CLICK, schemas.preparation).text.encode()).hexdigest()
    assert (FORMAT, found[:16]) == (2, "9a5813ad4eadde7f")
