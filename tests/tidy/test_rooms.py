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

_SEAMS = BOTTOM | {"api", "runtime"}
_PROTOCOL = frozenset({"protocol/journal", "protocol/publish", "protocol/loop"})
_SHAPE = frozenset(
    f"datapath/shape/{name}" for name in ("event_time", "plugins", "route", "convert")
)
_FORMATS_OF_RECORDS = frozenset(
    f"datapath/codec/{name}" for name in ("json", "avro", "protobuf", "msgpack", "text", "raw")
)
_CODECS = _FORMATS_OF_RECORDS | {"datapath/codec", "datapath/codec/shared"}
_ON_EXECUTORS = _SHAPE | _CODECS | {"datapath/formats", "datapath/stage"}
_DATAPATH = _ON_EXECUTORS | {"datapath/schemas"}
_PORTS = frozenset({"ports/store", "ports/source", "ports/source/kafka", "ports/registry"})
# Who runs feeds and cares for lakes knows sources and parallel work by their protocols only.
_TO_FEEDS = (
    _SEAMS
    | _PROTOCOL
    | _DATAPATH
    | {"datapath/driver", "ports/store", "ports/registry", "evidence"}
)
_ALL_BUT_CLI = (
    _TO_FEEDS | _PORTS | {"spark", "feeds", "care", "audit", "status", "charts", "config"}
)

# Room -> the rooms it may import, besides itself and the bottom layer. A module belongs to the
# room with the longest matching path.
ROOMS: dict[str, frozenset[str]] = {
    "model": BOTTOM,
    "model/converter": BOTTOM | {"api"},  # the former place of what plug-ins import
    "errors": BOTTOM,
    "api": BOTTOM,
    "runtime": BOTTOM,
    "evidence": BOTTOM,
    "config": BOTTOM | {"api"},
    "charts": BOTTOM,
    "ports": BOTTOM,
    "ports/store": _SEAMS,
    "ports/store/local": _SEAMS | {"ports/store"},
    "ports/registry": _SEAMS,
    "ports/source": _SEAMS | {"evidence"},
    "ports/source/kafka": _SEAMS | {"ports/source", "evidence", "spark"},
    "protocol": BOTTOM,
    "protocol/journal": _SEAMS | {"ports/store", "evidence"},
    "protocol/publish": _SEAMS | {"ports/store", "protocol/journal"},
    "protocol/loop": _SEAMS | _PROTOCOL | {"ports/store", "evidence"},
    "datapath": BOTTOM,
    "datapath/codec": BOTTOM | {"api", "datapath/codec/shared"} | _FORMATS_OF_RECORDS,
    "datapath/codec/shared": BOTTOM | {"api"},
    "datapath/codec/json": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/avro": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/protobuf": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/msgpack": BOTTOM | {"api", "datapath/codec/shared", "datapath/codec/json"},
    "datapath/codec/text": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/codec/raw": BOTTOM | {"api", "datapath/codec/shared"},
    "datapath/formats": BOTTOM | {"api"},
    "datapath/shape": BOTTOM,
    "datapath/shape/event_time": BOTTOM,
    "datapath/shape/plugins": BOTTOM | {"api"},
    "datapath/shape/route": BOTTOM | {"api", "datapath/shape/event_time", "datapath/shape/plugins"},
    "datapath/shape/convert": BOTTOM | {"api", "datapath/shape/plugins"},
    "datapath/stage": _SEAMS | _ON_EXECUTORS | {"ports/store", "evidence"},
    "datapath/schemas": _SEAMS | _DATAPATH | {"ports/store", "ports/registry"},
    "datapath/driver": _SEAMS | _DATAPATH | {"ports/store", "ports/registry"},
    "spark": _SEAMS | {"config"},
    "feeds": _TO_FEEDS,
    "care": _TO_FEEDS,
    "audit": _SEAMS
    | {"ports/store", "ports/source", "protocol/journal", "evidence", "datapath/formats"},
    "status": _SEAMS | {"ports/store", "protocol/journal", "audit"},
    "testing": _ALL_BUT_CLI | {"ports/store/local"},
    "testing/contracts": _ALL_BUT_CLI | {"testing"},
    "demo": _ALL_BUT_CLI | {"testing"},
    "cli": _ALL_BUT_CLI | {"testing", "demo", "cli/commands"},
    "cli/commands": _ALL_BUT_CLI | {"testing", "demo", "cli"},
    "__init__": BOTTOM,
    "__main__": frozenset({"cli"}),
}

# Two rooms that are one: the commands, and what they share.
_ONE = frozenset({"cli", "cli/commands"})


