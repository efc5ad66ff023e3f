r"""Paths of fields in events, as messages and the configuration write them.

user.id         a dot leads into an object
items[].id      `[]` leads to the items of a list
http\.status    a backslash takes the meaning from a dot, from `[]` and from another backslash
                that is part of a name
"""

import re
from collections.abc import Iterator
from typing import Final

ITEMS: Final = "[]"
_PART = re.compile(r"((?:[^.\\]|\\.|\\\Z)*?)((?:\[\])*)(\.|\Z)", re.DOTALL)
_MEANING = re.compile(r"\\|\.|\[(?=\])")
_ESCAPED = re.compile(r"\\([.\\\[])")


def path_below(path: str, name: str) -> str:
    """The path of a field of the object at `path`; only the event itself has an empty one."""
    shown = _MEANING.sub(r"\\\g<0>", name) or '""'
    return f"{path}.{shown}" if path else shown


def steps_of(path: str) -> Iterator[str | None]:
    """The names of fields on a path, and None for the items of a list."""
    at = 0
    while (part := _PART.match(path, at)) is not None:
        yield _ESCAPED.sub(r"\1", part[1])
        yield from (None for _ in range(len(part[2]) // len(ITEMS)))
        if not part[3]:
            return
        at = part.end()
