"""What a journal needs of the state of its book, and the checkpoint that holds such a state."""

from collections.abc import Callable, Mapping
from typing import Generic, Protocol, TypeVar

from penstock.model.value import Value


class UndoneEntry(Protocol):
    """A decided entry with groups that no marker proves done."""

    number: int
    sha256: str
    groups: list[str]


class BookState(Protocol):
    """The fold of the entries 0 to `number`; -1 and `GENESIS` before the first.

    The journal sets `number`, `sha256`, `epoch` and `owner`; the rest is the book's. A state is a
    msgspec struct. `number`, `sha256` and `undone` must keep their names in checkpoints, because
    every later fold reads them from older ones.
    """

    number: int
    sha256: str
    epoch: int
    owner: str

    @property
    def is_new(self) -> bool:
        """True when there is no journal yet."""
        ...

    @property
    def undone(self) -> Mapping[int, UndoneEntry]:
        """The entries that are not done, by number; empty in a book that publishes nothing."""
        ...

    def keep_undone(self, still_open: Callable[[UndoneEntry], list[str]]) -> None:
        """Keep of each undone entry the groups that `still_open` returns: see `keep_open`."""
        ...


S = TypeVar("S", bound=BookState)
U = TypeVar("U", bound=UndoneEntry)


def keep_open(undone: dict[int, U], still_open: Callable[[U], list[str]]) -> None:
    """Set the groups of each undone entry; remove the entries that have none left."""
    for each in list(undone.values()):
        each.groups = still_open(each)
        if not each.groups:
            del undone[each.number]


class Checkpoint(Value, Generic[S], frozen=True):
    """The state up to an entry, and the number of the fold that made it."""

    fold: int
    state: S
