"""A second book, as small as a book can be: a tally. It shows that a journal is handed its book.

Its kinds are `open` (entry 0), `add` and `take_back`. An `add` must keep the total below a limit,
which is a rule on the state. A `take_back` consumes an `add` that is still counted and was posted,
which only the long part of the state can judge. An `add` has one group, `post`, to be marked done.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import msgspec

from penstock.api.store import Store
from penstock.model.envelope import GENESIS, Body, Claim, Common, Envelope, Seal, Sealed
from penstock.protocol.journal.book import Book, LongState
from penstock.protocol.journal.book_state import Checkpoint, UndoneEntry, keep_open

POST = "post"


class Open(Body, frozen=True, tag="open"):
    """Entry 0: the highest total."""

    limit: int


class Add(Body, frozen=True, tag="add"):
    """An amount, under a token that nobody uses twice."""

    token: str
    amount: int


class TakeBack(Body, frozen=True, tag="take_back"):
    """The amount of the entry `number` does not count any more."""

    number: int
    amount: int


TallyBody: TypeAlias = Open | Add | TakeBack
TallyEntry: TypeAlias = Envelope[TallyBody]


class Unposted(msgspec.Struct, forbid_unknown_fields=True):
    """An `add` that no marker proves posted."""

    number: int
    sha256: str
    parts: list[str] = msgspec.field(name="groups")


class TallyState(msgspec.Struct, forbid_unknown_fields=True):
    """The total, and what a journal needs to know."""

    number: int = -1
    sha256: str = GENESIS
    epoch: int = 0
    owner: str = ""
    limit: int = 0
    total: int = 0
    undone: dict[int, Unposted] = {}
    seal: Seal | None = None

    @property
    def is_new(self) -> bool:
        """True when there is no journal yet."""
        return self.number < 0

    def to_look_up(self) -> Iterable[Unposted]:
        """All of them."""
        return list(self.undone.values())

    def waiting(self) -> Iterable[Unposted]:
        """All of them."""
        return list(self.undone.values())

    def keep_undone(self, still_open: Callable[[UndoneEntry], list[str]]) -> None:
        """Keep of each `add` that is not posted the parts that `still_open` returns."""
        keep_open(self.undone, still_open)


TallyCheckpoint: TypeAlias = Checkpoint[TallyState]


def objection(state: TallyState, entry: TallyEntry) -> str | None:
    """Why the body cannot be decided on this state, or None."""
    match entry.body:
        case Add() as add:
            over = state.total + add.amount > state.limit
            return f"{state.total} and {add.amount} is above {state.limit}" if over else None
        case Open() | TakeBack() | Claim() | Seal():
            return None
        case _ as never:
            assert_never(never)


def apply(state: TallyState, sealed: Sealed[TallyBody]) -> None:
    """Take one entry into the state."""
    match sealed.body:
        case Open() as opened:
            state.limit = opened.limit
        case Add() as add:
            state.total += add.amount
            state.undone[sealed.number] = Unposted(sealed.number, sealed.sha256, [POST])
        case TakeBack() as back:
            state.total -= back.amount
        case Claim() | Seal():
            pass
        case _ as never:
            assert_never(never)


Counted: TypeAlias = dict[int, int]  # the amounts of entries that still count, by number


@dataclass(frozen=True)
class LoadedTally:
    """One entry, and the amounts that it is judged against."""

    counted: Counted

    def objection(self, entry: TallyEntry, undone: Mapping[int, UndoneEntry]) -> str | None:
        """Why the entry may not take back what it names, or None."""
        back = entry.body
        if not isinstance(back, TakeBack):
            return None
        if self.counted.get(back.number) != back.amount:
            return f"entry {back.number} does not count {back.amount} any more"
        return f"entry {back.number} is not posted" if back.number in undone else None

    def apply(self, entry: TallyEntry) -> None:
        """Count an amount, or stop counting one."""
        if isinstance(entry.body, Add):
            self.counted[entry.number] = entry.body.amount
        elif isinstance(entry.body, TakeBack):
            self.counted.pop(entry.body.number, None)


def load(counted: Counted, _store: Store, _body: TallyBody | Common) -> LoadedTally:
    """The entry has all in itself, so there is nothing to read."""
    return LoadedTally(counted)


def consumes(body: TallyBody | Common) -> bool:
    """True for bodies that only a deep fold can judge."""
    return isinstance(body, TakeBack)


TALLY_BOOK: Book[TallyState, TallyBody, Counted] = Book(
    name="tally",
    first=Open,
    entries=msgspec.json.Decoder(TallyEntry),
    format=1,
    upgrades={},
    empty=TallyState,
    objection=objection,
    apply=apply,
    checkpoints=msgspec.json.Decoder(TallyCheckpoint),
    fold=1,
    long=LongState(dict, load, consumes),
)
