"""The words of a Thrift file: names, numbers, texts and signs, with the lines they are in."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from penstock.api.schema_unsupported import SchemaUnsupported

TokenKind = Literal["name", "number", "text", "sign", "end"]

_LONGEST_SHOWN = 40
_KINDS: dict[str, TokenKind] = {
    "name": "name",
    "number": "number",
    "text": "text",
    "sign": "sign",
}
_TOKEN = re.compile(
    r"""(?P<space>\s+ | //[^\n]* | \#[^\n]* | /\*.*?\*/)
    | (?P<name>[A-Za-z_][A-Za-z0-9_.]*)
    | (?P<number>[+-]?(?:0[xX][0-9A-Fa-f]+ | (?:\d+\.?\d* | \.\d+)(?:[eE][+-]?\d+)?))
    | (?P<text>"(?:[^"\\\n]|\\[^\n])*" | '(?:[^'\\\n]|\\[^\n])*')
    | (?P<sign>[][{}()<>,;:=*&-])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word. `text` is what it says; of a text what is between its quotes."""

    kind: TokenKind
    text: str
    line: int

    @property
    def is_value(self) -> bool:
        """True for what can be the whole value of a constant."""
        return self.kind in {"number", "text", "name"}

    @property
    def shown(self) -> str:
        """How an error message calls it."""
        if self.kind == "end":
            return "the end of the file"
        return f"`{self.text[:_LONGEST_SHOWN]}`"


def tokens_of(text: str, file: str) -> Iterator[Token]:
    """All words but comments, and an end; raises SchemaUnsupported."""
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise idl_error(file, line, f"`{text[at]}` cannot be read here")
        word, at = found.group(), found.end()
        kind = _KINDS.get(found.lastgroup or "")
        if kind is not None:
            yield Token(kind, word[1:-1] if kind == "text" else word, line)
        line += word.count("\n")
    yield Token("end", "", line)


def idl_error(file: str, line: int, why: str) -> SchemaUnsupported:
    """What is wrong with a line of a file; the configuration's own has no name here."""
    parts = [file, f"line {line}" if line else ""]
    where = ", ".join(part for part in parts if part)
    return SchemaUnsupported("$", f"{where}: {why}" if where else why)
