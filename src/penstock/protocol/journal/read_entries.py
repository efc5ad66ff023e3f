"""Reads many entries of a journal in order, side by side where a listing says that they are there.

A listing only says what to ask for at once. It decides nothing: an entry that it names and that is
not there is asked for again by itself, and what lies beyond the listing is asked for one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from penstock.api.store import Store
from penstock.model.layout import Layout, number_in
from penstock.ports.store.list_keys import list_keys
from penstock.protocol.journal.segments import Segments
from penstock.runtime.surroundings import Acts, Surroundings

BATCH = 64  # entries that are in memory at once; enough that all threads have work


class Wanted(NamedTuple):
    """Entries from `number` on, up to one, or to the tail."""

    number: int
    up_to: int | None = None


T = TypeVar("T")
R = TypeVar("R")


def ask_all(
    around: Surroundings, ask: Callable[[T], R], asked: Sequence[T], batch: int = BATCH
) -> Iterator[tuple[T, R]]:
    """The answers in the order of the questions; a batch of them is asked at once."""
    for begin in range(0, len(asked), batch):
        some = asked[begin : begin + batch]
        answers: dict[int, R] = {}

        def put(index: int, each: T, answers: dict[int, R] = answers) -> None:
            answers[index] = ask(each)

        around.do_all([partial(put, index, each) for index, each in enumerate(some)])
        yield from ((each, answers[index]) for index, each in enumerate(some))


def listed_entries(store: Store, layout: Layout, number: int, up_to: int | None) -> list[int]:
    """The numbers from `number` on that a listing of its shard names, up to the first hole."""
    keys = list_keys(store, layout.shard(layout.journal, number), layout.entry(number - 1))
    named = {number_in(key.rpartition("/")[2]) for key in keys}
    found = []
    while number in named and (up_to is None or number <= up_to):
        found.append(number)
        number += 1
    return found


def entry_bytes(
    segments: Segments, numbers: Sequence[int], do_all: Callable[[Acts], None]
) -> list[bytes | None]:
    """The bytes of these entries, read at once; sealed ones come out of their segments.

    An entry that was read where it was created counts only if its number is not sealed after that.
    """
    found: dict[int, bytes | None] = {}

    def read(number: int) -> None:
        found[number] = segments.original(number)

    asked = [number for number in numbers if not segments.covers(number)]
    if len(asked) == 1:
        read(asked[0])
    elif asked:
        do_all([partial(read, number) for number in asked])
    if asked:
        segments.look()
    return [segments.entry(n) if segments.covers(n) else found[n] for n in numbers]


def listed_bytes(
    store: Store, layout: Layout, around: Surroundings, wanted: Wanted
) -> Iterator[tuple[int, bytes]]:
    """The listed entries from a number on, as far as they are there."""
    listed = listed_entries(store, layout, wanted.number, wanted.up_to)
    for each, raw in ask_all(around, lambda n: store.read(layout.entry(n)), listed):
        if raw is None:
            return
        yield each, raw
