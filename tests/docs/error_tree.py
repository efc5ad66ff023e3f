"""The tree of all errors, as it stands in docs/errors.md: `python -m tests.docs.error_tree`.

Run it after adding an error; it writes the block between the two marks of the page again.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from penstock.errors import PenstockError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"
BEGIN, END = "<!-- errors: made by tests/docs/error_tree.py -->", "<!-- end of errors -->"
_BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", re.DOTALL)


def load_all() -> None:
    """Import every module, wherever it defines its errors."""
    for module in sorted((ROOT / "src" / "penstock").rglob("*.py")):
        if module.stem != "__main__":
            import_module(".".join(module.relative_to(ROOT / "src").with_suffix("").parts))


def error_tree() -> str:
    """All errors of all rooms below their bases, with their codes and where they are defined."""
    load_all()
    return "\n".join(_lines(PenstockError, 0))


def _lines(error: type[PenstockError], depth: int) -> Iterator[str]:
    room = error.__module__.removeprefix("penstock.").replace(".", "/")
    name = f"{'  ' * depth}{error.__name__}"
    code = vars(error).get("code", "-")  # a base that is never raised may have none of its own
    yield f"{name:<34} {code:<26} {room}.py"
    for child in sorted(error.__subclasses__(), key=lambda each: each.__name__):
        if child.__module__.startswith("penstock."):  # not those that a test has defined
            yield from _lines(child, depth + 1)


def with_tree(page: str) -> str:
    """The page with the tree of today."""
    block = f"{BEGIN}\n```text\n{error_tree()}\n```\n{END}\n"
    changed, count = _BLOCK.subn(lambda _: block, page)
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for the tree of errors")
    return changed


if __name__ == "__main__":
    PAGE.write_text(with_tree(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
