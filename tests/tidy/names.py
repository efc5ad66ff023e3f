"""Which dotted names a module uses, whatever it calls them locally."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """One imported or mentioned name, spelled from its root: `time.sleep`, `os.environ`."""

    name: str
    line: int


def uses(tree: ast.Module) -> Iterator[Use]:
    """Yield every import and every name or attribute chain, with local aliases undone.

    `from time import sleep as rest` followed by `rest(1)` yields `time.sleep` twice.
    """
    origins = _origins(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Use(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (Use(f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
        elif isinstance(node, ast.Name | ast.Attribute):
            chain = dotted(node)
            if chain is not None:
                root, _, rest = chain.partition(".")
                origin = origins.get(root, root)
                yield Use(f"{origin}.{rest}" if rest else origin, node.lineno)


def dotted(node: ast.expr) -> str | None:
    """Return `a.b.c` for a plain chain of names, None for anything computed."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def reaches(name: str, target: str) -> bool:
    """True when `name` is `target` or something inside it."""
    return name == target or name.startswith(f"{target}.")


def _origins(tree: ast.Module) -> dict[str, str]:
    """Map each local name that an import binds to the dotted name it stands for."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names
            }
    return found
