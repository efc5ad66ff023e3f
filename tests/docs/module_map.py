"""The map of all modules, made of their own first sentences: `python -m tests.docs.module_map`.

A map that is written by hand goes out of date. This one repeats what each module says of itself,
so a wrong line is mended in the module.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
PAGE = ROOT / "docs" / "map.md"
HEAD = """\
# Map

Every room of `src/penstock` and every module in it, in the words of its own first sentence. Made by
`python -m tests.docs.module_map`; a test compares it with the tree.
[ARCHITECTURE.md](../ARCHITECTURE.md) says where to start reading.
"""


def page(package: Path = PACKAGE) -> str:
    """The whole page."""
    rooms = sorted({file.parent for file in package.rglob("*.py")})
    return "\n".join([HEAD, *(line for room in rooms for line in _room(room, package))])


def _room(room: Path, package: Path) -> Iterator[str]:
    """A heading, what the room does and must not do, and a line for each module."""
    name = room.relative_to(package).as_posix()
    yield f"## `{name}/`\n" if name != "." else "## `penstock`\n"
    about = _docstring(room / "__init__.py")
    yield f"{about}\n"
    modules = [file for file in sorted(room.glob("*.py")) if file.name != "__init__.py"]
    for module in modules:
        yield f"- `{module.name}`: {_first_sentence(module)}"
    if modules:
        yield ""


def _docstring(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""


def _first_sentence(module: Path) -> str:
    return " ".join(_docstring(module).split("\n\n")[0].split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
