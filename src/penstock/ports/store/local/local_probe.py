"""Trying what a local lake needs of its file system: hard links, no overwriting, real syncs."""

from contextlib import suppress

from penstock.api.store import Store
from penstock.errors import DurabilityLost, StoreUnfit
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.tree import TEMPORARY, Parts, Tree
from penstock.ports.store.os_errors import before_it_begins, reason
from penstock.ports.store.probe import probe_promises


def probe_local(
    store: Store, disk: Disk, tree: Tree, place: Parts, *, for_journal: bool = True
) -> None:
    """Try everything below the new directory `place`, then remove all that was made.

    The root as well, if it was not there: only a run makes a lake.

    `disk` has to raise when a sync fails, instead of ending the process.
    """
    ways = [directory[:depth] for directory in (place, TEMPORARY) for depth in _upwards(directory)]
    with before_it_begins("probe", "/".join(place)):
        made = [tree.path(parts) for parts in ways if tree.status(parts) is None]
        made += [tree.root] if disk.status(tree.root) is None else []
        try:
            _try_links(disk, tree, place)
            probe_promises(store, tree.root, "/".join(place), for_journal=for_journal)
        except DurabilityLost as error:
            seen = error.found
            raise StoreUnfit(tree.root, "confirm that what was written is durable", seen) from error
        finally:
            _remove_below(disk, tree, place)
            for path in made:
                with suppress(OSError):
                    disk.remove_directory(path)


def _try_links(disk: Disk, tree: Tree, place: Parts) -> None:
    directory = (*place, "links")
    first, second = (tree.path((*directory, name)) for name in ("first", "second"))
    walked = tree.make(directory)
    disk.write_new(first, b"first")
    disk.write_new(second, b"second")
    try:
        disk.link(first, f"{second}-name")
    except OSError as error:
        raise StoreUnfit(tree.root, "make hard links", reason(error)) from error
    try:
        disk.link(first, second)
    except FileExistsError:
        tree.make_durable(walked)
    else:
        raise StoreUnfit(tree.root, "refuse a link over a file", "the file was replaced")
    _remove_below(disk, tree, directory)


def _remove_below(disk: Disk, tree: Tree, directory: Parts) -> None:
    """Remove a directory that only this probe knows, as far as possible."""
    with suppress(OSError):
        for child in disk.children(tree.path(directory)):
            if child.is_directory:
                _remove_below(disk, tree, (*directory, child.name))
            else:
                disk.unlink(tree.path((*directory, child.name)))
        disk.remove_directory(tree.path(directory))


def _upwards(directory: Parts) -> range:
    return range(len(directory), 0, -1)
