"""Mutations of the journal and of the tally's book: each must be noticed by the tally's oracle."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from unittest.mock import patch

from penstock.model.envelope import Sealed
from penstock.ports.store import create_once as create_once_room
from penstock.protocol.journal import every_book
from penstock.protocol.journal.book import Book
from penstock.protocol.journal.journal import Journal
from tests.simulator import tally_world
from tests.simulator.mutations import Catch, Mutation
from tests.simulator.tally_book import (
    TALLY_BOOK,
    Counted,
    LoadedTally,
    TallyBody,
    TallyState,
    apply,
)
from tests.simulator.tally_world import first_violation

Switch = Callable[[], AbstractContextManager[object]]


def _nothing(*_args: object, **_kwargs: object) -> None:
    return None


def _twice(state: TallyState, sealed: Sealed[TallyBody]) -> None:
    apply(state, sealed)
    apply(state, sealed)


def _with_book(book: Book[TallyState, TallyBody, Counted]) -> Switch:
    """Hand another book to every journal."""
    return lambda: patch.object(tally_world, "TALLY_BOOK", book)


@contextmanager
def _no_epoch_check() -> Iterator[None]:
    with (
        patch.object(Journal, "_check_fenced", _nothing),
        patch.object(every_book, "epoch_objection", _nothing),
    ):
        yield


TALLY_MUTATIONS: tuple[Mutation, ...] = (
    Mutation("tally: epoch check on append", _no_epoch_check),
    Mutation(
        "tally: nonce read-back",
        lambda: patch.object(create_once_room, "is_mine", lambda _found, _mine: False),
    ),
    Mutation("tally: a book folds an entry once", _with_book(replace(TALLY_BOOK, apply=_twice))),
    Mutation("tally: a book's own rule", _with_book(replace(TALLY_BOOK, objection=_nothing))),
    Mutation(
        "tally: what is consumed must be live",
        lambda: patch.object(LoadedTally, "objection", _nothing),
    ),
    Mutation(
        "tally: done markers are believed",
        lambda: patch.object(Journal, "see_done", _nothing),
    ),
)


def catch_tally(mutation: Mutation, seeds: int = 1_000) -> Catch:
    """Run random worlds until the oracle objects."""
    with mutation.switch_off():
        why = first_violation(seeds)
    by, _, error = why.partition(": ")
    return Catch(mutation.rule, by, error or "nothing noticed", seeds)
