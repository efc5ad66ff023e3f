"""A book: what the entries of a journal mean. A journal is handed one and knows two kinds.

These are claims and seals.

A feed has a book (`protocol/feed_book`). Another journal brings another book and gets append,
chain, fencing, markers, checkpoints and witnesses as they are.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

import msgspec

from penstock.api.store import Store
from penstock.model.envelope import Body, Common, Envelope, Sealed
from penstock.protocol.journal.book_state import Checkpoint, S, UndoneEntry

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = dict[str, Json]
Upgrade: TypeAlias = Callable[[JsonObject], JsonObject]

B = TypeVar("B", bound=Body)  # the kinds of a book: one class, or a union
B_contra = TypeVar("B_contra", bound=Body, contravariant=True)
L = TypeVar("L")  # the long part of the state; `None` in a book without one


class LoadedEntry(Protocol[B_contra]):
    """What the long part of the state needs of one entry, read from the store once."""

    def objection(self, entry: Envelope[B_contra], undone: Mapping[int, UndoneEntry]) -> str | None:
        """Why the entry cannot be the next one, or None; `undone` are entries that are not done."""
        ...

    def apply(self, entry: Envelope[B_contra]) -> None:
        """Fold the entry into the long part."""
        ...


@dataclass(frozen=True, slots=True)
class LongState(Generic[B, L]):
    """The long part of a book's state. Only deep folds make it; owners never need it.

    `consumes` names the bodies that can only be judged with it. `load` reads what one entry needs
    from the store, before the entry is judged.
    """

    empty: Callable[[], L]
    load: Callable[[L, Store, B | Common], LoadedEntry[B]]
    consumes: Callable[[B | Common], bool]


def no_objection(_state: object, _entry: Envelope[Body]) -> str | None:
    """Nothing more is asked of a new entry."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Book(Generic[S, B, L]):
    """Kinds, rules, fold and state of a journal.

    All functions are pure, except `load` of the long part.

    `first` is the kind of entry 0, and of no other. `objection` says why a body cannot be decided
    in this state, or None; it judges an entry before it is appended and when it is folded, so it
    must not depend on what markers prove: a reader may see a marker before the entries that its
    author decided until then. What depends on them is `append_objection`, which judges an entry
    only before it is appended. `apply` folds a judged entry into the state. All get claims and
    seals too, which the journal itself judges and folds. `format` is raised by every change of a
    class inside entries, and `upgrades` has a function from each older format to the next. `fold`
    is raised when the state gets another form, or when the same entries give another state.
    """

    name: str  # of what it is a book, for messages
    first: type[Body]
    entries: msgspec.json.Decoder[Envelope[B]]
    format: int
    upgrades: Mapping[int, Upgrade]
    empty: Callable[[], S]
    objection: Callable[[S, Envelope[B]], str | None]
    apply: Callable[[S, Sealed[B]], None]
    checkpoints: msgspec.json.Decoder[Checkpoint[S]]
    fold: int
    long: LongState[B, L] | None = None
    append_objection: Callable[[S, Envelope[B]], str | None] = no_objection
