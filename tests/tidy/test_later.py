"""What `Later` names exists, and may be imported from where it is named.

Goal: a function that is named by a text is as safe as one that is imported. Method: every
`Later("module:name")` in the package is read; the text must be written there, the module must
define the name, and `ROOMS` must allow the import.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.names import dotted
from tests.tidy.rooms import ROOMS, room_of

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"


def complaints(path: str, source: str) -> Iterator[str]:
    """What is wrong with the uses of `Later` in one module; `path` is below the package."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or dotted(node.func) != "Later":
            continue
        first = node.args[0] if node.args else None
        if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
            yield f"{path}:{node.lineno}: Later needs a text that is written there"
            continue
        module, _, name = first.value.partition(":")
        yield from (f"{path}:{node.lineno}: {each}" for each in _faults(path, module, name))


def _faults(path: str, module: str, name: str) -> Iterator[str]:
    if not module.startswith("penstock."):
        yield f"{module} is not ours; import it in a module of its own"
        return
    below = module.removeprefix("penstock.").replace(".", "/")
    file = PACKAGE / f"{below}.py"
    if not file.is_file() or name not in _defined(file.read_text(encoding="utf-8")):
        yield f"{module} does not define {name!r}"
    room, other = room_of(path), room_of(below)
    if room is None or other not in ROOMS[room] | {room}:
        yield f"{room} may not import {other}, by `Later` neither"


def _defined(source: str) -> set[str]:
    """The functions and classes of a module."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.parse(source).body if isinstance(node, kinds)}


def test_everything_that_is_named_is_there_and_allowed() -> None:
    found = [
        complaint
        for file in sorted(PACKAGE.rglob("*.py"))
        for complaint in complaints(file.relative_to(PACKAGE).as_posix(), file.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("path", "source", "words"),
    [
        ("cli/common.py", "Later('penstock.cli.commands.run:walk')", "does not define 'walk'"),
        ("cli/common.py", "Later('penstock.cli.commands.walk:run')", "does not define 'run'"),
        ("cli/common.py", "Later(name)", "needs a text"),
        ("cli/common.py", "Later('pyspark.sql:SparkSession')", "is not ours"),
        ("model/ranges.py", "Later('penstock.cli.commands.run:run')", "model may not import cli"),
    ],
)
def test_a_planted_fault_is_noticed(path: str, source: str, words: str) -> None:
    assert any(words in found for found in complaints(path, source))
