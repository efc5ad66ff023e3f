"""The table of error codes in docs/runbook.md: `python -m tests.docs.runbook` writes it again.

Each code with its exit code and the beginning of what docs/errors.md says to do.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import PenstockError
from tests.docs.error_tree import load_all

ROOT = Path(__file__).parents[2]
PAGE, ERRORS = ROOT / "docs" / "runbook.md", ROOT / "docs" / "errors.md"
BEGIN, END = "<!-- codes: made by tests/docs/runbook.py -->", "<!-- end of codes -->"
_BLOCK = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}\n", re.DOTALL)
_SECTION = re.compile(r"^### ([A-Z_0-9]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_ADVICE = re.compile(r"^What to do: (.+?)(?=\n\n|\n```|\n\||\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"(.+?[.:])(?= [A-Z`]|$)")


def advice(page: str) -> dict[str, str]:
    """The first sentence of what to do, by code."""
    found = {}
    for code, text in _SECTION.findall(page):
        said = _ADVICE.search(text)
        if said is not None:
            words = " ".join(said[1].split())
            first = _SENTENCE.match(words)
            chosen = words if first is None else first[1]
            found[code] = f"{chosen[0].upper()}{chosen[1:]}"
    return found


def exit_codes() -> dict[str, int]:
    """The exit code of each error that a command may end with."""
    load_all()

    def below(error: type[PenstockError]) -> Iterator[tuple[str, int]]:
        code = vars(error).get("code")
        if code is not None:
            yield code, error.exit_code
        for child in error.__subclasses__():
            if child.__module__.startswith("penstock."):
                yield from below(child)

    return dict(below(PenstockError))


def table() -> str:
    """All codes in the order of the alphabet."""
    exits = exit_codes()
    rows = [
        f"| [{code}](errors.md#{code.lower()}) | {exits[code]} | {said} |"
        for code, said in sorted(advice(ERRORS.read_text(encoding="utf-8")).items())
    ]
    return "\n".join(["| code | exit code | what to do |", "|---|---|---|", *rows])


def with_table(page: str) -> str:
    """The page with the table of today."""
    block = f"{BEGIN}\n{table()}\n{END}\n"
    changed, count = _BLOCK.subn(lambda _: block, page)
    if count != 1:
        raise ValueError(f"{PAGE} has {count} places for the table of codes")
    return changed


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
