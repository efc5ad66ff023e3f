"""Rooms: the folders of src/penstock, and which of them may know about which.

Goal: the direction of imports is a fact, not a habit. Method: read every module as a syntax tree
and hold it against the tables below. To add a room, add its line to `ROOMS` on purpose.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

from tests.tidy.names import reaches, uses

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"

# The bottom layer. Its two members may import each other and every room may import both.
BOTTOM = frozenset({"model", "errors"})

_TO_PUBLISH = BOTTOM | {
    "config", "store", "journal", "source", "codec", "shape", "writer", "publish",
}  # fmt: skip
_TO_DISPERSE = _TO_PUBLISH | {"engine", "disperse"}
_ALL_BUT_CLI = _TO_DISPERSE | {"care", "audit", "status"}

# Room -> the rooms it may import, besides itself and the bottom layer.
ROOMS: dict[str, frozenset[str]] = {
    "model": BOTTOM,
    "errors": BOTTOM,
    "config": BOTTOM,
    "store": BOTTOM,
    "journal": BOTTOM | {"store"},
    "source": BOTTOM,
    "codec": BOTTOM,
    "shape": BOTTOM,
    "writer": BOTTOM | {"codec", "shape", "store"},
    "publish": BOTTOM | {"store", "journal"},
    "engine": _TO_PUBLISH,
    "disperse": BOTTOM | {"store", "journal", "engine"},
    "care": _TO_DISPERSE,
    "audit": BOTTOM | {"store", "journal", "source"},
    "status": BOTTOM | {"journal", "store", "audit"},
    "testing": _ALL_BUT_CLI,
    "demo": _ALL_BUT_CLI | {"testing"},
    "cli": _ALL_BUT_CLI | {"testing", "demo"},
    "__init__": BOTTOM,
    "__main__": frozenset({"cli"}),
}


@dataclass(frozen=True, slots=True)
class Rule:
    """Names that only some rooms may use, and the reason a reader is given."""

    names: tuple[str, ...]
    only_in: frozenset[str]
    why: str
    except_names: tuple[str, ...] = ()


_NOWHERE: frozenset[str] = frozenset()
_GIVEN_ITS_CLOCK = frozenset({"journal", "publish", "engine", "care"})

RULES = (
    Rule(
        names=("pyspark",),
        only_in=frozenset({"source", "engine", "disperse", "care", "testing"}),
        why="the protocol must run without a JVM",
    ),
    Rule(
        names=("pickle", "marshal", "eval", "exec", "builtins.eval", "builtins.exec", "yaml.load"),
        only_in=_NOWHERE,
        why="data must never become code",
    ),
    Rule(
        names=("os.environ", "os.environb", "os.getenv", "os.getenvb"),
        only_in=frozenset({"config", "cli"}),
        why="the environment is read in one place",
    ),
    Rule(
        names=(
            "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns", "time.sleep",
            "datetime.now", "datetime.datetime.now", "datetime.datetime.utcnow",
            "datetime.datetime.today", "datetime.date.today",
            "random", "secrets", "os.urandom", "uuid.uuid1", "uuid.uuid4",
        ),
        only_in=frozenset(ROOMS) - _GIVEN_ITS_CLOCK,
        why="clock, sleep and random arrive as arguments",
        # The type of such an argument; `import random` alone does nothing yet.
        except_names=("random", "random.Random"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One broken rule, printed as an editor would accept it."""

    path: PurePosixPath
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"src/penstock/{self.path}:{self.line}: {self.sentence}"


def faults(path: PurePosixPath, source: str) -> list[Fault]:
    """Return every fault of one module; `path` is relative to src/penstock."""
    room = path.parts[0].removesuffix(".py")
    if room not in ROOMS:
        return [Fault(path, 1, f"{room} is not a room; add it to ROOMS on purpose")]
    tree = ast.parse(source, filename=str(path))
    found = [*_misplaced(tree), *_borders(tree, room), *_forbidden(tree, room)]
    return sorted({Fault(path, line, sentence) for line, sentence in found})


