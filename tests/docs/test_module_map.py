"""The map is what the modules say of themselves, word for word."""

import difflib
from pathlib import Path

import pytest

from tests.docs.module_map import PAGE, page

COMMAND = "python -m tests.docs.module_map"


def differences(written: str, wanted: str) -> list[str]:
    """Lines that the map has and should not have (-), and lines that it lacks (+)."""
    found = difflib.unified_diff(written.splitlines(), wanted.splitlines(), n=0, lineterm="")
    return [line for line in found if not line.startswith(("---", "+++", "@@"))]


def test_the_map_says_what_the_modules_say() -> None:
    found = differences(PAGE.read_text(encoding="utf-8"), page())
    assert not found, f"docs/map.md is out of date; run `{COMMAND}`\n" + "\n".join(found)


def test_the_page_names_the_command_that_makes_it() -> None:
    assert f"`{COMMAND}`" in page()


def made(root: Path, about: str = "Boxes.", **modules: str) -> str:
    """The map of a small package with these modules in its room `attic`."""
    (root / "attic").mkdir(parents=True)
    for folder in (root, root / "attic"):
        (folder / "__init__.py").write_text(f'"""{about} It must not open them."""')
    for name, words in modules.items():
        (root / "attic" / f"{name}.py").write_text(f'"""{words}"""')
    return page(root)


@pytest.mark.parametrize(
    ("before", "complaint"),
    [
        ({"box": "A box."}, "+- `lid.py`: Its lid."),
        ({"box": "A box.", "lid": ""}, "+- `lid.py`: Its lid."),
        ({"box": "A box.", "lid": "Its lid.", "old": "Gone."}, "-- `old.py`: Gone."),
        ({"box": "A case.", "lid": "Its lid."}, "-- `box.py`: A case."),
        ({"about": "Cases.", "box": "A box.", "lid": "Its lid."}, "-Cases. It must not open them."),
    ],
)
def test_a_planted_difference_is_told(
    tmp_path: Path, before: dict[str, str], complaint: str
) -> None:
    wanted = made(tmp_path / "now", box="A box.", lid="Its lid.")
    assert complaint in differences(made(tmp_path / "before", **before), wanted)
    assert differences(wanted, wanted) == []
