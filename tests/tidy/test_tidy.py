"""The habits of the house that a machine can check; CONTRIBUTING.md gives the reasons."""

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import penstock
from tests.tidy.names import reaches, uses

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 450
LONGEST_FUNCTION = 60
MOST_PARAMETERS = 8

# Spelled in pieces, since this file is searched as well.
REGISTRY_HOSTS = [
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("maven", "org"),
        ("maven", "apache", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("anaconda", "org"),
        ("crates", "io"),
    )
]
FOREIGN = re.compile(
    "|".join([*map(re.escape, REGISTRY_HOSTS), r"(?<![\w.-])/(?:work|root)(?=/)"]),
    flags=re.IGNORECASE,
)

SKIPS = (
    "pytest.mark.skip",
    "pytest.mark.skipif",
    "pytest.mark.xfail",
    "pytest.skip",
    "pytest.xfail",
    "pytest.importorskip",
    "unittest.skip",
    "unittest.skipIf",
    "unittest.skipUnless",
    "unittest.expectedFailure",
)

Check = Callable[[str], Iterator[str]]


def test_no_module_or_function_outgrows_its_reader() -> None:
    assert _complaints("src", _too_big) == []


def test_every_module_and_public_class_says_what_it_is() -> None:
    assert _complaints("src", _undocumented) == []


def test_init_modules_only_export() -> None:
    assert _complaints("src", _more_than_exports, pattern="__init__.py") == []


def test_no_test_is_skipped_or_expected_to_fail() -> None:
    assert _complaints("tests", _skipped) == []


def test_no_unit_test_searches_with_hypothesis() -> None:
    assert _complaints("tests/unit", _searches) == []


def test_no_file_names_a_registry_host_or_a_path_of_one_machine() -> None:
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in _project_files()
        for number, line in enumerate(_text(file).splitlines(), start=1)
        if FOREIGN.search(line)
    ]
    assert found == []


def test_make_help_lists_every_target_the_readme_names() -> None:
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    targets = {line.split()[0] for line in listed.splitlines() if line.strip()}
    assert _make_targets(_text(ROOT / "README.md")) - targets == set()


def test_the_package_and_its_metadata_agree_on_the_version() -> None:
    metadata = tomllib.loads(_text(ROOT / "pyproject.toml"))
    assert metadata["project"]["version"] == penstock.__version__


