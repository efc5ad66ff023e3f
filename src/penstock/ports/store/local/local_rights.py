"""Where this process may not write in a local lake, as owners and modes of directories say."""

import stat
from collections.abc import Iterator

from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.tree import Parts, Tree


def refused_directories(disk: Disk, tree: Tree, directory: Parts) -> Iterator[str]:
    """The directory and those in it, as keys, in which names may not be made; the root is `.`.

    What is not there yet would be made in the nearest directory above it, so that one counts.
    """
    there = directory
    while there and not _is_directory(tree, there):
        there = there[:-1]
    if disk.status(tree.root) is not None and not disk.may_write(tree.path(there)):
        yield "/".join(there) or "."
    if there == directory:
        for child in sorted(tree.children("/".join((*directory, "")))):
            if child.is_directory and not disk.may_write(tree.path((*directory, child.name))):
                yield "/".join((*directory, child.name))


def _is_directory(tree: Tree, parts: Parts) -> bool:
    status = tree.status(parts)
    return status is not None and stat.S_ISDIR(status.st_mode)
