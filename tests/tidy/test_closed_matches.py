"""Every choice between closed kinds is closed: a new kind is an error, not a silent pass.

Goal: a new kind of entry or a new step cannot be forgotten in one of the places that tell them
apart. mypy then names every place. Method: read the syntax trees. The last case of every `match`
must be `case _ as never: assert_never(never)`, and a function that asks twice which member of a
closed kind it has, with `if`, `isinstance` or a look-up in a table, must be a `match` or end with
`assert_never`.

Closed are the bodies of entries, the steps, every enum, and every `Literal` of three words or more.
Limits: one question alone is a yes or a no, and passes; questions that are spread over several
functions are not seen; and a word is recognised by its spelling, not by its type. Not covered are
the types of columns (`TYPES`): codecs ask for the few that nest and treat all others alike, and
property tests hold each codec against its reference for every type.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from penstock.model.entries import AnyBody
from penstock.model.steps import Step
from tests.tidy.closed_kinds import ClosedKinds, closed_kinds, open_chains

PACKAGE = Path(__file__).parents[2] / "src" / "penstock"
END = "end it with `case _ as never: assert_never(never)`, so that mypy finds what is missing"

TYPES = (
    "model/schema.py",
    "datapath/codec/avro/types.py",
    "datapath/codec/protobuf/types.py",
    "datapath/codec/thrift/types.py",
    "datapath/codec/shared/column_tree.py",
)

# Questions that may stay open: where, about what, and why.
OPEN = {
    ("config/feed_values.py", "word"): "what a user wrote, which may be anything; it is refused",
    ("config/route_section.py", "word"): "what a user wrote, which may be anything; it is refused",
    ("config/route_section.py", "kind"): "what a user wrote, which may be anything; it is refused",
    ("datapath/stage/placement.py", "route.kind"): "two routes have a faster way, if it is open",
    ("datapath/stage/shredder.py", "self._feed.tombstones"): "keeping them may be impossible",
}


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


# --- without a match -----------------------------------------------------------------------------


def sources() -> dict[str, str]:
    """Every module of the package, by its path below it."""
    return {
        file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8")
        for file in sorted(PACKAGE.rglob("*.py"))
    }


@cache
def kinds() -> ClosedKinds:
    """What is closed in the package."""
    read = [source for path, source in sources().items() if path not in TYPES]
    return closed_kinds(read, [*get_args(AnyBody), *get_args(Step)])


def chain_complaints(path: str, source: str, closed: ClosedKinds) -> list[str]:
    """What is wrong with the questions of one module; `path` is below the package."""
    return [
        f"{path}:{line}: `{subject}` is told apart without a closed end; use `match`"
        for line, subject in open_chains(source, closed)
        if (path, subject) not in OPEN
    ]


def test_every_choice_without_a_match_is_closed() -> None:
    closed = kinds()
    found = [
        complaint
        for path, source in sources().items()
        for complaint in chain_complaints(path, source, closed)
    ]
    assert not found, "\n" + "\n".join(found)


def test_entries_steps_enums_and_words_are_known() -> None:
    closed = kinds()
    assert {"Window", "Bind", "Generation", "PublishFiles", "DeleteInputs"} <= closed.classes
    assert {"Outcome.UNKNOWN", "FinalState.OURS"} <= closed.enums
    assert frozenset({"topic", "header", "field", "schema", "plugin"}) in closed.literals


@pytest.mark.parametrize(
    "body",
    [
        "if isinstance(body, Window):\n  a()\n elif isinstance(body, Replay):\n  b()",
        "if isinstance(body, Window):\n  return 1\n if isinstance(body, Gap | Seek):\n  return 2",
        "if isinstance(step, PublishFiles):\n  a()\n elif isinstance(step, DeleteInputs):\n  b()",
        "return 1 if isinstance(s, PublishFiles) else 2 if isinstance(s, DeleteInputs) else 3",
        "if kind == 'topic':\n  a()\n elif kind == 'header':\n  b()\n else:\n  c()",
        "if x.kind == 'plugin':\n  return 1\n return {'header': 2, 'field': 3}.get(x.kind)",
        "if x.kind != 'plugin' and y:\n  return 1\n if x.kind in ('day', 'hour'):\n  return 2",
        "if got is Outcome.LANDED:\n  a()\n elif got is Outcome.UNKNOWN:\n  b()",
        "if got == FinalState.OURS:\n  a()\n if got is not FinalState.FOREIGN:\n  b()",
        "if kind == 'topic':\n  a()\n elif kind == 'field':\n  b()\n else:\n  assert_never(other)",
    ],
)
def test_an_open_choice_is_noticed(body: str) -> None:
    assert chain_complaints("care/planted.py", f"def f():\n {body}", kinds())


@pytest.mark.parametrize(
    "body",
    [
        "if kind == 'topic':\n  a()\n elif kind == 'field':\n  b()\n else:\n  assert_never(kind)",
        "if isinstance(body, Window):\n  a()",
        "if kind in {'header', 'field'}:\n  a()",
        "if kind == 'topic':\n  a()\n if other == 'field':\n  b()",
        "if isinstance(value, bool):\n  a()\n elif isinstance(value, int):\n  b()",
        "if answer == 'yes':\n  a()\n elif answer == 'no':\n  b()",
    ],
)
def test_a_closed_choice_and_a_single_question_pass(body: str) -> None:
    assert chain_complaints("care/planted.py", f"def f():\n {body}", kinds()) == []