def _misplaced(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Imports that are relative, or not at the top level of their module."""
    at_top = [*tree.body]
    for statement in tree.body:
        if isinstance(statement, ast.If) and _asks_for_type_checking(statement.test):
            at_top += statement.body
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.ImportFrom) and node.level:
            yield node.lineno, "relative import; write it from penstock on"
        if node not in at_top:
            yield node.lineno, "import below the top level of the module"


def _asks_for_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def _borders(tree: ast.Module, room: str) -> Iterator[tuple[int, str]]:
    """Imports of rooms that `room` may not know about; those for types count too."""
    for line, other in _rooms_imported(tree):
        if other not in ROOMS:
            yield line, f"imports {other}, which is not a room; add it to ROOMS on purpose"
        elif other not in ROOMS[room] | {room}:
            yield line, f"{room} may not import {other}"


def _rooms_imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name == "penstock":
                yield node.lineno, "the whole package"
            elif name.startswith("penstock.") and name != "penstock.__version__":
                yield node.lineno, name.split(".")[1]


def _forbidden(tree: ast.Module, room: str) -> Iterator[tuple[int, str]]:
    for use in uses(tree):
        for rule in RULES:
            if room in rule.only_in or use.name in rule.except_names:
                continue
            if any(reaches(use.name, name) for name in rule.names):
                yield use.line, f"{use.name} in {room}: {rule.why}"


def test_every_module_keeps_to_its_room() -> None:
    found = [
        fault
        for file in sorted(PACKAGE.rglob("*.py"))
        for fault in faults(
            PurePosixPath(file.relative_to(PACKAGE).as_posix()), file.read_text(encoding="utf-8")
        )
    ]
    assert not found, "\n" + "\n".join(map(str, found))


def test_every_folder_of_the_package_is_a_known_room() -> None:
    folders = {child.name for child in PACKAGE.iterdir() if child.is_dir()} - {"__pycache__"}
    modules = {child.stem for child in PACKAGE.glob("*.py")}
    assert folders | modules <= set(ROOMS)


def test_the_table_names_only_rooms_and_has_no_circle() -> None:
    """The bottom layer is one node here, since its two members may import each other."""
    assert all(allowed <= set(ROOMS) for allowed in ROOMS.values())
    above = {room: allowed - BOTTOM for room, allowed in ROOMS.items() if room not in BOTTOM}
    TopologicalSorter(above).prepare()


@pytest.mark.parametrize(
    ("path", "source", "sentence"),
    [
        (
            "journal/fold.py",
            "from penstock.engine.loop import run",
            "journal may not import engine",
        ),
        ("journal/fold.py", "from penstock import cli", "journal may not import cli"),
        ("model/range.py", "import penstock.store.local", "model may not import store"),
        ("testing/world.py", "from penstock.cli import main", "testing may not import cli"),
        ("store/local.py", "import penstock", "imports the whole package, which is not a room"),
        ("store/local.py", "import penstock.attic.box", "imports attic, which is not a room"),
        ("attic/box.py", "", "attic is not a room"),
        ("helpers.py", "", "helpers is not a room"),
        ("store/local.py", "from . import base", "relative import"),
        ("store/local.py", "def f():\n    import json", "below the top level"),
        ("store/local.py", "try:\n    import json\nexcept ImportError: ...", "below the top level"),
        (
            "store/local.py",
            "if TYPE_CHECKING:\n    from penstock.journal import Entry",
            "store may not import journal",
        ),
        ("journal/fold.py", "from pyspark.sql import SparkSession", "without a JVM"),
        ("codec/json.py", "import pickle as p", "pickle in codec"),
        ("codec/json.py", "from marshal import loads", "marshal.loads in codec"),
        ("codec/json.py", "eval('1')", "eval in codec"),
        ("codec/json.py", "exec('1')", "exec in codec"),
        ("config/file.py", "import yaml as y\ny.load(text)", "yaml.load in config"),
        ("store/s3.py", "import os\nhome = os.environ['HOME']", "os.environ in store"),
        ("store/s3.py", "from os import getenv", "os.getenv in store"),
        ("journal/claim.py", "import time\ntime.time()", "time.time in journal"),
        ("engine/loop.py", "from time import sleep as rest\nrest(1)", "time.sleep in engine"),
        ("engine/loop.py", "import time\ndef f(now=time.time): ...", "time.time in engine"),
        (
            "care/clean.py",
            "from datetime import datetime, UTC\ndatetime.now(UTC)",
            "datetime.datetime.now in care",
        ),
        (
            "care/clean.py",
            "import datetime as d\nd.datetime.now()",
            "datetime.datetime.now in care",
        ),
        ("publish/step.py", "import random\nrandom.random()", "random.random in publish"),
        ("publish/step.py", "from random import choice", "random.choice in publish"),
    ],
)
def test_the_checker_catches_a_planted_fault(path: str, source: str, sentence: str) -> None:
    found = faults(PurePosixPath(path), source)
    assert any(sentence in fault.sentence for fault in found), found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("journal/fold.py", "from penstock.journal.entry import Entry"),
        ("journal/fold.py", "from penstock.store import Store\nfrom penstock.errors import Gap"),
        ("model/range.py", "from penstock.errors import PenstockError"),
        ("errors.py", "from penstock.model import Outcome"),
        ("status/page.py", "from penstock import __version__"),
        ("store/local.py", "if TYPE_CHECKING:\n    from penstock.model import Key"),
        ("engine/loop.py", "from pyspark.sql import SparkSession"),
        ("engine/loop.py", "import random\ndef f(rng: random.Random): return rng.random()"),
        ("engine/loop.py", "def f(clock): return clock.time()"),
        ("config/file.py", "import os\nimport yaml\nos.environ\nyaml.safe_load('')"),
        ("codec/json.py", "model.eval()"),
        ("__main__.py", "from penstock.cli.main import main"),
    ],
)
def test_the_checker_lets_honest_code_pass(path: str, source: str) -> None:
    assert faults(PurePosixPath(path), source) == []
