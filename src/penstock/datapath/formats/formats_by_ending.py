"""File formats found by how the names of their files end. Driver only: it looks for plug-ins."""

from collections.abc import Iterator
from functools import cache

from penstock.api.doors import FORMATS
from penstock.api.file_format import FileFormat
from penstock.api.find import find, offers
from penstock.errors import PenstockError


def format_of_file(name: str) -> FileFormat | None:
    """The format that a file's name tells; None for a name of no installed format."""
    found = (each for each in _installed() if name.endswith(each.endings))
    return max(found, key=lambda each: _longest(each, name), default=None)


@cache
def known_endings() -> tuple[str, ...]:
    """How the names of data files end, in all installed formats."""
    return tuple(ending for each in _installed() for ending in each.endings)


@cache
def _installed() -> tuple[FileFormat, ...]:
    return tuple(_usable())


def _usable() -> Iterator[FileFormat]:
    """Every format that can be imported; one that cannot has no files that could be read."""
    for name in dict.fromkeys(each.name for each in offers(FORMATS)):
        try:
            yield find(FORMATS, name)
        except PenstockError:
            continue


def _longest(found: FileFormat, name: str) -> int:
    return max(len(ending) for ending in found.endings if name.endswith(ending))
