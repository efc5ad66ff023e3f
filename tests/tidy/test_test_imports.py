"""What several test modules share lies in a module of its own, which holds no tests.

Goal: a test can be moved, split or deleted without a look at the others, and unit tests do not load
brokers and Spark. Method: read every import of `tests` as a syntax tree. The modules of `make fuzz`
and `make certify` run tests: they may import a whole test module, and use only its tests.
"""

import ast
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tests.tidy.names import dotted

ROOT = Path(__file__).parents[2]
RUNNERS = ("tests/certify/", "tests/fuzz/")
WITHOUT_SERVERS = ("tests/unit/", "tests/property/", "tests/programs/", "tests/helpers/")
INTEGRATION = "tests.integration"


def complaints(path: str, source: str) -> list[str]:
    """What is wrong with the imports of one module; `path` is below the root."""
    tree = ast.parse(source)
    found = [*_test_modules(path, tree), *_servers(path, tree), *_borrowed(tree)]
    return [f"{path}:{line}: {sentence}" for line, sentence in sorted(set(found))]


def _own_imports(tree: ast.Module) -> Iterator[tuple[int, str, str | None]]:
    """Line, module and name of what is imported from `tests`; a whole module has no name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "tests":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                is_module = (ROOT / f"{whole.replace('.', '/')}.py").exists()
                if is_module or _is_test_module(whole):
                    yield node.lineno, whole, None
                else:
                    yield node.lineno, str(node.module), alias.name


def _is_test_module(module: str) -> bool:
    """True for `tests.unit.test_a`, and for the name `test_b` that is imported from a package."""
    return module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")


def _test_modules(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, module, name in _own_imports(tree):
        if _is_test_module(module) and (name is not None or not path.startswith(RUNNERS)):
            yield line, f"imports from {module}; move what is shared to tests/helpers/"


def _servers(path: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    for line, module, _ in _own_imports(tree):
        if path.startswith(WITHOUT_SERVERS) and f"{module}.".startswith(f"{INTEGRATION}."):
            yield line, f"imports {module}, which is for tests with servers"


def _borrowed(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Uses of an imported test module that are not tests."""
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if _is_test_module(f"{node.module}.{alias.name}")
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or dotted(node.value) not in modules:
            continue
        if not node.attr.startswith("test_"):
            yield node.lineno, f"{dotted(node)} is not a test; move it to tests/helpers/"


def test_no_module_imports_from_a_test_module_and_no_unit_test_needs_servers() -> None:
    found = [
        complaint
        for file in sorted((ROOT / "tests").rglob("*.py"))
        for complaint in complaints(file.relative_to(ROOT).as_posix(), file.read_text())
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source", "sentence"),
    [
        ("unit/test_b.py", "from tests.unit.test_a import LIMIT", "imports from tests.unit.test_a"),
        ("unit/test_b.py", "import tests.unit.test_a", "imports from tests.unit.test_a"),
        ("unit/test_b.py", "from tests.unit import test_a", "imports from tests.unit.test_a"),
        ("helpers/a.py", "from tests.unit.test_a import LIMIT", "move what is shared"),
        ("fuzz/__main__.py", "from tests.unit.test_a import LIMIT", "move what is shared"),
        (
            "certify/cases.py",
            "from tests.integration import test_a as a\na.LIMIT",
            "a.LIMIT is not a test",
        ),
        ("unit/test_b.py", "from tests.integration.lakes import T", "imports tests.integration"),
        ("unit/test_b.py", "from tests.integration import lakes", "imports tests.integration"),
        ("property/test_b.py", "import tests.integration.lakes", "imports tests.integration"),
        ("helpers/b.py", "def f():\n    import tests.integration", "imports tests.integration"),
    ],
)
def test_a_planted_import_is_caught(path: str, source: str, sentence: str) -> None:
    assert any(sentence in found for found in complaints(f"tests/{path}", source))


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("unit/test_b.py", "from tests.helpers.journals import begun"),
        ("unit/test_b.py", "from penstock.testing import test_data"),
        ("integration/test_b.py", "from tests.integration.lakes import run_once"),
        ("certify/cases.py", "from tests.integration import test_a\ntest_a.test_one()"),
        ("fuzz/__main__.py", "from tests.property import test_a as a\nMODULES = (a,)"),
    ],
)
def test_honest_imports_pass(path: str, source: str) -> None:
    assert complaints(str(PurePosixPath("tests", path)), source) == []
