"""Docstrings name modules, functions and files that are there.

A module that moves leaves its old name in the prose of others, where no type checker looks. Names
in backticks are read: paths of modules, dotted names, and names with an underscore; and what a
function says that it raises.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.doors import EVERY_DOOR
from tests.docs.file_names import is_there

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
IN_BACKTICKS = re.compile(r"`([^`\n]+)`")
DOTTED = re.compile(r"[a-z]\w*(?:\.\w+)+")
RAISED = re.compile(r"\b[Rr]aises? (?:an? )?`?([A-Z]\w*[a-z]\w*)")
SNAKE = re.compile(r"[a-z]\w*_\w+")
FILES = (".py", ".toml", ".yaml", ".lock")
# Dotted names and names with an underscore that are not code of ours: keys of configurations, of
# Kafka and of Spark, fields of records in examples, and variables of the environment.
OTHERS = frozenset(
    {
        "a.b", "bootstrap.servers", "by_country", "compression_type", "content.inputs",
        "content.records", "decode.format", "device.os", "device_os", "feeds.NAME",
        "feeds.events.on_gap", "feeds.events.window.every", "field_by_country", "http_proxy",
        "https_proxy", "penstock.yaml", "pyarrow.PythonFile", "sasl.jaas.config",
        "security.protocol", "spark.archives", "spark.jars.packages", "spark.local.dir",
        "spec.field", "user.ssn", "userid__2",
    }
)  # fmt: skip
GROUPS = {door.group for door in EVERY_DOOR}  # of entry points, such as `penstock.codecs`


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every docstring."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text


def identifiers(tree: ast.Module) -> Iterator[str]:
    """Every name that a module defines, uses or spells in a text, but for its docstrings."""
    prose = {line for line, _ in docstrings(tree)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.alias(name=name):
                yield name
            case ast.Constant(value=str(text), lineno=line) if line not in prose:
                yield from re.findall(r"\w+", text)
            case _:
                pass


class Names:
    """The modules of a package, and the names that occur in its code."""

    def __init__(self, package: Path) -> None:
        files = {file: ast.parse(file.read_text("utf-8")) for file in package.rglob("*.py")}
        self._paths = {
            ".".join(("penstock", *file.relative_to(package).with_suffix("").parts)): tree
            for file, tree in files.items()
        }
        self._words = {name for tree in files.values() for name in identifiers(tree)}
        self._words |= {part for path in self._paths for part in path.split(".")}

    def has_dotted(self, name: str) -> bool:
        """True for the end of a module's path, and for something at the top level of a module."""
        module, _, member = name.rpartition(".")
        if self._modules(name):
            return True
        return any(member in _top_level(self._paths[path]) for path in self._modules(module))

    def has_word(self, name: str) -> bool:
        """True for what the code calls something, somewhere."""
        return name in self._words

    def _modules(self, name: str) -> list[str]:
        return [path for path in self._paths if f".{path}".endswith(f".{name}")]


def _top_level(tree: ast.Module) -> set[str]:
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return defined | assigned


def stale(source: str, names: Names) -> list[str]:
    """Names in the docstrings of one module that nothing has."""
    found = []
    for line, text in docstrings(ast.parse(source)):
        for name in IN_BACKTICKS.findall(text):
            name = name.removesuffix("()")
            if name in OTHERS | GROUPS:
                continue
            if name.endswith(FILES):
                is_known = is_there(name)
            elif DOTTED.fullmatch(name):
                is_known = names.has_dotted(name)
            else:
                is_known = not SNAKE.fullmatch(name) or names.has_word(name)
            if not is_known:
                found.append(f"{line}: `{name}` is not there")
        for name in RAISED.findall(text):
            if not names.has_word(name):
                found.append(f"{line}: it raises {name}, which is not there")
    return found


def test_every_name_in_a_docstring_is_there() -> None:
    names = Names(PACKAGE)
    found = [
        f"{file.relative_to(ROOT)}:{each}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for each in stale(file.read_text(encoding="utf-8"), names)
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.fixture(scope="module")
def attic(tmp_path_factory: pytest.TempPathFactory) -> Names:
    """A package with one module in a room."""
    package = tmp_path_factory.mktemp("penstock")
    (package / "attic").mkdir()
    (package / "attic" / "box_lids.py").write_text(
        "WIDTH_MM = 3\ndef shut_lid(lid_no): raise LidStuck"
    )
    return Names(package)


@pytest.mark.parametrize(
    "words",
    [
        "See `attic.lids`.",
        "See `cellar.box_lids`.",
        "See `box_lids.open_lid`.",
        "See `penstock.attic.lids`.",
        "See `json_lanes`.",
        "Call `open_lid()`.",
        "See `attic/lids.py`.",
        "Raises Misfit.",
        "It is shut; raises a `Misfit`.",
    ],
)
@pytest.mark.parametrize("shape", ["'''{}'''", "def f():\n    '''{}'''", "class A:\n    '''{}'''"])
def test_a_planted_name_is_caught(attic: Names, words: str, shape: str) -> None:
    assert stale(shape.format(words), attic)


@pytest.mark.parametrize(
    "words",
    [
        "See `attic.box_lids`, `box_lids.shut_lid` and `penstock.attic.box_lids`.",
        "See `box_lids`, `shut_lid()`, `lid_no` and `box_lids.WIDTH_MM`.",
        "See `model/steps.py`, `pyproject.toml`, `penstock.codecs` and `bootstrap.servers`.",
        "See `a == b`, `Lid`, `lid` and `_rest`.",
        "Raises LidStuck. It raises a `LidStuck`. Raises EMPTY.",
    ],
)
def test_honest_names_pass(attic: Names, words: str) -> None:
    assert stale(f"'''{words}'''\nX = '`not_prose`'", attic) == []
