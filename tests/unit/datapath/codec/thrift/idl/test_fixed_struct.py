"""Thrift files: what they declare becomes a tree, and what cannot be read is told with its line."""

from typing import Any

import msgspec
import pytest

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.thrift.codec import CODEC
from penstock.datapath.codec.thrift.idl.fixed_struct import (
    MOST_FILES,
    fixed_struct,
    included_files,
)
from penstock.datapath.codec.thrift.schema import columns_of_thrift
from penstock.datapath.codec.thrift.types import ThriftFile, parse_thrift
from penstock.model.schema import FieldType
from penstock.model.spec import DecodeSpec

FULL = """
/* A comment
   of two lines. */
namespace java com.acme.shop
namespace * shop   // all others
namespace smalltalk.category Acme-Shop
cpp_namespace acme.shop
xsd_namespace "http://acme"
# a third kind of comment
include "common/shared.thrift"
cpp_include "<vector>"

const i32 MAX = 0x10;
const map<string, list<i32>> LIMITS = {"a": [1, -2], 'b}': []}
const double HALF = .5e1
typedef i64 Id
typedef list<shared.Geo> (cpp.template = "std::list") Places (a = "b, c")
enum Kind { VIEW, BUY = 5; GIFT (old), REFUND = -1, LAST = 0x7f }
// struct {
"""
REST = """
union What { 1: string text; 2: Nothing nothing }
struct Nothing {}
exception Oops { 1: required string why }
struct Click xsd_all {
  1: required Id id,
  2: optional string name = "it's \\"x\\"" (go.tag = 'y');
  3: Kind kind = Kind.VIEW
  04: byte small
  5: list<map<string, set cpp_type "x" <i16>>> deep = [{"a": [1]}]
  6: shared.Geo & geo
  7: Places places
  8: What what
  32767: uuid u
} (annotated)
service Shop extends shared.Base {
  oneway void ping(1: i32 x = 5, 2: map<i32, i32> y = {1: 2}),
  Click last(1: Id id) throws (1: Oops oops)
}
"""
SHARED = 'include "more.thrift"\nstruct Geo { 1: double lat 2: double lon; 3: more.Zone zone }'
MORE = "struct Zone { 1: string name }"
FILES = {"common/shared.thrift": SHARED, "common/more.thrift": MORE}


def tree(
    text: str, message: str = "", files: dict[str, str] | None = None, **decode: Any
) -> ThriftFile:
    includes = included_files(text, (files or {}).get)
    spec = DecodeSpec(
        "thrift", schema_text=text, schema_includes=includes, message=message, **decode
    )
    return msgspec.json.decode(fixed_struct(spec).text, type=ThriftFile)


def shape(kind: FieldType) -> str:
    inside = "" if kind.item is None else f"[{shape(kind.item)}]"
    fields = ", ".join(f"{each.name}: {shape(each.type)}" for each in kind.fields)
    return f"{kind.kind}{inside}" + (f"({fields})" if fields else "")


def test_a_file_with_all_that_thrift_has_becomes_columns() -> None:
    found = tree(FULL + REST, "Click", FILES)
    columns = columns_of_thrift(parse_thrift(msgspec.json.encode(found).decode()))
    geo = "struct(lat: double, lon: double, zone: struct(name: string))"
    assert {each.name: shape(each.type) for each in columns} == {
        "id": "int64",
        "name": "string",
        "kind": "string",
        "small": "int64",
        "deep": "list[map[list[int64]]]",
        "geo": geo,
        "places": f"list[{geo}]",
        "what": "struct(text: string, nothing: boolean)",
        "u": "string",
    }
    assert [each.name for each in columns if not each.nullable] == ["id"]
    assert found.enums[0].values == (
        (0, "VIEW"),
        (5, "BUY"),
        (6, "GIFT"),
        (-1, "REFUND"),
        (127, "LAST"),
    )
    assert found.protocol == "binary"


def test_the_struct_may_be_one_of_a_file_that_is_included() -> None:
    found = tree(FULL + REST, "shared.Geo", FILES, protocol="compact")
    assert found.root == "common/shared.thrift:Geo"
    assert found.protocol == "compact"
    assert [each.name for each in found.structs] == [found.root, "common/more.thrift:Zone"]


