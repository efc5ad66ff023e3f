"""Modules that are imported by a string, which no checker of imports sees: few, each with a reason.

Goal: the rooms keep apart, also where a module is named by a text. Method: every call that imports
by name is found; own modules must be in the table, and must be allowed, as `ROOMS` has it, unless
the table says that the border is crossed on purpose.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.tidy.names import dotted
from tests.tidy.rooms import ROOMS, room_of

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
IMPORTERS = {"import_module", "importlib.import_module", "__import__"}
ANY = "*"  # a name that is computed


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a module is imported by its name; `crosses` where ROOMS would not allow it."""

    why: str
    crosses: bool = False


BY_NAME = {
    ("api/later.py", ANY): Reason("what `Later` names is imported when it is called"),
    ("api/find.py", ANY): Reason("a plug-in is imported when it is named, and not before"),
    ("api/source.py", "penstock.api.record_columns"): Reason("only sources need Arrow's columns"),
    ("cli/start.py", "penstock.cli.main"): Reason("Ctrl-C is handled while modules are imported"),
    ("cli/commands/demo.py", "penstock.demo.story"): Reason("it needs parts that few have"),
    ("demo/lakes.py", "penstock.demo.bucket_files"): Reason("it needs pyarrow, for a bucket only"),
    ("demo/lakes.py", "penstock.demo.gcs_files"): Reason("the same, for one of GCS"),
    ("demo/lakes.py", "penstock.demo.hdfs_folder"): Reason("the same, for HDFS"),
    ("datapath/shape/convert/encrypt.py", "penstock.datapath.shape.convert.cipher"): Reason(
        "it needs a library that only encrypted fields need"
    ),
    ("runtime/carried_error.py", ANY): Reason(
        "an error of any room, or of a plug-in, is raised on the driver as its own class"
    ),
    ("spark/compiling.py", "penstock.datapath.codec.load_compiled"): Reason(
        "workers are forked with all code loaded; Spark knows nothing of it", crosses=True
    ),
    ("spark/daemon.py", "penstock.datapath.stage.task"): Reason(
        "workers are forked with everything imported; Spark knows nothing of it", crosses=True
    ),
    ("spark/daemon.py", "penstock.datapath.codec.codecs"): Reason(
        "workers are forked with everything imported; Spark knows nothing of it", crosses=True
    ),
    ("spark/daemon.py", "penstock.datapath.formats.quarantine_format"): Reason(
        "workers are forked with everything imported; Spark knows nothing of it", crosses=True
    ),
    ("testing/contracts/converter.py", ANY): Reason("tasks find a plug-in by its module's name"),
    ("testing/contracts/per_record.py", ANY): Reason("tasks find a plug-in by its module's name"),
    ("testing/contracts/file_format.py", ANY): Reason("tasks find a format by its module's name"),
    ("testing/contracts/record_file_format.py", ANY): Reason("the same, of one without columns"),
}


def by_name(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every import by a text; other packages are not our concern."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or dotted(node.func) not in IMPORTERS:
            continue
        first = node.args[0] if node.args else None
        name = first.value if isinstance(first, ast.Constant) else ANY
        if isinstance(first, ast.Name):
            name = constants.get(first.id, ANY)
        if name == ANY or str(name).split(".")[0] == "penstock":
            yield node.lineno, str(name)


def complaints(path: str, source: str) -> Iterator[str]:
    """What is wrong with the imports by name of one module; `path` is below the package."""
    for line, name in by_name(source):
        reason = BY_NAME.get((path, name))
        if reason is None:
            yield f"{path}:{line}: imports {name} by its name; add the reason to BY_NAME"
            continue
        if name == ANY or reason.crosses:
            continue
        room, other = room_of(path), room_of(name.removeprefix("penstock.").replace(".", "/"))
        if room is None or other not in ROOMS[room] | {room}:
            yield f"{path}:{line}: {room} may not import {other}, by its name neither"


def test_every_import_by_name_has_a_reason() -> None:
    found = [
        complaint
        for file in sorted(PACKAGE.rglob("*.py"))
        for complaint in complaints(file.relative_to(PACKAGE).as_posix(), file.read_text())
    ]
    assert found == []


def test_the_table_has_nothing_that_is_gone() -> None:
    there = {
        (path, name)
        for path, _ in BY_NAME
        for _, name in by_name((PACKAGE / path).read_text(encoding="utf-8"))
    }
    assert set(BY_NAME) - there == set()


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("model/ranges.py", "import_module('penstock.cli.main')"),
        ("model/ranges.py", "import importlib\nimportlib.import_module('penstock.cli')"),
        ("model/ranges.py", "X = 'penstock.cli'\ndef f(): __import__(X)"),
        ("model/ranges.py", "def f(name): import_module(name)"),
        ("cli/start.py", "import_module('penstock.demo.story')"),
    ],
)
def test_a_planted_import_is_caught(path: str, source: str) -> None:
    assert any("add the reason" in found for found in complaints(path, source))


def test_a_reason_alone_does_not_open_a_border(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BY_NAME, ("model/ranges.py", "penstock.cli.main"), Reason("none"))
    found = list(complaints("model/ranges.py", "import_module('penstock.cli.main')"))
    assert any("model may not import cli" in each for each in found)


def test_other_packages_and_known_imports_pass() -> None:
    assert list(complaints("spark/daemon.py", "import_module('pyspark.daemon')")) == []
    assert list(complaints("cli/start.py", "import_module('penstock.cli.main')")) == []