def room_of(path: str) -> str | None:
    """The room of a module or package, such as `protocol/journal/fold`; the longest match."""
    parts = path.removesuffix(".py").split("/")
    names = ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((name for name in names if name in ROOMS), None)


@dataclass(frozen=True, slots=True)
class Rule:
    """Names that only some rooms may use, and the reason a reader is given."""

    names: tuple[str, ...]
    only_in: frozenset[str]
    why: str
    except_names: tuple[str, ...] = ()


_NOWHERE: frozenset[str] = frozenset()
_GIVEN_ITS_CLOCK = (_PROTOCOL | _DATAPATH | {"datapath/driver", "feeds", "care"}) - {
    "datapath/stage"
}

RULES = (
    Rule(
        names=("pyspark",),
        only_in=frozenset({"ports/source/kafka", "spark", "testing"}),
        why="the protocol must run without a JVM",
    ),
    Rule(
        names=("pickle", "marshal", "eval", "exec", "builtins.eval", "builtins.exec", "yaml.load"),
        only_in=_NOWHERE,
        why="data must never become code",
    ),
    Rule(
        names=("os.environ", "os.environb", "os.getenv", "os.getenvb"),
        only_in=frozenset({"config", "cli", "cli/commands"}),
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


_NO_ROOM = " is not a room; add it to ROOMS on purpose"


def faults(path: PurePosixPath, source: str) -> list[Fault]:
    """Return every fault of one module; `path` is relative to src/penstock."""
    room = room_of(str(path))
    if room is None:
        return [
            Fault(
                path,
                1,
                f"{path.parts[0].removesuffix('.py')} is not a room; add it to ROOMS on purpose",
            )
        ]
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
    for line, name in _own_imports(tree):
        other = room_of(name.replace(".", "/"))
        if other is None:
            yield (
                line,
                f"imports {name.split('.')[0]}, which{_NO_ROOM}",
            )
        elif other not in ROOMS[room] | {room}:
            yield line, f"{room} may not import {other}"


def _own_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
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
                yield node.lineno, name.removeprefix("penstock.")


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
    """A folder below a room may belong to it; a module without any room of its own may not be."""
    folders = {child.name for child in PACKAGE.iterdir() if child.is_dir()} - {"__pycache__"}
    modules = {child.stem for child in PACKAGE.glob("*.py")}
    assert folders | modules <= set(ROOMS)
    gone = [room for room in ROOMS if not _exists(PACKAGE / room)]
    assert gone == []


def _exists(room: Path) -> bool:
    return room.is_dir() or room.with_suffix(".py").is_file()


def test_the_table_names_only_rooms_and_has_no_circle() -> None:
    """The bottom layer is one node here, since its two members may import each other.

    So are the commands and what they share.
    """
    assert all(allowed <= set(ROOMS) for allowed in ROOMS.values())
    above = {
        room: allowed - BOTTOM - {room} - (_ONE if room in _ONE else set())
        for room, allowed in ROOMS.items()
        if room not in BOTTOM
    }
    TopologicalSorter(above).prepare()


@pytest.mark.parametrize(
    ("path", "source", "sentence"),
    [
        (
            "protocol/journal/fold.py",
            "from penstock.protocol.loop.owner import Owner",
            "protocol/journal may not import protocol/loop",
        ),
        (
            "protocol/journal/fold.py",
            "from penstock import cli",
            "protocol/journal may not import cli",
        ),
        (
            "model/range.py",
            "import penstock.ports.store.local.local_store",
            "model may not import ports/store/local",
        ),
        ("testing/world.py", "from penstock.cli import main", "testing may not import cli"),
        (
            "ports/store/local/local_store.py",
            "import penstock",
            "imports the whole package, which is not a room",
        ),
        (
            "ports/store/local/local_store.py",
            "import penstock.attic.box",
            "imports attic, which is not a room",
        ),
        ("attic/box.py", "", "attic is not a room"),
        ("helpers.py", "", "helpers is not a room"),
        ("ports/store/local/local_store.py", "from . import base", "relative import"),
        ("ports/store/local/local_store.py", "def f():\n    import json", "below the top level"),
        (
            "ports/store/local/local_store.py",
            "try:\n    import json\nexcept ImportError: ...",
            "below the top level",
        ),
        (
            "ports/store/local/local_store.py",
            "if TYPE_CHECKING:\n    from penstock.protocol.journal import Entry",
            "ports/store/local may not import protocol/journal",
        ),
        (
            "protocol/journal/fold.py",
            "from penstock.ports.store.local.local_store import LocalStore",
            "protocol/journal may not import ports/store/local",
        ),
        (
            "feeds/runner.py",
            "from penstock.ports.store.local.local_store import LocalStore",
            "feeds may not import ports/store/local",
        ),
        (
            "datapath/stage/task.py",
            "from penstock.datapath.schemas.learning import Learning",
            "datapath/stage may not import datapath/schemas",
        ),
        (
            "datapath/codec/shared/cursors.py",
            "from penstock.datapath.codec.json.payload import fault_of",
            "datapath/codec/shared may not import datapath/codec/json",
        ),
        (
            "datapath/codec/json/codec.py",
            "from penstock.datapath.codec.avro.schema import from_avro",
            "datapath/codec/json may not import datapath/codec/avro",
        ),
        (
            "datapath/codec/protobuf/reference.py",
            "from penstock.datapath.codec.avro.reference import TRUNCATED",
            "datapath/codec/protobuf may not import datapath/codec/avro",
        ),
        (
            "datapath/codec/text/codec.py",
            "from penstock.datapath.codec.json.payload import fault_of",
            "datapath/codec/text may not import datapath/codec/json",
        ),
        (
            "datapath/codec/raw/codec.py",
            "from penstock.datapath.codec import codecs",
            "datapath/codec/raw may not import datapath/codec",
        ),
        (
            "datapath/schemas/learning.py",
            "import time\ntime.sleep(1)",
            "time.sleep in datapath/schemas",
        ),
        ("datapath/stage/task.py", "from pyspark.sql import SparkSession", "without a JVM"),
        ("protocol/journal/fold.py", "from pyspark.sql import SparkSession", "without a JVM"),
        ("feeds/running_feed.py", "from pyspark.sql import SparkSession", "without a JVM"),
        (
            "feeds/running_feed.py",
            "from penstock.ports.source.kafka.admin import KafkaAdmin",
            "feeds may not import ports/source/kafka",
        ),
        (
            "datapath/stage/task.py",
            "from penstock.datapath.driver.stager import Stager",
            "datapath/stage may not import datapath/driver",
        ),
        ("datapath/codec/json/codec.py", "import pickle as p", "pickle in datapath/codec"),
        (
            "datapath/codec/json/codec.py",
            "from marshal import loads",
            "marshal.loads in datapath/codec",
        ),
        ("datapath/codec/json/codec.py", "eval('1')", "eval in datapath/codec"),
        ("datapath/codec/json/codec.py", "exec('1')", "exec in datapath/codec"),
        ("config/file.py", "import yaml as y\ny.load(text)", "yaml.load in config"),
        (
            "ports/store/s3/store.py",
            "import os\nhome = os.environ['HOME']",
            "os.environ in ports/store",
        ),
        ("ports/store/s3/store.py", "from os import getenv", "os.getenv in ports/store"),
        ("protocol/journal/claim.py", "import time\ntime.time()", "time.time in protocol/journal"),
        (
            "protocol/loop/owner.py",
            "from time import sleep as rest\nrest(1)",
            "time.sleep in protocol/loop",
        ),
        (
            "protocol/loop/owner.py",
            "import time\ndef f(now=time.time): ...",
            "time.time in protocol/loop",
        ),
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
        (
            "protocol/publish/step.py",
            "import random\nrandom.random()",
            "random.random in protocol/publish",
        ),
        (
            "protocol/publish/step.py",
            "from random import choice",
            "random.choice in protocol/publish",
        ),
    ],
)
def test_the_checker_catches_a_planted_fault(path: str, source: str, sentence: str) -> None:
    found = faults(PurePosixPath(path), source)
    assert any(sentence in fault.sentence for fault in found), found


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("protocol/journal/fold.py", "from penstock.protocol.journal.entry import Entry"),
        (
            "protocol/journal/fold.py",
            "from penstock.api.store import Store\nfrom penstock.errors import Gap",
        ),
        ("model/range.py", "from penstock.errors import PenstockError"),
        ("errors.py", "from penstock.model import Outcome"),
        ("status/page.py", "from penstock import __version__"),
        (
            "ports/store/local/local_store.py",
            "if TYPE_CHECKING:\n    from penstock.model import Key",
        ),
        ("datapath/codec/msgpack/codec.py", "from penstock.datapath.codec.json import payload"),
        ("spark/session.py", "from pyspark.sql import SparkSession"),
        ("protocol/loop/owner.py", "import random\ndef f(rng: random.Random): return rng.random()"),
        ("protocol/loop/owner.py", "def f(clock): return clock.time()"),
        ("config/file.py", "import os\nimport yaml\nos.environ\nyaml.safe_load('')"),
        ("datapath/codec/json/codec.py", "model.eval()"),
        ("__main__.py", "from penstock.cli.main import main"),
    ],
)
def test_the_checker_lets_honest_code_pass(path: str, source: str) -> None:
    assert faults(PurePosixPath(path), source) == []
