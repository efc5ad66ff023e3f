"""The shell blocks of the pages: what they say, and whether a command at least reads right.

A block fenced as `sh` is run by a test, unless the comment `<!-- not run: why -->` stands right
above it. Then each of its commands must be one that the parser of `penstock` accepts, a target that
the Makefile lists with variables that it reads, or one of a few plain words of the shell.
"""

import contextlib
import io
import re
import shlex
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.cli.main import parser

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
QUICKSTART = ROOT / "docs" / "quickstart.md"
STORES = ROOT / "docs" / "stores.md"
BACKUP = ROOT / "docs" / "backup.md"
OPERATE = ROOT / "docs" / "operate.md"

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<why>[^>]+) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_PLAIN_WORDS = {".", "cd", "rm", "pip"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of commands, why it is not run (empty: it is), and the output shown below it."""

    page: str
    text: str
    why_not: str = ""
    shown: str = ""

    @property
    def commands(self) -> list[str]:
        """One per line and `&&`; a backslash continues a line, a comment is none."""
        lines = self.text.replace("\\\n", " ").splitlines()
        parts = [part.strip() for line in lines for part in line.split("&&")]
        found = [shlex.join(shlex.split(part, comments=True)) for part in parts]
        return [command for command in found if command]


def blocks(text: str, page: str) -> list[Block]:
    """The shell blocks of a page, in order. A `text` block right below one is its output."""
    found: list[Block] = []
    end = -1
    for match in _FENCE.finditer(text):
        if match["kind"] == "sh":
            found.append(Block(page, match["text"], match["why"] or ""))
        elif match["kind"] == "text" and found and text[end : match.start()].strip() == "":
            last = found[-1]
            found[-1] = Block(last.page, last.text, last.why_not, match["text"])
        end = match.end()
    return found


def fence_kinds(text: str) -> list[str]:
    """What stands behind each opening fence; all of a line that `blocks` would not take for one."""
    fences = [line for line in text.splitlines() if line.lstrip().startswith(("```", "~~~"))]
    return [line.removeprefix("```") for line in fences[::2]]


def blocks_of(page: Path) -> list[Block]:
    """The same for a file."""
    return blocks(page.read_text(encoding="utf-8"), page.name)


def complaint(command: str) -> str:
    """What is wrong with a command that is not run; empty when it reads right."""
    words = shlex.split(command)
    if words[0] == "penstock":
        return _parse_complaint(words[1:])
    if words[0] == "make":
        return _make_complaint(words[1:])
    if words[:3] == [".venv/bin/python", "-m", "pre_commit"] or words[0] in _PLAIN_WORDS:
        return ""
    return f"nobody knows the command {words[0]!r}"


def _make_complaint(words: list[str]) -> str:
    """What is wrong with targets and variables; what `DEMO` hands on has a parser of its own."""
    targets = {word for word in words if "=" not in word}
    given = dict(word.split("=", 1) for word in words if "=" in word)
    if unknown := targets - make_targets():
        return f"make has no target {', '.join(sorted(unknown))}"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    if unread := [name for name in given if f"$({name})" not in makefile]:
        return f"make has no variable {', '.join(unread)}"
    return _parse_complaint(["demo", *shlex.split(given["DEMO"])]) if "DEMO" in given else ""


def _parse_complaint(words: list[str]) -> str:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            parser().parse_args(words)
    except SystemExit as end:
        return said.getvalue() if end.code else ""
    return ""


@cache
def make_targets() -> frozenset[str]:
    """The targets that `make help` lists."""
    command = ["make", "--no-print-directory", "help"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return frozenset(line.split()[0] for line in listed.splitlines() if line.strip())


def unshown(shown: str, printed: str) -> str:
    """The first line of a page's output that a command did not print; empty when all are there.

    Lines must come in this order. `...` alone stands for any lines, and inside a line for anything.
    """
    lines = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for line in shown.splitlines():
        if line.strip() == "...":
            continue
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("..."))))
        while at < len(lines) and not pattern.fullmatch(lines[at]):
            at += 1
        if at == len(lines):
            return line
        at += 1
    return ""
