"""How many different names were met, in bounded memory and by several tasks.

Each task keeps the smallest hashes of the names that it met. The smallest of all tasks together say
how many names there are: exactly while they are few, and else by how dense the hashes lie.
"""

import hashlib
from collections.abc import Iterable

MOST_KEPT = 1_024
_ALL = 2**63  # hashes are below it, so that they travel as plain integers


class DistinctNames:
    """The names that one task met. Not for use by several threads at once."""

    def __init__(self) -> None:
        self._kept: set[int] = set()

    def add(self, name: str) -> None:
        """Take a name, perhaps not for the first time."""
        self._kept.add(_hash_of(name))
        if len(self._kept) > 2 * MOST_KEPT:
            self._kept = set(smallest(self._kept))

    def hashes(self) -> tuple[int, ...]:
        """What other tasks' hashes can be counted together with."""
        return smallest(self._kept)


def smallest(hashes: Iterable[int]) -> tuple[int, ...]:
    """The smallest of some hashes, each once, in order."""
    return tuple(sorted(set(hashes))[:MOST_KEPT])


def count_of(hashes: Iterable[int]) -> int:
    """How many names these hashes of all tasks stand for; an estimate above `MOST_KEPT`."""
    found = smallest(hashes)
    if len(found) < MOST_KEPT:
        return len(found)
    return round((MOST_KEPT - 1) * (_ALL / found[-1]))


def _hash_of(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % _ALL
