"""Closed kinds of the package, and where code tells their members apart without a `match`."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.tidy.names import dotted


@dataclass(frozen=True, slots=True)
class ClosedKinds:
    """What is closed: classes of a union, members of enums as `Enum.NAME`, words of a `Literal`."""

    classes: frozenset[str]
    enums: frozenset[str]
    literals: tuple[frozenset[str], ...]

    def member(self, test: ast.expr) -> tuple[str, frozenset[str]] | None:
        """The subject of a comparison with members of a closed kind, and the members."""
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._compared(test.left, test.comparators[0])
        if not isinstance(test, ast.Call):
            return None
        if dotted(test.func) == "isinstance" and len(test.args) == 2:
            names = {node.id for node in ast.walk(test.args[1]) if isinstance(node, ast.Name)}
            return self._known(test.args[0], names, (self.classes,))
        if isinstance(test.func, ast.Attribute) and test.func.attr == "get" and test.args:
            return self._looked_up(test.args[0], test.func.value)
        return None

    def _compared(self, left: ast.expr, right: ast.expr) -> tuple[str, frozenset[str]] | None:
        members = _words(right)
        if members:
            return self._known(left, members, self.literals)
        return self._known(left, {dotted(right) or ""}, (self.enums,))

    def _looked_up(self, key: ast.expr, table: ast.expr) -> tuple[str, frozenset[str]] | None:
        if not isinstance(table, ast.Dict):
            return None
        keys = {node.value for node in table.keys if isinstance(node, ast.Constant)}
        return self._known(key, {each for each in keys if isinstance(each, str)}, self.literals)

    def _known(
        self, subject: ast.expr, members: Iterable[str], kinds: Iterable[frozenset[str]]
    ) -> tuple[str, frozenset[str]] | None:
        found = frozenset(members)
        if found and any(found <= kind for kind in kinds):
            return ast.unparse(subject), found
        return None


def _words(node: ast.expr) -> set[str]:
    parts = node.elts if isinstance(node, ast.Set | ast.Tuple | ast.List) else [node]
    found = {part.value for part in parts if isinstance(part, ast.Constant)}
    return {each for each in found if isinstance(each, str)} if len(found) == len(parts) else set()


def closed_kinds(sources: Iterable[str], unions: Iterable[type]) -> ClosedKinds:
    """Find the enums and the literals of at least three words; two are a yes or a no."""
    enums, literals = set(), set()
    for tree in map(ast.parse, sources):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and "Enum" in {dotted(base) for base in node.bases}:
                enums |= {f"{node.name}.{name}" for name in _assigned(node)}
            elif isinstance(node, ast.Subscript) and dotted(node.value) == "Literal":
                literals.add(frozenset(_words(node.slice)))
    names = frozenset(each.__name__ for each in unions)
    return ClosedKinds(names, frozenset(enums), tuple(each for each in literals if len(each) > 2))


def _assigned(node: ast.ClassDef) -> Iterator[str]:
    for child in node.body:
        if isinstance(child, ast.Assign):
            yield from (target.id for target in child.targets if isinstance(target, ast.Name))


def open_chains(source: str, kinds: ClosedKinds) -> Iterator[tuple[int, str]]:
    """Line and subject where one function asks twice which member it has, and never ends it.

    A question alone (`if kind == "plugin":`) is a yes or a no. Two about the same value tell
    members apart, in an `if` with an `elif`, in two `if`, or in a look-up in a table.
    """
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        asked: dict[str, set[frozenset[str]]] = defaultdict(set)
        lines: dict[str, int] = {}
        ended = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and dotted(node.func) == "assert_never":
                ended.add(ast.unparse(node.args[0]))
            if not isinstance(node, ast.expr) or (found := kinds.member(node)) is None:
                continue
            asked[found[0]].add(found[1])
            lines.setdefault(found[0], node.lineno)
        for subject, members in asked.items():
            if len(members) > 1 and subject not in ended:
                yield lines[subject], subject
