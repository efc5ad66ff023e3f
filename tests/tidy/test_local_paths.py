"""No local path outside the local store: a lake may lie anywhere.

Goal: code that opens, lists or renames files by a path of its own works on a laptop and fails on
any other store. Method: every use of such names is held against a table of places with reasons.
"""

import ast
from pathlib import Path

import pytest

from tests.tidy.names import reaches, uses

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
NAMES = (
    "pathlib", "os.path", "open", "builtins.open", "io.open", "os.open", "os.rename", "os.replace",
    "os.link", "os.unlink", "os.remove", "os.listdir", "os.scandir", "os.walk", "os.mkdir",
    "os.makedirs", "os.fsync", "shutil", "glob", "tempfile",
)  # fmt: skip

# Where paths are right, and what they lead to; a room stands for all of its modules.
ALLOWED = {
    "ports/store/local/": "the local store itself",
    "ports/store/open_store.py": "a lake that is given as a path becomes an address",
    "config/": "the configuration file, and the files that it names",
    "cli/": "arguments of the command line, and files of the user",
    "demo/": "a lake on this machine, counted by code that shares nothing with the rest",
    "testing/": "servers, disks and crash states of tests",
    "spark/": "jars, Java and the working directory of a JVM",
    "runtime/this_process.py": "what the system tells about a process",
    "datapath/stage/spool.py": "rows that wait on the executor's own disk",
    "datapath/codec/protobuf/schema_compiler/": "files that the compiler of Protobuf reads",
}


def faults(path: str, source: str) -> list[str]:
    """What a module uses of local paths, unless it may."""
    if any(path.startswith(place) for place in ALLOWED):
        return []
    return sorted(
        f"{path}:{use.line}: {use.name}: ask the store, or add the place to ALLOWED on purpose"
        for use in uses(ast.parse(source))
        if any(reaches(use.name, name) for name in NAMES)
    )


def test_only_the_local_store_knows_local_paths() -> None:
    found = [
        fault
        for file in sorted(PACKAGE.rglob("*.py"))
        for fault in faults(file.relative_to(PACKAGE).as_posix(), file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


def test_every_allowed_place_exists_and_needs_to_be_allowed() -> None:
    for place in ALLOWED:
        files = [PACKAGE / place] if place.endswith(".py") else (PACKAGE / place).rglob("*.py")
        sources = [ast.parse(file.read_text(encoding="utf-8")) for file in files]
        used = {use.name for tree in sources for use in uses(tree)}
        assert any(reaches(use, name) for use in used for name in NAMES), place


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("audit/lake_files.py", "from pathlib import Path\nPath(lake).rglob('*.parquet')"),
        ("care/compact.py", "import os\nos.rename(staged, final)"),
        ("care/compact.py", "from os import replace as put\nput(staged, final)"),
        ("protocol/publish/finisher.py", "open(final, 'rb').read()"),
        ("datapath/stage/open_file.py", "import tempfile\ntempfile.mkdtemp()"),
        ("feeds/runner.py", "import os.path\nos.path.exists(lake)"),
        ("protocol/journal/journal.py", "import shutil"),
    ],
)
def test_a_planted_path_is_found(path: str, source: str) -> None:
    assert faults(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("audit/check_file.py", "file = store.open_read(order.final)"),
        ("datapath/formats/parquet/parquet.py", "reader = FORMAT.open(file)"),
        ("ports/store/local/disk.py", "import os\nos.link(staged, final)"),
    ],
)
def test_what_asks_a_store_passes(path: str, source: str) -> None:
    assert faults(path, source) == []
