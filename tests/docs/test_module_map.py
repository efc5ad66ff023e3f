"""The map has every module of the package in one line, and none that is gone."""

import re
from pathlib import Path

import pytest

from tests.docs.module_map import PAGE, page

LINE = re.compile(r"- `(\w+\.py)`: \S")


def differences(written: str, wanted: str) -> list[str]:
    """Modules that the map lacks or still has. Their sentences may lag behind those of the code."""
    have, want = _modules(written), _modules(wanted)
    return [f"missing: {name}" for name in sorted(want - have)] + [
        f"stale: {name}" for name in sorted(have - want)
    ]


def _modules(text: str) -> set[str]:
    room, found = "", set()
    for line in text.splitlines():
        if line.startswith("## "):
            room = line.removeprefix("## ").strip("`")
            found.add(room)
        elif named := LINE.match(line):
            found.add(f"{room}{named[1]}")
    return found


def test_the_map_has_every_module_and_no_other() -> None:
    found = differences(PAGE.read_text(encoding="utf-8"), page())
    assert not found, "run `python -m tests.docs.module_map`\n" + "\n".join(found)


def made(root: Path, **modules: str) -> str:
    """The map of a small package with these modules in its room `attic`."""
    (root / "attic").mkdir(parents=True)
    for folder in (root, root / "attic"):
        (folder / "__init__.py").write_text('"""Boxes. It must not open them."""')
    for name, words in modules.items():
        (root / "attic" / f"{name}.py").write_text(f'"""{words}"""')
    return page(root)


@pytest.mark.parametrize(
    ("before", "complaint"),
    [
        ({"box": "A box."}, "missing: attic/lid.py"),
        ({"box": "A box.", "lid": ""}, "missing: attic/lid.py"),
        ({"box": "A box.", "lid": "Its lid.", "old": "Gone."}, "stale: attic/old.py"),
    ],
)
def test_a_planted_difference_is_told(
    tmp_path: Path, before: dict[str, str], complaint: str
) -> None:
    wanted = made(tmp_path / "now", box="A box.", lid="Its lid.")
    found = differences(made(tmp_path / "before", **before), wanted)
    assert any(complaint in each for each in found), found
    assert differences(wanted, wanted) == []
