"""Thrift files: whatever a tree declares, its text is read as that tree again."""

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.schema_unsupported import SchemaUnsupported
from penstock.datapath.codec.thrift.idl.fixed_struct import fixed_struct, included_files
from penstock.datapath.codec.thrift.types import ThriftFile, ThriftStruct, ThriftType
from penstock.model.spec import DecodeSpec
from tests.helpers.thrift_worlds import World, worlds

MANY = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
NO_FILES: dict[str, str] = {}
BETWEEN = [" ", "\n", "\t// {\n", "/* struct } \n */", " # 'x\n"]


def type_text(kind: ThriftType) -> str:
    """A type as a file has it."""
    inside = ",".join(map(type_text, kind.items))
    return f"{kind.kind}<{inside}>" if inside else kind.name or kind.kind


def struct_text(struct: ThriftStruct) -> str:
    """A struct as a file has it."""
    fields = [
        f"{each.number}: {'required' if each.required else 'optional'} {type_text(each.type)} "
        f"{each.name}"
        for each in struct.fields
    ]
    word = "union" if struct.is_union else "struct"
    return f"{word} {struct.name} {{ {'; '.join(fields)} }}"


def file_text(tree: ThriftFile) -> list[str]:
    """The declarations of a tree; not all enums that it has are used."""
    values = ", ".join(f"{name} = {number}" for number, name in tree.enums[0].values)
    return [f"enum E {{ {values} }}", *map(struct_text, tree.structs)]


@MANY
@given(worlds(records=1), st.data())
def test_the_text_of_a_tree_is_read_as_the_tree(world: World, data: st.DataObject) -> None:
    declarations = data.draw(st.permutations(file_text(world.tree)))
    text = data.draw(st.sampled_from(BETWEEN)).join(declarations)
    decode = DecodeSpec(
        "thrift", schema_text=text, message=world.tree.root, protocol=world.tree.protocol
    )
    found = msgspec.json.decode(fixed_struct(decode).text, type=ThriftFile)
    assert found.root == world.tree.root
    assert found.protocol == world.tree.protocol
    used = {each.name: each for each in found.structs}
    assert used == {each.name: each for each in world.tree.structs if each.name in used}
    assert set(found.enums) <= set(world.tree.enums)


PIECES = st.sampled_from(
    ["struct ", "union ", "A", "B", " { ", " } ", "1: ", "2:", "i32 ", "list<", ">", "map<", ",",
     "(", ")", '"', "'", "=", "typedef ", "enum ", "include ", "const ", "[", "]", "/*", "*/", "#",
     "\n", "//", "service ", "-", "0x", "1e", ".", "required ", "&", "é", "\0"]
)  # fmt: skip


@MANY
@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_no_text_does_more_than_be_refused(text: str) -> None:
    why = ""
    try:
        includes = included_files(text, NO_FILES.get)
        fixed_struct(DecodeSpec("thrift", schema_text=text, schema_includes=includes))
    except SchemaUnsupported as error:
        why = error.why
    assert len(why) < 300
