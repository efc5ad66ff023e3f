"""ARCHITECTURE.md is read in one sitting, and it and the protocol name methods that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_LINES = 250
METHOD = re.compile(r"`([A-Z][a-z]\w*\.[a-z_]\w*)`")


def methods(*folders: Path) -> set[str]:
    """Every method of every class, as pages write it: `Owner.plan`."""
    return {
        f"{owner.name}.{member.name}"
        for folder in folders
        for file in folder.rglob("*.py")
        for owner in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(owner, ast.ClassDef)
        for member in owner.body
        if isinstance(member, ast.FunctionDef)
    }


def gone(page: str, known: set[str]) -> list[str]:
    """Methods that a page names and no class has."""
    return sorted(set(METHOD.findall(page)) - known)


def test_the_architecture_is_short_enough_for_one_sitting() -> None:
    lines = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "docs/protocol.md"])
def test_every_method_that_the_page_names_is_there(name: str) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert METHOD.findall(page)
    assert gone(page, methods(ROOT / "src" / "penstock", ROOT / "tests" / "simulator")) == []


def test_a_planted_method_is_caught(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("class Owner:\n    def plan(self): ...\ndef stage(): ...")
    page = "`Owner.plan` calls `Owner.stage`, `plan.py` and `a.b`; `Source.plan` is gone."
    assert gone(page, methods(tmp_path)) == ["Owner.stage", "Source.plan"]
