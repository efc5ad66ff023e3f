"""Pages for contributors name files that are there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.file_names import is_there

ROOT = Path(__file__).parents[2]
# A name in backticks that has a folder or an ending of a file; `<format>` stands for any name.
NAMED = re.compile(r"`([\w.<>*-]+(?:/[\w.<>*-]+)*/?)`")
ENDINGS = (".py", ".md", ".toml", ".json", ".yaml", ".lock", "/")
# What tests and benches write, and what users have.
MADE = ("penstock.yaml", "penstock.toml")


def names_of_files(page: str) -> Iterator[str]:
    """Every name in backticks that is a file or a folder; blocks of code are left out."""
    prose = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    for name in NAMED.findall(prose):
        if name.endswith(ENDINGS) and name not in MADE:
            yield name


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_every_file_that_the_page_names_is_there(page: str) -> None:
    named = sorted(set(names_of_files((ROOT / page).read_text(encoding="utf-8"))))
    assert named
    assert [name for name in named if not is_there(name)] == []


@pytest.mark.parametrize("page", ["glossary.md", "protocol.md"])
def test_every_module_that_the_page_names_is_there(page: str) -> None:
    """These pages also name files of a lake, which only a lake has."""
    named = set(names_of_files((ROOT / "docs" / page).read_text(encoding="utf-8")))
    modules = sorted(name for name in named if name.endswith(".py"))
    assert modules
    assert [name for name in modules if not is_there(name)] == []


def test_names_are_taken_from_prose_and_a_place_for_any_name_is_no_name(tmp_path: Path) -> None:
    page = "See `a/b.py`, `a/<kind>/c.py`, `d/` and `make test`.\n```sh\n`gone.py`\n```\n`x.y`"
    assert list(names_of_files(page)) == ["a/b.py", "a/<kind>/c.py", "d/"]
    (tmp_path / "a" / "any").mkdir(parents=True)
    (tmp_path / "a" / "any" / "c.py").touch()
    bases = (tmp_path, tmp_path)
    assert is_there("a/<kind>/c.py", bases)
    assert not is_there("a/b.py", bases)
    assert not is_there("d/", bases)
