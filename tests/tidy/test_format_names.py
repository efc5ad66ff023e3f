"""Only a file format knows its name: nobody else decides what Parquet or ORC can do.

Goal: a new format is one new folder in `datapath/formats/`, or a plug-in. Code that asks for a
format by its name has to be found and extended instead. Method: no module names one, in a text, an
import or an attribute, unless the table says why. Comments and docstrings may.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
NAMES = ("parquet", "orc")
# Records and exports have formats of such names, too: what counts is a module of a file format.
SHARED_NAMES = ("avro", "jsonl", "sequencefile", "text")
NAMED = re.compile(
    rf"(?<![a-z])({'|'.join(NAMES)})(?![a-z])|datapath\.formats\.({'|'.join(SHARED_NAMES)})\b",
    re.IGNORECASE,
)

# Who may name a format, and why; a folder stands for all of its modules.
ALLOWED = {
    "datapath/formats/": "the formats themselves",
    "config/": "the key `format` and its example",
    "demo/": "it counts files with code that shares nothing with the rest",
    "model/spec.py": "the default of the key `format`",
    "model/entries.py": "entries that were written before there was a second format",
    "protocol/feed_book/state.py": "checkpoints of such entries",
    "testing/contracts/store_staged.py": "names of files, whose ending a store does not read",
    "testing/contracts/file_format_reading.py": "the first bytes of damaged files",
}


def faults(path: str, source: str) -> list[str]:
    """Where a module names a file format, unless it may."""
    if any(path == place or (place[-1] == "/" and path.startswith(place)) for place in ALLOWED):
        return []
    return [f"{path}:{line}: {word!r}: ask the format instead" for line, word in named(source)]


def named(source: str) -> Iterator[tuple[int, str]]:
    """Line and text of everything that names a file format, but for docstrings."""
    tree = ast.parse(source)
    prose = {
        node.value
        for parent in ast.walk(tree)
        if isinstance(parent, ast.Module | ast.ClassDef | ast.FunctionDef)
        for node in parent.body
        if isinstance(node, ast.Expr)
    }
    for node in ast.walk(tree):
        for word in () if node in prose else _words(node):
            if NAMED.search(word):
                yield getattr(node, "lineno", 0), word


def _words(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.Constant) and isinstance(node.value, bytes):
        return [node.value.decode("latin-1")]
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return [node.attr] if isinstance(node, ast.Attribute) else []


def test_only_formats_know_their_names() -> None:
    found = [
        fault
        for file in sorted(PACKAGE.rglob("*.py"))
        for fault in faults(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


def test_every_folder_of_a_format_is_watched() -> None:
    folders = {place.parent.name for place in (PACKAGE / "datapath/formats").glob("*/__init__.py")}
    assert folders == {*NAMES, *SHARED_NAMES}


def test_every_allowed_place_needs_to_be_allowed() -> None:
    for place in ALLOWED:
        files = [PACKAGE / place] if place.endswith(".py") else (PACKAGE / place).rglob("*.py")
        assert any(list(named(file.read_text(encoding="utf-8"))) for file in files), place


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("protocol/loop/owner.py", "class A:\n    files: str = 'parquet'"),
        ("protocol/journal/journal.py", "def bind(self, files: str = 'parquet'): ..."),
        ("audit/lake_files.py", "name.endswith('.snappy.parquet')"),
        ("audit/check_file.py", "if raw[:3] == b'ORC': pass"),
        ("care/compact.py", "import pyarrow.orc as reader"),
        ("care/compact.py", "from penstock.datapath.formats.parquet.parquet import FORMAT"),
        ("care/compact.py", "pa.parquet.ParquetFile(file)"),
        ("datapath/schemas/ddl.py", "'''M.'''\nclause = f'USING PARQUET {x}'"),
        ("cli/commands/run.py", "def f():\n    '''Doc.'''\n    return 'orc'"),
        ("care/compact.py", "from penstock.datapath.formats.avro.avro import FORMAT"),
    ],
)
def test_a_planted_name_is_found(path: str, source: str) -> None:
    assert faults(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("audit/check_file.py", "'''Reads Parquet and ORC.'''  # or parquet"),
        ("audit/check_file.py", "form = find(FORMATS, spec.format)"),
        ("feeds/runner.py", "force = 'for orchestration'"),
        ("feeds/runner.py", "from penstock.datapath.codec.avro.codec import CODEC"),
        ("datapath/formats/orc/orc.py", "name = 'orc'"),
    ],
)
def test_what_asks_a_format_passes(path: str, source: str) -> None:
    assert faults(path, source) == []
