"""docs/commands.md names every command and option of the parser, and no other."""

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.main import parser
from tests.helpers.parser_words import leaves

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
HEADING = re.compile(r"^## (penstock [a-z-]+(?: [a-z-]+)?)$", re.MULTILINE)
# A word that begins with a hyphen, unless it stands inside another word or a line of dashes.
OPTION = re.compile(r"(?<![\w-])(--?[a-z][a-z-]*)")
SHARED = {"-h", "--help", "--config"}
PRINTS_NO_DATA = {
    "penstock demo",
    "penstock init",
    "penstock run",
    "penstock serve",
    "penstock jars fetch",
}


def parsers(found: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, str, bool]]:
    """Every parser below the top: its name, its help, and whether it takes --output."""
    inner = [a for a in found._actions if isinstance(a, argparse._SubParsersAction)]
    for action in inner:
        for word, child in action.choices.items():
            yield from parsers(child, f"{name} {word}")
    if name != "penstock":
        is_group = bool(inner)
        yield name, found.format_help(), is_group or "--output" in found._option_string_actions


def options_in_code() -> dict[str, set[str]]:
    """The options of each command, besides those that all have."""
    options: dict[str, set[str]] = {}
    for name, action in leaves(parser(), "penstock"):
        options.setdefault(name, set()).update(action.option_strings)
    return {name: found - SHARED for name, found in options.items()}


def options_on_page(page: str) -> dict[str, set[str]]:
    """The options that the synopsis, table and list of each command name. Examples do not count."""
    options: dict[str, set[str]] = {}
    parts = HEADING.split(re.sub(r"```.*?```", "", page, flags=re.DOTALL))
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        own = text.split("\n## ")[0]
        quoted = " ".join(re.findall(r"`([^`]+)`", own))
        options[name] = set(OPTION.findall(quoted)) - SHARED
    return options


def test_the_page_has_every_command_and_option_and_no_other() -> None:
    assert options_on_page(PAGE.read_text(encoding="utf-8")) == options_in_code()


def test_the_table_at_the_top_has_every_command() -> None:
    """Goal: whoever looks for a command finds it there. Groups such as `errors` have one line."""
    page = PAGE.read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| \[`([a-z]+)`\]", page, flags=re.MULTILINE))
    assert listed == {name.split()[1] for name in options_in_code()}


def test_every_option_in_an_example_exists() -> None:
    code = options_in_code()
    blocks = "\n".join(re.findall(r"```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    lines = re.findall(r"^\$ (penstock .*)$", blocks, flags=re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        name = max((each for each in code if f"{line} ".startswith(f"{each} ")), key=len)
        bare = re.sub(r'"[^"]*"', "", line)
        assert set(OPTION.findall(bare)) <= code[name], line


def test_a_missing_and_an_invented_option_are_noticed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    without = page.replace("`--limit N`", "it").replace(" [--limit N]", "")
    assert options_on_page(without) != options_in_code()
    assert options_on_page(page.replace("[--limit N]", "[--limit N] [--deep]")) != options_in_code()
    assert options_on_page(page.replace("## penstock audit", "## penstock prove")) != (
        options_in_code()
    )


def test_the_page_names_every_choice_of_an_option() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    missing = [
        f"{name}: {words}"
        for name, action in leaves(parser(), "penstock")
        if action.choices and action.option_strings
        if (words := f"{action.option_strings[-1]} {'|'.join(map(str, action.choices))}")
        not in page.split(f"## {name} ")[1].split(" ## ")[0]
    ]
    assert missing == []


@pytest.mark.parametrize(("name", "text", "has_output"), list(parsers(parser(), "penstock")))
def test_every_command_has_an_example_and_prints_its_data_for_machines(
    name: str, text: str, has_output: bool
) -> None:
    assert re.search(rf"example:\s+{name}\b", text), f"{name} --help has no example of itself"
    assert has_output != (name in PRINTS_NO_DATA)
