"""No command of the pages goes unchecked: it is run, or it is said why not and it parses."""

import re
from pathlib import Path

import pytest

from tests.docs.shell import (
    BACKUP,
    OPERATE,
    PAGES,
    QUICKSTART,
    ROOT,
    STORES,
    Block,
    blocks,
    blocks_of,
    complaint,
    fence_kinds,
    unshown,
)

# Run from top to bottom, by test_quickstart.py, test_stores_page.py and test_backup_page.py of
# tests/integration; the last one runs those of operate.md, too.
RUN = {
    command
    for page in (QUICKSTART, STORES, BACKUP, OPERATE)
    for block in blocks_of(page)
    if not block.why_not
    for command in block.commands
}


def complaints(block: Block) -> list[str]:
    """Why the commands of a block may be wrong and nobody would notice."""
    if block.why_not:
        return [said for command in block.commands if (said := complaint(command))]
    return [
        f"{command!r} is not run; run it in the quickstart, or say why not above its block"
        for command in block.commands
        if command not in RUN
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_run_or_parsed(page: Path) -> None:
    assert [said for block in blocks_of(page) for said in complaints(block)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_shows_with_its_output_parses(page: Path) -> None:
    shown = re.findall(r"^\$ (penstock .*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [said for command in shown if (said := complaint(command))] == []


def test_the_quickstart_is_run() -> None:
    assert len(RUN) > 10
    assert {"penstock init", "penstock run --once", "penstock audit"} <= RUN


def test_no_fence_escapes_the_runner() -> None:
    """Shell in a block of another kind, or of none, would never be looked at."""
    kinds = {kind for page in PAGES for kind in fence_kinds(page.read_text(encoding="utf-8"))}
    assert kinds <= {"sh", "text", "python", "yaml", "json", "toml", "mermaid", "sql", "ini"}


def test_a_fence_without_a_kind_and_one_that_is_indented_or_of_tildes_are_noticed() -> None:
    page = "```sh\nls\n```\n\n```\nmake tea\n```\n  ```sh\n  ls\n  ```\n~~~\nmake tea\n~~~\n"
    assert fence_kinds(page) == ["sh", "", "  ```sh", "~~~"]


@pytest.mark.parametrize("page", [*PAGES, ROOT / "Makefile"], ids=lambda page: page.name)
def test_every_option_that_a_page_hands_to_the_demo_is_one_of_its_own(page: Path) -> None:
    handed = re.findall(r'DEMO="[^"]*"', page.read_text(encoding="utf-8"))
    assert [said for words in handed if (said := complaint(f"make demo {words}"))] == []


PAGE = """
<!-- not run: never ends -->
```sh
penstock run   # for ever
```

```sh
make setup && . .venv/bin/activate
penstock audit \\
  events
```

```text
verdict    ok
```
"""


def test_blocks_are_read_with_their_reason_and_their_output() -> None:
    first, second = blocks(PAGE, "page.md")
    assert (first.commands, first.why_not) == (["penstock run"], "never ends")
    assert second.commands == ["make setup", ". .venv/bin/activate", "penstock audit events"]
    assert (second.why_not, second.shown) == ("", "verdict    ok\n")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("penstock run --once", ""),
        ("penstock --version", ""),
        ("penstock runn", "invalid choice"),
        ("penstock audit --quick", "unrecognized arguments"),
        ("make demo", ""),
        ('make demo DEMO="--serve"', ""),
        ('make demo DEMO="--bogus"', "unrecognized arguments"),
        ("make certify SEED=2", ""),
        ("make certify SED=2", "no variable SED"),
        ("make tea", "no target tea"),
        ("curl example", "nobody knows"),
    ],
)
def test_a_command_that_is_wrong_is_noticed(command: str, said: str) -> None:
    found = complaint(command)
    assert said in found
    assert bool(said) == bool(found)


def test_a_block_that_is_neither_run_nor_excused_is_noticed() -> None:
    assert complaints(Block("page.md", "penstock files other\n")) != []


def test_output_is_compared_line_by_line() -> None:
    printed = "one\ntwo 2\nthree\n"
    assert unshown("one\n...\nthree\n", printed) == ""
    assert unshown("two ...\nthree\n", printed) == ""
    assert unshown("three\none\n", printed) == "one"
    assert unshown("four\n", printed) == "four"