def test_the_only_struct_of_a_file_need_not_be_named() -> None:
    assert tree("struct A { 1: i32 a } enum E { X }").root == "A"
    assert tree("union A { 1: i32 a }").structs[0].is_union


def test_a_field_of_a_union_is_never_required() -> None:
    assert not tree("union A { 1: required i32 a }").structs[0].fields[0].required


def test_a_file_is_looked_for_beside_the_one_that_includes_it_and_then_beside_the_first() -> None:
    main = 'include "web/click.thrift" include "zone.thrift" struct A { 1: click.Click c }'
    click = 'include "zone.thrift" struct Click { 1: zone.Zone z }'
    wrong, right = "struct Zone { 1: bool wrong }", "struct Zone { 1: bool right }"
    files = {"web/click.thrift": click, "zone.thrift": wrong}
    assert _field_of(tree(main, "", files)) == "wrong"
    assert _field_of(tree(main, "", files | {"web/zone.thrift": right})) == "right"


def _field_of(found: ThriftFile) -> str:
    (zone,) = (each for each in found.structs if each.name.endswith(":Zone"))
    return zone.fields[0].name


def test_files_may_include_each_other() -> None:
    files = {
        "a.thrift": 'include "b.thrift" struct A { 1: i32 a }',
        "b.thrift": 'include "a.thrift" struct B { 1: a.A a }',
    }
    found = tree('include "b.thrift" struct C { 1: b.B b }', "", files)
    assert [each.name for each in found.structs] == ["C", "b.thrift:B", "a.thrift:A"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "`message` has to name one of its structs: none"),
        ("struct A { 1: i32 a } struct B {}", "`message` has to name one of its structs: A, B"),
        ("foo", "line 1: found `foo`, wanted include, namespace, const, typedef, enum, struct, "
         "union, exception or service"),
        ("\n\n}", "line 3: found `}`, wanted include, namespace, const, typedef, enum, struct, "
         "union, exception or service"),
        ("struct A { 1: i32 a", "line 1: found the end of the file, wanted a name"),
        ("struct A { i32 a }",
         "line 1: the field a has no number, so its place would say what it is"),
        ("struct A {\n 1: B a }", "line 2: there is no type B"),
        ("struct A { 1: b.B a }", "line 1: no file b.thrift is included"),
        ("struct A { 1: float a }", "line 1: there is no type float"),
        ("typedef B C typedef C B struct A { 1: C x }", "line 1: B stands for itself"),
        ("struct A { 1: A a }", "A contains itself"),
        ("struct A { 1: list<map<i32, A>> a }", "A contains itself"),
        ("struct A { 1: i32 a, 1: i32 b }", "two fields of A have one number or name"),
        ("struct A { 1: i32 a; 2: i32 a }", "two fields of A have one number or name"),
        ("struct A { 0: i32 a }", "a field of A has a number that is not of 1 to 32767"),
        ("struct A { -1: i32 a }", "a field of A has a number that is not of 1 to 32767"),
        ("struct A { 32768: i32 a }", "a field of A has a number that is not of 1 to 32767"),
        ("struct A { 1.5: i32 a }", "line 1: found `1.5`, wanted a whole number"),
        ("struct A {}", "A has no fields"),
        ("struct A { 1: list<i32 a }", "line 1: found `a`, wanted `>`"),
        ("struct A { 1: map<i32> a }", "line 1: found `>`, wanted `,`"),
        ("struct A { 1: i32 a = ; }", "line 1: found `;`, wanted a value"),
        ("enum E {} struct A { 1: E a }", "the enum E has no values"),
        ("enum E { A = 2147483648 } struct A { 1: E a }",
         "line 1: the number of A has more than 32 bits"),
        ("enum A { X } struct A { 1: i32 a }", "line 1: A is declared twice"),
        ("struct A { 1: " + "list<" * 99 + "i32" + ">" * 99 + " a }",
         "line 1: types nest deeper than 64 levels"),
        ("struct A { 1: " + "list<" * 40 + "i32" + ">" * 40 + " a }",
         "it nests deeper than 32 levels"),
        ("/* x", "line 1: `/` cannot be read here"),
        ('const string A = "a\nb"', 'line 1: `"` cannot be read here'),
        ("const list<i32> A = [1, 2", "line 1: `[` is not closed"),
        ("const list<i32> A = [1, 2}", "line 1: found `}`, wanted `]`"),
        ("service A { void f(1: i32 a) ", "line 1: `{` is not closed"),
        ('include "/etc/a.thrift"', "line 1: includes `/etc/a.thrift`; a path from this file is "
         "wanted"),
        ('\ninclude "a.thrift"', "line 2: includes `a.thrift`, and there is no such file"),
        ('include "http://x/a.thrift"', "line 1: includes `http://x/a.thrift`, and there is no "
         "such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_a_sentence(text: str, why: str) -> None:
    with pytest.raises(SchemaUnsupported) as raised:
        tree(text)
    assert raised.value.why == why


def test_a_mistake_in_an_included_file_names_the_file() -> None:
    with pytest.raises(SchemaUnsupported) as raised:
        tree('include "b.thrift" struct A { 1: b.B b }', "", {"b.thrift": "\nstruct B { 1: C c }"})
    assert raised.value.why == "b.thrift, line 2: there is no type C"


@pytest.mark.parametrize("name", ["Nope", "shared.Nope"])
def test_a_struct_that_does_not_exist_is_told_with_those_that_do(name: str) -> None:
    with pytest.raises(SchemaUnsupported) as raised:
        tree(FULL + REST, name, FILES)
    assert raised.value.why == f"there is no struct {name}; there are: What, Nothing, Oops, Click"


def test_types_that_double_with_each_typedef_end_in_a_sentence() -> None:
    doubling = "".join(f"typedef map<T{n},T{n}> T{n + 1}\n" for n in range(60))
    with pytest.raises(SchemaUnsupported, match="over 100000 types are named"):
        tree(f"typedef i32 T0\n{doubling} struct A {{ 1: T60 a }}")


def test_structs_inside_structs_without_end_are_refused() -> None:
    chain = "".join(f"struct S{n} {{ 1: S{n + 1} s }}\n" for n in range(5_000))
    with pytest.raises(SchemaUnsupported, match="it nests too deep"):
        tree(f"{chain} struct S5000 {{ 1: i32 a }}", "S0")


def test_more_columns_than_a_dataset_may_have_are_refused() -> None:
    fields = " ".join(f"{n}: i32 f{n}" for n in range(1, 1_002))
    with pytest.raises(SchemaUnsupported, match="there are more than 1000 fields"):
        tree(f"struct A {{ {fields} }}")


def test_files_without_end_are_refused() -> None:
    def read(path: str) -> str:
        return f'include "{int(path.partition(".")[0]) + 1}.thrift"'

    with pytest.raises(SchemaUnsupported, match=f"over {MOST_FILES} files are included"):
        included_files('include "0.thrift"', read)


def test_a_configuration_hears_what_is_wrong_with_its_file() -> None:
    def complaints(text: str) -> list[tuple[str, str]]:
        return list(CODEC.check(DecodeSpec("thrift", schema_text=text)))

    assert complaints("struct A { 1: i32 a }") == []
    wanted = "a struct whose fields can become columns"
    assert complaints("struct A { 1: B b }") == [("`schema`: line 1: there is no type B", wanted)]
    assert complaints("struct A { 1: A b }") == [("`schema`: at $.b, A contains itself", wanted)]
    assert complaints("") == [
        ("no `schema`: Thrift records do not say what they are", "a file .thrift")
    ]


def test_a_tree_that_the_driver_did_not_make_is_refused() -> None:
    for text in ("", "{}", '{"root":"A","protocol":"json","structs":[],"enums":[]}'):
        with pytest.raises(SchemaUnsupported, match="it was not made ready for reading"):
            parse_thrift(text)
    empty = msgspec.json.encode(ThriftFile("A", "binary", (), ())).decode()
    with pytest.raises(SchemaUnsupported, match="the struct A is not known"):
        columns_of_thrift(parse_thrift(empty))