@pytest.mark.parametrize(
    ("check", "source", "complaint"),
    [
        ("_too_big", "\n" * 500, "500 lines"),
        ("_too_big", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
        ("_too_big", "def f(a, b, c, d, e, /, g, *h, i, **j): ...", "f has 9 parameters"),
        ("_undocumented", "x = 1", "the module has no docstring"),
        ("_undocumented", "'''M.'''\nclass Open: ...", "Open has no docstring"),
        ("_more_than_exports", "'''M.'''\nimport os\nx = 1", "line 3"),
        ("_skipped", "import pytest\n@pytest.mark.skip\ndef f(): ...", "pytest.mark.skip"),
        ("_skipped", "from pytest import importorskip as i\ni('x')", "pytest.importorskip"),
        ("_searches", "from hypothesis import given", "tests/property"),
        ("_searches", "import hypothesis.strategies as st", "tests/property"),
        ("_searches", "from tests.property.model.test_names import names", "tests/property"),
    ],
)
def test_each_check_catches_a_planted_fault(check: str, source: str, complaint: str) -> None:
    assert any(complaint in found for found in CHECKS[check](source))


@pytest.mark.parametrize(
    ("check", "source"),
    [
        ("_too_big", "class A:\n    def f(self, a, b, c, d, e, g, h, i): ..."),
        ("_undocumented", "'''M.'''\nclass _Hidden: ..."),
        ("_more_than_exports", "'''M.'''\nfrom a import b\n__all__ = ['b']\n__version__ = '1'"),
        ("_skipped", "import pytest\nwith pytest.raises(ValueError): ..."),
        ("_searches", "from tests.helpers.journals import a_room"),
    ],
)
def test_each_check_lets_honest_code_pass(check: str, source: str) -> None:
    assert list(CHECKS[check](source)) == []


def test_a_host_or_a_machine_path_is_recognised_and_a_relative_path_is_not() -> None:
    assert FOREIGN.search("https://files." + REGISTRY_HOSTS[1] + "/x")
    assert FOREIGN.search("cd /" + "root/x")
    assert FOREIGN.search("file:///" + "work/x")
    assert not FOREIGN.search("spark/work/x, /workers/x, docs/root/x")


def test_make_targets_are_read_from_code_and_not_from_prose() -> None:
    page = "To make sure, run `make test`.\n```sh\ngit clone x && make demo\n```\nmake haste"
    assert _make_targets(page) == {"test", "demo"}


def _too_big(source: str) -> Iterator[str]:
    lines = len(source.splitlines())
    if lines > LONGEST_FILE:
        yield f"{lines} lines; at most {LONGEST_FILE}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > LONGEST_FUNCTION:
                yield f"{node.name} has {length} lines; at most {LONGEST_FUNCTION}"
            count = _parameters(node.args)
            if count > MOST_PARAMETERS:
                yield f"{node.name} has {count} parameters; at most {MOST_PARAMETERS}"


def _parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    count = len(named) + (arguments.vararg is not None) + (arguments.kwarg is not None)
    return count - (bool(named) and named[0].arg in {"self", "cls"})


def _undocumented(source: str) -> Iterator[str]:
    tree = ast.parse(source)
    if ast.get_docstring(tree) is None:
        yield "the module has no docstring"
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for node in classes:
        if not node.name.startswith("_") and ast.get_docstring(node) is None:
            yield f"{node.name} has no docstring"


def _more_than_exports(source: str) -> Iterator[str]:
    body = ast.parse(source).body
    for position, node in enumerate(body):
        is_docstring = position == 0 and isinstance(node, ast.Expr)
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        is_dunder = isinstance(node, ast.Assign | ast.AnnAssign) and _assigns_only(
            node, {"__all__", "__version__"}
        )
        if not (is_docstring or is_import or is_dunder):
            yield f"line {node.lineno} is neither docstring, import, __all__ nor __version__"


def _assigns_only(node: ast.Assign | ast.AnnAssign, names: set[str]) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {ast.unparse(target) for target in targets} <= names


def _skipped(source: str) -> Iterator[str]:
    for use in uses(ast.parse(source)):
        if any(reaches(use.name, name) for name in SKIPS):
            yield f"line {use.line} uses {use.name}"


def _searches(source: str) -> Iterator[str]:
    """Hypothesis takes a second per test and more; `make unit` stays quick without it."""
    for use in uses(ast.parse(source)):
        if reaches(use.name, "hypothesis") or reaches(use.name, "tests.property"):
            yield f"line {use.line} uses {use.name}; such tests belong in tests/property"


CHECKS = {
    check.__name__: check
    for check in (_too_big, _undocumented, _more_than_exports, _skipped, _searches)
}


def _complaints(folder: str, check: Check, pattern: str = "*.py") -> list[str]:
    return [
        f"{file.relative_to(ROOT)}: {complaint}"
        for file in sorted((ROOT / folder).rglob(pattern))
        for complaint in check(_text(file))
    ]


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _make_targets(page: str) -> set[str]:
    code = re.findall(r"```.*?```|`[^`\n]+`", page, flags=re.DOTALL)
    return {target for piece in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", piece)}


def _project_files() -> list[Path]:
    """Files that git tracks or would track. Outside a git checkout: all but hidden folders."""
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listing.returncode == 0:
        files = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        folders = [child for child in ROOT.iterdir() if not child.name.startswith(".")]
        files = [file for folder in folders for file in [folder, *folder.rglob("*")]]
    return sorted({file for file in files if file.is_file() and "__pycache__" not in file.parts})
