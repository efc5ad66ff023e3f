"""Giving a file its visible name, and taking a name away, with what is known afterwards."""

import errno
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum

from penstock.errors import OutcomeUnknown, StoreUnavailable, StoreUnfit
from penstock.ports.store.delete_each import keys_not_deleted
from penstock.ports.store.local.disk import Disk
from penstock.ports.store.local.tree import Parts, Tree
from penstock.ports.store.os_errors import (
    after_it_began,
    before_it_begins,
    is_refusal,
    reason,
    while_it_happens,
)
from penstock.runtime.surroundings import side_by_side


class Linked(Enum):
    """What a try to give a file its visible name came to."""

    OURS = "the name is this very file"
    TAKEN = "something else has the name"
    VANISHED = "the file, or the directory it should go to, is not there any more"


@dataclass(frozen=True, slots=True)
class Names:
    """Makes and removes names below a tree. `act` and `key` are for the sentence of an error."""

    disk: Disk
    tree: Tree

    def give(self, act: str, key: str, source: str, target: str) -> Linked:
        """Link without overwriting. Raises when it is refused, or when nobody knows."""
        try:
            self.disk.link(source, target)
        except FileExistsError:
            # A network file system may repeat a request whose reply it lost, and meet itself.
            return Linked.OURS if self._is_same(source, target) else Linked.TAKEN
        except FileNotFoundError:
            return Linked.VANISHED
        except OSError as error:
            if error.errno == errno.EXDEV:
                promise = "have what is written and what is visible on one file system"
                raise StoreUnfit(
                    self.tree.root, promise, f"{source!r} cannot become {target!r}"
                ) from error
            if is_refusal(error):
                raise StoreUnavailable(act, key, reason(error)) from error
            if not self._is_same(source, target):
                raise OutcomeUnknown(act, key, reason(error)) from error
        return Linked.OURS

    def take(self, act: str, key: str, parts: Parts) -> None:
        """Unlink durably. A name that is gone already is made durably gone, too."""
        self._unlink(act, key, parts)
        with after_it_began(act, key):
            self.tree.make_removal_durable(parts[:-1])

    def take_all(self, act: str, names: Mapping[str, Parts]) -> set[str]:
        """Unlink many, then sync each directory once; the keys for which that is not certain."""
        members: dict[Parts, list[str]] = {}

        def unlink(key: str) -> None:
            self._unlink(act, key, names[key])
            members.setdefault(names[key][:-1], []).append(key)

        def sync(first: str) -> None:
            with after_it_began(act, first):
                self.tree.make_removal_durable(names[first][:-1])

        left = keys_not_deleted(unlink, names)
        unsynced = keys_not_deleted(sync, [keys[0] for keys in members.values()], side_by_side)
        return left.union(*(keys for keys in members.values() if keys[0] in unsynced))

    def _unlink(self, act: str, key: str, parts: Parts) -> None:
        gone = (FileNotFoundError, NotADirectoryError)
        with before_it_begins(act, key), suppress(*gone):
            self.tree.walk(parts[:-1])
        with while_it_happens(act, key), suppress(*gone):
            self.disk.unlink(self.tree.path(parts))

    def _is_same(self, source: str, target: str) -> bool:
        try:
            one, other = self.disk.status(source), self.disk.status(target)
        except OSError:
            return False
        if one is None or other is None:
            return False
        return (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
