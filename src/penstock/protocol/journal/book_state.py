"""What a journal needs of the state of its book, and the checkpoint that holds such a state."""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from penstock.model.envelope import Seal
from penstock.model.value import Value


class UndoneEntry(Protocol):
    """A decided entry with parts that no marker proves done. What a part is, the book says.

    A name that ends before an `@` means all parts that begin with it: `a` is `a@files` and others.
    """

    number: int
    sha256: str
    parts: list[str]


class BookState(Protocol):
    """The fold of the entries 0 to `number`; -1 and `GENESIS` before the first.

    The journal sets `number`, `sha256`, `epoch`, `owner` and `seal`, which is the newest one; the
    rest is the book's. A state is a msgspec struct. `number`, `sha256` and `undone`, and in these
    the parts as `groups`, must keep their names in checkpoints, because every later fold reads them
    from older ones.
    """

    number: int
    sha256: str
    epoch: int
    owner: str
    seal: Seal | None

    @property
    def is_new(self) -> bool:
        """True when there is no journal yet."""
        ...

    @property
    def undone(self) -> Mapping[int, UndoneEntry]:
        """The entries that are not done, by number; empty in a book that publishes nothing."""
        ...

    def to_look_up(self) -> Iterable[UndoneEntry]:
        """The undone entries whose markers may say more than the state does."""
        ...

    def waiting(self) -> Iterable[UndoneEntry]:
        """Every entry with parts that nothing proves done, also those that are set aside."""
        ...

    def keep_undone(self, still_open: Callable[[UndoneEntry], list[str]]) -> None:
        """Keep of each undone entry the parts that `still_open` returns: see `keep_open`."""
        ...


S = TypeVar("S", bound=BookState)


def sealed_to(state: BookState) -> int:
    """The last entry that a decided seal covers; -1 for none."""
    return -1 if state.seal is None else state.seal.last


U = TypeVar("U", bound=UndoneEntry)


def keep_open(undone: dict[int, U], still_open: Callable[[U], list[str]]) -> None:
    """Set the parts of each undone entry; remove the entries that have none left."""
    for each in list(undone.values()):
        each.parts = still_open(each)
        if not each.parts:
            del undone[each.number]


def is_named(part: str, names: Container[str]) -> bool:
    """True if a part is among these names, by itself or with all parts that begin like it."""
    return part in names or part.partition("@")[0] in names


class Checkpoint(Value, Generic[S], frozen=True):
    """The state up to an entry, and the number of the fold that made it."""

    fold: int
    state: S
