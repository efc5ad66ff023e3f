"""Classes are made known to msgspec when modules are imported, never first in the middle of a run.

msgspec finds out about the fields of a class when the class is first decoded. If two threads do
that at once, one of them may use what the other has not finished, and the process dies of a
segmentation fault: three feeds that were opened side by side in a new lake did.
"""

import ast
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src/penstock"
PLAIN = frozenset({"dict", "list", "str", "int", "float", "bool", "bytes"})


def late_types(text: str) -> list[int]:
    """The lines that decode or convert to a class which is given with the call."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func) in ("msgspec.json.decode", "msgspec.msgpack.decode")
        for word in node.keywords
        if word.arg == "type" and not is_plain(word.value)
    ]


def is_plain(annotation: ast.expr) -> bool:
    """True for types that have no fields to be found out about."""
    names = (node for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Attribute))
    return all(isinstance(node, ast.Name) and node.id in PLAIN for node in names)


def test_no_call_brings_its_own_class() -> None:
    found = {
        f"{path.relative_to(SOURCES)}:{line}": "make a Decoder at the top of the module"
        for path in SOURCES.rglob("*.py")
        for line in late_types(path.read_text())
    }
    assert not found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("msgspec.json.decode(x, type=Entry)", [1]),
        ("\nmsgspec.msgpack.decode(x, type=list[Entry])", [2]),
        ("msgspec.json.decode(x, type=module.Entry)", [1]),
        ("msgspec.json.decode(x, type=dict)", []),
        ("msgspec.json.decode(x, type=list[str])", []),
        ("msgspec.json.decode(x)", []),
        ("_decoder.decode(x)", []),
    ],
)
def test_what_counts_as_such_a_call(text: str, lines: list[int]) -> None:
    assert late_types(text) == lines
