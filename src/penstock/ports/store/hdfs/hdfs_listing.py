"""Listing directories of HDFS in the order of whole keys."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hdfs_native import Client, FileStatus

from penstock.api.store import ListedObject, OddName
from penstock.ports.store.hdfs.hdfs_calls import Calls
from penstock.ports.store.hdfs.hdfs_names import TEMPORARY, Names, decode_name

# A directory is fetched whole, since its order is not that of keys; a thousand names in a request.
PATIENCE = 6.0


class HdfsChild(NamedTuple):
    """A file or a directory in a listing; a tuple, because a journal has many thousands of them."""

    key: str  # of a directory with a slash at its end, since that is how its keys go on
    size_bytes: int


Children = Callable[[str], list[HdfsChild]]


class Listings:
    """Reads directories. Safe to share between threads."""

    def __init__(self, calls: Calls, names: Names) -> None:
        self._calls = calls
        self._names = names

    def objects(self, prefix: str, base: str, after: str) -> Iterator[ListedObject]:
        """Objects whose keys begin with `base`, which is empty or ends in a slash."""

        def children(directory: str) -> list[HdfsChild]:
            return [child for child, _ in self._children(prefix, directory) if child is not None]

        return (ListedObject(*child) for child in children_after(base, after, children))

    def odd_names(self, prefix: str, base: str) -> Iterator[OddName]:
        """Names below a directory that stand for no key; directories of such names unopened."""
        directories = [base]
        while directories:
            here = directories.pop()
            for child, name in sorted(self._children(prefix, here), key=lambda pair: pair[1]):
                if child is None:
                    yield OddName(f"{here}{name}", "a name that the lake would write otherwise")
                elif child.key.endswith("/"):
                    directories.append(child.key)

    def _children(self, prefix: str, base: str) -> list[tuple[HdfsChild | None, str]]:
        """What is in a directory, with the names there; None for a name that stands for no key."""
        path = self._names.directory(base)

        def read(client: Client) -> list[FileStatus]:
            return list(client.list_status(path))

        found = self._calls.unless_absent("list", prefix, read, patience=PATIENCE) or []
        children: list[tuple[HdfsChild | None, str]] = []
        for status in found:
            if status.path == path:
                return []  # it is a file, and that is all that lies under its name
            name = status.path.rpartition("/")[2]
            part = decode_name(name)
            if part is None:
                children.append((None, name))
            elif f"{base}{part}" != TEMPORARY:
                key = f"{base}{part}/" if status.isdir else f"{base}{part}"
                children.append((HdfsChild(key, status.length), name))
        return children


def children_after(base: str, after: str, list_directory: Children) -> Iterator[HdfsChild]:
    """Yield the files below `base` that sort after `after`, in order.

    A directory takes part in its parent's order as `name/`: `a-b` and `a.b` come before what is in
    `a`, and `a0` after it. A directory whose keys all sort before `after` is never opened.
    """
    levels = [_after(base, after, list_directory)]
    while levels:
        child = next(levels[-1], None)
        if child is None:
            levels.pop()
        elif child.key.endswith("/"):
            levels.append(_after(child.key, after, list_directory))
        else:
            yield child


def _after(base: str, after: str, list_directory: Children) -> Iterator[HdfsChild]:
    if _is_before(base, after):
        return iter(())
    return iter(sorted(child for child in list_directory(base) if not _is_before(child.key, after)))


def _is_before(key: str, after: str) -> bool:
    """True when the key, or for `a/b/` every key in that directory, is not after `after`."""
    if key.endswith("/"):
        return key < after and not after.startswith(key)
    return bool(key) and key <= after
