"""Every error a user can meet has its own code, an exit code and a section in docs/errors.md."""

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from penstock.errors import PenstockError
from penstock.model.exit_codes import REFUSED, REFUSED_CODES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "errors.md"

# What the command line promises. Success is not an error, so 0 is missing.
EXIT_CODES = {1, 2, 3, 4, 5, 75}
SHORTEST_SECTION = 60


def concrete_errors() -> list[type[PenstockError]]:
    """Return the errors that are raised: leaves of the tree, and branches with their own code.

    A room may keep errors of its own, in a module whose name ends in `errors`.
    """
    for module in sorted((ROOT / "src" / "penstock").rglob("*errors.py")):
        relative = module.relative_to(ROOT / "src").with_suffix("")
        import_module(".".join(relative.parts))
    return [
        error
        for error in _descendants(PenstockError)
        if "code" in vars(error) or not list(_descendants(error))
    ]


def _descendants(error: type[PenstockError]) -> Iterator[type[PenstockError]]:
    for child in error.__subclasses__():
        if child.__module__.startswith("penstock."):  # not those a test has defined
            yield child
        yield from _descendants(child)


def sections(page: str) -> dict[str, str]:
    """Return heading -> text of each `### ` section, up to the next heading of level 1 to 3."""
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in page.splitlines():
        if re.match(r"#{1,3} ", line):
            current = []
            if line.startswith("### "):
                found[line.removeprefix("### ").strip()] = current
        else:
            current.append(line)
    return {heading: "\n".join(lines).strip() for heading, lines in found.items()}


def complaints(codes: set[str], page: str) -> list[str]:
    """Return what is wrong between the codes that exist and the page that explains them."""
    written = sections(page)
    found = [f"{code} has no section" for code in sorted(codes - set(written))]
    found += [f"{code} has a section but no error" for code in sorted(set(written) - codes)]
    for code in sorted(codes & set(written)):
        text = written[code]
        if len(text) < SHORTEST_SECTION:
            found.append(f"{code} is explained in under {SHORTEST_SECTION} characters")
        if not re.search(r"^What to do:", text, flags=re.MULTILINE):
            found.append(f"{code} has no line that starts with 'What to do:'")
    return found


def test_the_errors_of_every_room_are_found() -> None:
    codes = {error.code for error in concrete_errors()}
    assert {"FENCED", "JAVA_MISSING"} <= codes


def test_every_error_declares_its_own_code_and_a_promised_exit_code() -> None:
    wrong = [
        error.__name__
        for error in concrete_errors()
        if not isinstance(vars(error).get("code"), str)
        or not error.code
        or error.exit_code not in EXIT_CODES
    ]
    assert wrong == []


def test_the_codes_of_refused_errors_are_those_that_end_with_it() -> None:
    assert {each.code for each in concrete_errors() if each.exit_code == REFUSED} == REFUSED_CODES


def test_no_two_errors_share_a_code() -> None:
    counted = Counter(error.code for error in concrete_errors())
    assert [code for code, times in counted.items() if times > 1] == []


def test_the_page_of_errors_explains_each_code_and_no_other() -> None:
    codes = {error.code for error in concrete_errors()}
    assert complaints(codes, PAGE.read_text(encoding="utf-8")) == []


def test_the_checker_notices_each_kind_of_gap() -> None:
    page = (
        "# Errors\n\n## Feed\n\n"
        "### GOOD\nThe broker no longer holds records that were not read yet.\n"
        "What to do: accept the gap by name.\n\n"
        "### SHORT\nWhat to do: wait.\n\n"
        "### SILENT\n" + "A long text that never comes to the point. " * 3 + "\n\n"
        "### GONE\n" + "A long text about an error that was removed since. " * 2 + "\n"
    )
    assert complaints({"GOOD", "SHORT", "SILENT", "NEW"}, page) == [
        "NEW has no section",
        "GONE has a section but no error",
        "SHORT is explained in under 60 characters",
        "SILENT has no line that starts with 'What to do:'",
    ]
