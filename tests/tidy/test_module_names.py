"""A module's name says which module is meant, and a folder says what it is for.

Names are unique in the package, or the glossary lists them as names that recur, with the reason.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
HEADING = "## Module names that recur"
NOT_NAMES = {"__init__", "__main__"}
COMMANDS = "cli/commands"  # its modules are named after the commands
BORDER = re.compile(r"\bmust not\b|\bnor\b|\bdoes not belong\b")


def recurring(paths: Iterable[str]) -> dict[str, list[str]]:
    """Names that several modules have, with the paths of those."""
    found = defaultdict(list)
    for path in map(PurePosixPath, paths):
        if path.stem not in NOT_NAMES and str(path.parent) != COMMANDS:
            found[path.stem].append(str(path))
    return {name: places for name, places in found.items() if len(places) > 1}


def explained(glossary: str) -> set[str]:
    """The names under the heading of the glossary; each line begins with those it explains."""
    _, _, section = glossary.partition(f"{HEADING}\n")
    lines = re.findall(r"^- ((?:`\w+`(?:, )?)+):", section.partition("\n## ")[0], re.MULTILINE)
    return {name for line in lines for name in re.findall(r"`(\w+)`", line)}


def name_complaints(paths: Iterable[str], glossary: str) -> list[str]:
    """What recurs without an explanation, and explanations of what does not recur."""
    doubled, known = recurring(paths), explained(glossary)
    missing = [
        f"{name} is the name of {', '.join(places)}; rename one, or explain it in docs/glossary.md"
        for name, places in sorted(doubled.items())
        if name not in known
    ]
    return missing + [f"{name} does not recur any more" for name in sorted(known - set(doubled))]


def border_complaint(path: str, source: str) -> str | None:
    """What an `__init__.py` fails to say about its room."""
    words = ast.get_docstring(ast.parse(source)) or ""
    if not BORDER.search(words):
        return f"{path} does not say what the room must not do"
    if len(re.findall(r"\.(?=\s|$)", words)) > 4:
        return f"{path} takes more than a few sentences"
    return None


def test_module_names_are_unique_or_explained() -> None:
    paths = [file.relative_to(PACKAGE).as_posix() for file in PACKAGE.rglob("*.py")]
    assert name_complaints(sorted(paths), (ROOT / "docs/glossary.md").read_text()) == []


def test_every_room_says_what_it_must_not_do() -> None:
    found = [
        border_complaint(file.relative_to(PACKAGE).as_posix(), file.read_text())
        for file in sorted(PACKAGE.rglob("__init__.py"))
        if file.parent != PACKAGE
    ]
    assert [each for each in found if each] == []


GLOSSARY = f"# Glossary\n\n`loose`\n\n{HEADING}\n\n- `codec`, `columns`: by format.\n- `tree`: x.\n"


@pytest.mark.parametrize(
    ("paths", "complaint"),
    [
        (["a/fold.py", "b/fold.py"], "fold is the name of a/fold.py, b/fold.py"),
        (["a/loose.py", "b/loose.py"], "loose is the name of"),
        ([], "codec does not recur any more"),
    ],
)
def test_a_planted_name_is_caught(paths: list[str], complaint: str) -> None:
    assert any(complaint in found for found in name_complaints(paths, GLOSSARY))


def test_names_that_recur_for_a_reason_pass() -> None:
    paths = ["a/codec.py", "b/codec.py", "a/columns.py", "b/columns.py", "a/tree.py", "b/tree.py"]
    commands = ["cli/commands/schema.py", "model/schema.py", "a/__init__.py", "b/__init__.py"]
    assert name_complaints([*paths, *commands], GLOSSARY) == []


@pytest.mark.parametrize(
    "source",
    ["", "'''Boxes.'''", "'''Boxes.'''\nx = 'must not'", "'''It must not. A. B. C. D.'''"],
)
def test_a_room_without_a_border_is_caught(source: str) -> None:
    assert border_complaint("attic/__init__.py", source)


def test_a_room_with_a_border_passes() -> None:
    assert border_complaint("attic/__init__.py", "'''Boxes.\n\nIt must not open them.'''") is None
