"""Directories below the root of a local lake: walked without following links, and made to last."""

import errno
import os
import stat
import sys
from dataclasses import dataclass

from penstock.errors import BadKey, StoreUnfit
from penstock.ports.store.keys import check_key
from penstock.ports.store.local.disk import Child, Disk, OddChild
from penstock.ports.store.local.shared_sync import SharedCalls
from penstock.ports.store.os_errors import is_refusal

TEMPORARY = ("_penstock", "tmp")
# Other words for "not empty" or "in use" with which some systems decline to remove a directory.
_STAYS = frozenset({errno.EEXIST, errno.EBUSY})

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """A directory that was looked at, with the identity it had then."""

    path: str
    identity: tuple[int, int]


class Tree:
    """The root and what lies below it. Safe to share between threads.

    A directory lasts only once its parent was synced after it was made, and its maker may
    have died in between. So this object trusts no directory it finds until it has synced the
    parent itself; it remembers by path and inode which ones it has. This holds for the root, too.
    """

    def __init__(self, root: str, disk: Disk) -> None:
        if sys.getfilesystemencoding() != "utf-8":
            seen = f"this process encodes them as {sys.getfilesystemencoding()}"
            raise StoreUnfit(root, "keep file names in UTF-8", seen)
        # The root may be a link, chosen by the user; it is resolved once, here.
        self.root = os.path.realpath(root)
        longest_path = os.pathconf("/", "PC_PATH_MAX") - 1  # it counts the NUL at the end
        self.longest_key_bytes = longest_path - len(self.root.encode()) - 1
        self._disk = disk
        self._sync = SharedCalls(disk.sync_directory)
        self._lasting: dict[str, tuple[int, int]] = {}
        self._has_made_root = False

    def locate(self, key: str) -> Parts:
        """Split the key of an object; `BadKey` also for a place where it would be swept."""
        parts = check_key(key, self.longest_key_bytes)
        if parts[: len(TEMPORARY)] == TEMPORARY:
            raise BadKey(key, "this directory is for temporary files, which are swept")
        return parts

    def path(self, parts: Parts) -> str:
        """The path of a key that was split."""
        return "/".join((self.root, *parts))

    def status(self, parts: Parts) -> os.stat_result | None:
        """What has this name, looking through real directories only; None when nothing has."""
        return DirectoryWalks(self, self._disk).status(parts)

    def children(self, base: str) -> list[Child]:
        """The children of a directory `a/b/`; none when it is gone, or holds temporary files."""
        if base == "/".join((*TEMPORARY, "")):
            return []
        try:
            return self._disk.children(f"{self.root}/{base}")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def oddities(self, base: str) -> list[OddChild]:
        """What is odd in a directory `a/b/`; nothing when it is gone."""
        try:
            return self._disk.oddities(f"{self.root}/{base}")
        except (FileNotFoundError, NotADirectoryError):
            return []

    def walk(self, directory: Parts) -> list[Seen]:
        """Look at each directory on the way down; `OSError` when one is missing or a link."""
        return [self._look_at(self.path(directory[:depth])) for depth in _depths(directory)]

    def make(self, directory: Parts) -> list[Seen]:
        """Walk down and make what is missing. Not durable before `anchor` or `make_durable`."""
        if self._disk.status(self.root) is None and self._disk.make_directory(self.root):
            self._has_made_root = True
        return [self._look_at_or_make(self.path(directory[:depth])) for depth in _depths(directory)]

    def make_durable(self, walked: list[Seen]) -> None:
        """Make the names in the last directory durable, and the way from the root to it."""
        self._sync(walked[-1].path if walked else self.root)
        self.anchor(walked)

    def anchor(self, walked: list[Seen]) -> None:
        """Make the directories themselves durable, those that are not yet trusted."""
        for seen in reversed(walked):
            if self._lasting.get(seen.path) != seen.identity:
                self._sync(os.path.dirname(seen.path))
                self._lasting[seen.path] = seen.identity
        root = self._look_at(self.root)
        if self._lasting.get(root.path) != root.identity:
            self._anchor_root(root)
            self._lasting[root.path] = root.identity

    def make_removal_durable(self, directory: Parts) -> None:
        """Make it durable that a name is gone from a directory, which may itself be gone."""
        for depth in range(len(directory), -1, -1):
            try:
                self._sync(self.path(directory[:depth]))
            except (FileNotFoundError, NotADirectoryError):
                continue
            return

    def remove_if_empty(self, directory: Parts) -> None:
        """Remove a directory, unless something is in it or the file system declines.

        Only to be tidy: nobody depends on it. The root is never removed.
        """
        if not directory:
            return
        self.forget(directory)
        try:
            self._disk.remove_directory(self.path(directory))
        except OSError as error:
            # Mostly other attempts that lie there, or someone who was faster.
            if not (is_refusal(error) or error.errno in _STAYS):
                raise

    def forget(self, directory: Parts) -> None:
        """Trust this directory no longer: it may have been removed and made again.

        The inode does not tell, because file systems give the number of a removed one away again.
        """
        self._lasting.pop(self.path(directory), None)

    def _anchor_root(self, root: Seen) -> None:
        """Make the root itself durable, as far as that is ours.

        A mount point is there because it is mounted, not because of a name in its parent,
        which may belong to a file system that cannot be synced. Nor is a lake refused whose parent
        we may not open: then another user has made the root, and had to make it durable. For a root
        that we have made ourselves, the error is raised.
        """
        parent = os.path.dirname(root.path)
        if self._look_at(parent).identity[0] != root.identity[0]:
            return
        try:
            self._sync(parent)
        except PermissionError:
            if self._has_made_root:
                raise

    def _look_at_or_make(self, path: str) -> Seen:
        try:
            return self._look_at(path)
        except FileNotFoundError:
            self._disk.make_directory(path)
        return self._look_at(path)

    def _look_at(self, path: str) -> Seen:
        status = self._disk.status(path)
        if status is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        if stat.S_ISLNK(status.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return Seen(path, (status.st_dev, status.st_ino))


class DirectoryWalks:
    """The directories of many files, each walked once. For one act, on one thread."""

    def __init__(self, tree: Tree, disk: Disk) -> None:
        self._tree = tree
        self._disk = disk
        self._walked: dict[Parts, list[Seen]] = {}
        self._made: dict[Parts, list[Seen]] = {}

    def walk(self, directory: Parts) -> list[Seen]:
        """As a tree does, the first time."""
        if directory not in self._walked:
            self._walked[directory] = self._tree.walk(directory)
        return self._walked[directory]

    def make(self, directory: Parts) -> list[Seen]:
        """As a tree does, the first time."""
        if directory not in self._made:
            self._made[directory] = self._tree.make(directory)
        return self._made[directory]

    def status(self, parts: Parts) -> os.stat_result | None:
        """The status of a name; None when it or one of its directories does not exist."""
        try:
            self.walk(parts[:-1])
        except (FileNotFoundError, NotADirectoryError):
            return None
        return self._disk.status(self._tree.path(parts))


def require_regular(status: os.stat_result, path: str) -> None:
    """Raise the `OSError` that reading anything but a regular file would give."""
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _depths(directory: Parts) -> range:
    return range(1, len(directory) + 1)
