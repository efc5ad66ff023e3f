"""Every `match` is closed: a value that nobody thought of is an error, not a silent pass.

Goal: a new kind of entry or a new step cannot be forgotten in one of the places that tell them
apart. mypy then names every place. Method: read the syntax trees; the last case of every `match`
must be `case _ as never: assert_never(never)`.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
END = "end it with `case _ as never: assert_never(never)`, so that mypy finds what is missing"


def open_matches(source: str) -> Iterator[str]:
    """What is wrong with the matches of one module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Match) and not _is_closed(node):
            yield f"line {node.lineno}: the match on `{ast.unparse(node.subject)}` is open; {END}"


def _is_closed(node: ast.Match) -> bool:
    last = ast.unparse(node.cases[-1])
    return last == "case _ as never:\n    assert_never(never)"


def test_every_match_is_closed() -> None:
    found = [
        f"{file.relative_to(PACKAGE)}: {complaint}"
        for file in sorted(PACKAGE.rglob("*.py"))
        for complaint in open_matches(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


FIRST = "match step:\n    case A():\n        do()\n"


@pytest.mark.parametrize(
    "last",
    [
        "",
        "    case _:\n        pass",
        "    case _:\n        delete()",
        "    case _ as never if x:\n        assert_never(never)",
        "    case B() as never:\n        assert_never(never)",
    ],
)
def test_an_open_match_is_noticed(last: str) -> None:
    assert any("is open" in complaint for complaint in open_matches(FIRST + last))


def test_a_closed_match_passes() -> None:
    assert list(open_matches(FIRST + "    case _ as never:\n        assert_never(never)")) == []
