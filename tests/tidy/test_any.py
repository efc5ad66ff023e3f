"""No `Any` on the data path without a reason beside it.

Goal: a batch, a column and a list are told apart by the type checker. What only run time knows gets
a named alias, once, with the reason. Method: read the syntax trees; each `Any` needs a comment
`# Any: <reason>` in its line or in the line above, and each such comment needs an `Any`.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA_PATH = Path(__file__).parents[2] / "src" / "penstock" / "datapath"
REASON = re.compile(r"#\s*Any:\s*\S")
ADVICE = "name the type, or say why with `# Any: <reason>` in this line or above it"


def faults(source: str) -> list[str]:
    """What is wrong with the uses of `Any` in one module."""
    used, reasons = {*_uses(ast.parse(source))}, {*_reasons(source)}
    bare, idle = sorted(used - reasons), sorted(reasons - used)
    return [
        *(f"line {line}: Any without a reason; {ADVICE}" for line in bare),
        *(f"line {line}: a reason for an Any that is not there" for line in idle),
    ]


def _uses(tree: ast.AST) -> Iterator[int]:
    """The lines with an `Any`: as a name, of a module, under another name, or inside a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "Any":
            yield node.lineno
        elif isinstance(node, ast.Attribute) and node.attr == "Any":
            yield node.end_lineno or node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module in {"typing", "typing_extensions"}:
            yield from (each.lineno for each in node.names if each.name == "Any" and each.asname)
        else:
            yield from _in_texts(node)


def _in_texts(node: ast.AST) -> Iterator[int]:
    """The lines of annotations and casts that are texts, and name it there."""
    marks = {"annotation", "returns"} & {*node._fields}
    typed = [getattr(node, name) for name in marks]
    if isinstance(node, ast.AnnAssign):
        typed.append(node.value)  # an alias may be a text
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"cast", "typing.cast"}:
        typed += node.args[:1]
    for part in (each for some in typed if some is not None for each in ast.walk(some)):
        if isinstance(part, ast.Constant) and re.search(r"\bAny\b", str(part.value)):
            yield part.lineno


def _reasons(source: str) -> Iterator[int]:
    """The lines that have a reason: their own, or that of a comment alone in the line above."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and REASON.match(token.string):
            is_alone = token.line.lstrip().startswith("#")
            yield token.start[0] + is_alone


def test_every_any_of_the_data_path_has_a_reason() -> None:
    found = [
        f"{file.relative_to(DATA_PATH)}: {fault}"
        for file in sorted(DATA_PATH.rglob("*.py"))
        for fault in faults(file.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    "source",
    [
        "def take(batch: Any) -> None: ...",
        "def take(batch) -> list[Any]: ...",
        "def take(*parts: Any, **named: int) -> None: ...",
        "rows: dict[str, Any] = {}",
        "Column = Sequence[Any] | Array",
        "Column: TypeAlias = 'Sequence[Any]'",
        "class Piece:\n    columns: Any",
        "def take(batch: 'list[Any]') -> None: ...",
        "def take(batch: typing.Any) -> None: ...",
        "from typing import Any as Thing",
        "found = cast('list[Any]', values)",
        "x = 1  # Any: of another line\nrows: Any = x",
        "# Any: too early\n\nrows: Any = x",
        "rows: Any = x\n# Any: too late",
        "rows: Any = x  # Any:",
        "rows: Any = x  # anything goes",
        "text = '# Any: not a comment'\nrows: Any = x",
        "rows = x  # Any: nothing needs this",
    ],
)
def test_a_planted_any_is_found(source: str) -> None:
    assert faults(source)


@pytest.mark.parametrize(
    "source",
    [
        "from typing import Any\nParsed: TypeAlias = Any  # Any: made at run time",
        "# Any: whatever holds bytes\ndef write(self, data: Any) -> int: ...",
        "def take(\n    batch: Batch,\n    more: Any,  # Any: of the plug-in\n) -> None: ...",
        "def take(batch: Batch) -> None:\n    '''Any batch will do.'''",
        "found = any(rows)",
    ],
)
def test_an_any_with_a_reason_passes(source: str) -> None:
    assert faults(source) == []
