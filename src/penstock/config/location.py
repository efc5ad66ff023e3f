"""Where the lake lies: a directory, now; object stores are recognised and refused."""

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.config.mistakes import Refused
from penstock.config.section_grammar import LATER, Reading, text
from penstock.config.tree import Node

_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://|(?P<file>(?i:file)):/")
_LATER = frozenset({"s3", "s3a", "gs", "hdfs"})
_ALLOWED = "a directory, or file:///directory"


def lake(node: Node, reading: Reading) -> str:
    """The absolute path of the lake's directory. It need not exist yet.

    Messages name the scheme only: the rest of an address may hold credentials.
    """
    word = text(node)
    match = _SCHEME.match(word)
    if match is None:
        return _absolute(word, reading.folder_of(node))
    scheme = (match["scheme"] or match["file"]).lower()
    if scheme in _LATER:
        raise Refused(f"a lake on {scheme}:// is {LATER}", _ALLOWED)
    if scheme != "file":
        raise Refused(f"a lake on {scheme}:// is unknown", _ALLOWED)
    return _of_file_url(word, reading.folder_of(node))


def _of_file_url(word: str, folder: Path) -> str:
    try:
        parts = urlsplit(word)
        path = unquote(parts.path, errors="strict")
    except ValueError:
        raise Refused("a file:// address that cannot be read", _ALLOWED) from None
    if parts.netloc not in ("", "localhost") or parts.query or parts.fragment or "\0" in path:
        raise Refused("a file:// address with a host, '?' or '#'", _ALLOWED)
    return _absolute(path, folder)


def _absolute(word: str, folder: Path) -> str:
    """The path without `.` and `..`; links are left alone, the store looks at those itself."""
    if word.startswith("~"):
        raise Refused("a path that starts with '~'", "the whole path, or one from the file on")
    parts: list[str] = []
    for part in (folder.absolute() / word).parts[1:]:
        if part == "..":
            del parts[-1:]
        else:
            parts.append(part)
    if not parts:
        raise Refused("the root directory", "a directory of its own for the lake")
    return str(Path("/", *parts))
