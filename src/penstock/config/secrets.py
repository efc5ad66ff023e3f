"""Secrets: references in the file, values only at the last moment, `***` in between.

A spec holds `${env:NAME}` and `${file:path}` as they were written, so it may be printed and sent
anywhere. `revealed` turns references into values when a client is about to be made.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from penstock.config.mistakes import Refused

MASK = "***"
FORMS = "${env:NAME} and ${file:path}"
MOST_SECRET_BYTES = 1_000_000

_REFERENCE = re.compile(
    r"\$\{(?:env:(?P<env>[A-Za-z_]\w*)|file:(?P<file>[^}$\r\n]{1,4000}))\}", re.ASCII
)
_TRIED = re.compile(r"\$\{(?:env|file)\b")


class Secret:
    """A secret value. Its text form is `***`; only `reveal` returns the value."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the call that needs it, never for a log or an error."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret does not leave this process; send the spec, which has references")


def has_reference(text: str) -> bool:
    """True when a text contains a reference to a secret, or an invalid one."""
    return _TRIED.search(text) is not None


def is_only_references(text: str) -> bool:
    """True when a text consists only of references."""
    return has_reference(text) and not _REFERENCE.sub("", text).strip()


def with_stand_ins(text: str) -> str:
    """The text with a placeholder for each reference, so that the rest can be parsed."""
    return _REFERENCE.sub("x", text)


def with_whole_paths(text: str, base: Path) -> str:
    """The text with every `${file:...}` made absolute; refuses any other use of `${`."""
    if "${" in _REFERENCE.sub("", text):
        raise Refused("a reference of another form", FORMS)

    def whole(match: re.Match[str]) -> str:
        if match["file"] is None:
            return match[0]
        path = str(base / match["file"].strip())
        if "}" in path or "$" in path:
            raise Refused("a secret's file with '}' or '$' in its path", FORMS)
        return f"${{file:{path}}}"

    return _REFERENCE.sub(whole, text)


def revealed(text: str, environ: Mapping[str, str], escape: bool = False) -> Secret:
    """The text with its references replaced, once: a value that looks like one stays as it is.

    `escape` protects quotes and backslashes of the values, for texts that quote them.
    """

    def value(match: re.Match[str]) -> str:
        found = _of_file(Path(match["file"])) if match["file"] else _of_env(match["env"], environ)
        return re.sub(r'(["\\])', r"\\\1", found) if escape else found

    return Secret(_REFERENCE.sub(value, text))


def _of_env(name: str, environ: Mapping[str, str]) -> str:
    found = environ.get(name, "")
    if not found:
        raise Refused(f"the environment variable {name} is not set or empty", "a value for it")
    return found


def _of_file(path: Path) -> str:
    try:
        if not path.is_file():
            raise Refused(f"the secret's file {str(path)!r} does not exist", "a readable file")
        with path.open("rb") as file:
            raw = file.read(MOST_SECRET_BYTES + 1)
        text = raw.decode("utf-8")
    except (OSError, ValueError):
        # Without the cause: the message of a decoder repeats what it could not read.
        raise Refused(f"the secret's file {str(path)!r} cannot be read", "UTF-8 text") from None
    if not text.strip() or len(raw) > MOST_SECRET_BYTES:
        found = f"the secret's file {str(path)!r} is empty or too large"
        raise Refused(found, f"at most {MOST_SECRET_BYTES} bytes")
    return text.removesuffix("\n").removesuffix("\r")
