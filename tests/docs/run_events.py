"""The events of a run as the code has them, and names in tables of pages: for tests of pages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
# Which argument is the name of the event, by what is called.
_TELLS = {"Event": 1, "say": 0, "warn": 0}


def events_in_code() -> set[str]:
    """Every name that an event of a run may have."""
    own = [
        PACKAGE / "cli" / name for name in ("run_output.py", "waiting_feeds.py", "commands/run.py")
    ]
    files = [*(PACKAGE / "feeds").glob("*.py"), *own]
    return {name for file in files for name in _events(ast.parse(file.read_text("utf-8")))}


def _events(tree: ast.Module) -> Iterator[str]:
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        named = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if not isinstance(node, ast.Call):
                continue
            at = _TELLS.get(_called(node.func))
            if at is not None and len(node.args) > 1:
                name = node.args[at]
                yield from _texts(named.get(name.id) if isinstance(name, ast.Name) else name)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _texts(value: ast.expr | None) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(value, ast.IfExp):
        yield from (*_texts(value.body), *_texts(value.orelse))
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value


def first_cells(page: str) -> set[str]:
    """The names in the first column of the tables."""
    return set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
