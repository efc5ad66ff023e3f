"""File formats found by how the names of their files end. Driver only: it looks for plug-ins."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache

from penstock.api.doors import FORMATS
from penstock.api.errors import PluginError
from penstock.api.file_format import FileFormat
from penstock.api.find import find, offers


def format_of_file(name: str) -> FileFormat | None:
    """The format of a file by its name; None if no format that can be used has its ending."""
    found = (each for each in _installed() if name.endswith(each.endings))
    return max(found, key=lambda each: _longest(each, name), default=None)


def format_of_recorded_file(name: str, recorded: str) -> FileFormat | None:
    """The format of a file that a journal lists; `recorded` is the name of the feed's format.

    Raises the `PluginError` of that format if it cannot be used here, such as `ExtraMissing`: the
    file is not damaged then, and nobody here can tell. None if its name has a foreign ending.
    """
    found = format_of_file(name)
    if found is None:
        find(FORMATS, recorded)
    return found


@cache
def known_endings() -> tuple[str, ...]:
    """How the names of data files end, in all installed formats."""
    return tuple(ending for each in _installed() for ending in each.endings)


@cache
def _installed() -> tuple[FileFormat, ...]:
    return tuple(_usable())


def _usable() -> Iterator[FileFormat]:
    """Every format that can be used. The endings of the others cannot be known."""
    for name in dict.fromkeys(each.name for each in offers(FORMATS)):
        with suppress(PluginError):
            yield find(FORMATS, name)


def _longest(found: FileFormat, name: str) -> int:
    return max(len(ending) for ending in found.endings if name.endswith(ending))
