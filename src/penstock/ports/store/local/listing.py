"""Listing a tree of directories in the order of whole keys."""

from collections.abc import Callable, Iterator

from penstock.api.store import OddName
from penstock.ports.store.keys import is_text
from penstock.ports.store.local.disk import Child, OddChild

ListDirectory = Callable[[str], list[Child]]
"""Lists a directory, given as the beginning of its keys: `""` for the root, else `a/b/`."""


def keys_after(base: str, after: str, list_directory: ListDirectory) -> Iterator[str]:
    """Yield the keys that begin with `base` and sort after `after`, in order.

    A directory takes part in its parent's order as `name/`, since that is how its keys go on:
    `a-b` and `a.b` come before what is in `a`, and `a0` after it. A directory whose keys all sort
    before `after` is never opened.
    """
    levels = [_after(base, after, list_directory)]
    while levels:
        key = next(levels[-1], None)
        if key is None:
            levels.pop()
        elif key.endswith("/"):
            levels.append(_after(key, after, list_directory))
        else:
            yield key


def odd_names(
    base: str,
    list_directory: ListDirectory,
    list_odd: Callable[[str], list[OddChild]],
) -> Iterator[OddName]:
    """Whatever lies below `base` and is not in any listing; directories of such names unopened."""
    directories = [base]
    while directories:
        here = directories.pop()
        for odd in sorted(list_odd(here)):
            yield OddName(here + _readable(odd.name), odd.what)
        directories += sorted(
            (
                f"{here}{child.name}/"
                for child in list_directory(here)
                if child.is_directory and is_text(child.name)
            ),
            reverse=True,
        )


def _readable(name: str) -> str:
    """A name that may not be UTF-8, with the odd bytes written out."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _after(base: str, after: str, list_directory: ListDirectory) -> Iterator[str]:
    """The children of one directory that are, or may hold, keys after `after`; in order."""
    if _is_before(base, after):
        return iter(())
    found = []
    for child in list_directory(base):
        key = f"{base}{child.name}/" if child.is_directory else base + child.name
        if not _is_before(key, after) and is_text(child.name):
            found.append(key)
    found.sort()
    return iter(found)


def _is_before(key: str, after: str) -> bool:
    """True when the key, or for `a/b/` every key in that directory, is not after `after`."""
    if key.endswith("/"):
        return key < after and not after.startswith(key)
    return bool(key) and key <= after
