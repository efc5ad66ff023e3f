"""The error messages of plug-ins, made fit for the quarantine: short, and without the record."""

import re
from collections.abc import Container, Iterator

from penstock.api.find import said

LONGEST_DETAIL = 200
_RECOGNISED = 4
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def tamed(error: BaseException, names: Container[str], record: object = None) -> str:
    """An error in one line, without what it quotes from records; names of fields may stay."""

    def keep(match: re.Match[str]) -> str:
        return match[0] if match[0][1:-1] in names else "'***'"

    words = _QUOTED.sub(keep, said(error))
    for text in sorted(set(_texts_in(record)), key=len, reverse=True):
        words = words.replace(text, "***")
    return words[:LONGEST_DETAIL]


def writable(words: str) -> str:
    """Words that can be written; half of a surrogate pair cannot."""
    return words.encode("utf-8", "replace").decode()


def _texts_in(value: object) -> Iterator[str]:
    """The texts of a record that would be recognised; short ones are parts of any sentence."""
    if isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(each)
    elif isinstance(value, str) and len(value) >= _RECOGNISED:
        yield value
