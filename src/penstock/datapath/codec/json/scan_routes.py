"""Which dataset a record seems to belong to: a quick look for the route's field. Compiled.

The field is looked for where it was in the record before, counted from the beginning or from the
end, and then anywhere. What is found may be a field of the same name in another object, so it is a
guess; the scanner proves it or says what the text is.
"""

from typing import NamedTuple

import numpy as np

from penstock.datapath.codec.json.scan_members import place_of
from penstock.datapath.codec.json.scan_tables import padded
from penstock.datapath.codec.json.scan_text import (
    INVALID,
    QUOTE,
    after_space,
    hash_of,
    is_same,
    text_end,
)
from penstock.datapath.codec.json.scan_values import COLON
from penstock.datapath.codec.json.value_text import name_text
from penstock.datapath.codec.shared.byte_gather import Numbers, Octets
from penstock.datapath.codec.shared.compiled import compiled
from penstock.datapath.codec.shared.machine_words import PADDING, Word, pointer_to

NO_ROUTE = -1
_SIZE = 0x7FFFFFFF


class Routes(NamedTuple):
    """The texts that name datasets, and the field that has them.

    `key` is the field's name with its quotes. A text with number n lies at `starts[n]`, up to
    `starts[n + 1]`. `table` is a hash table of their numbers. `memory` is where the field was in
    the last record, from its beginning and from its end.
    """

    key: Octets
    texts: Octets
    starts: Numbers
    table: Numbers
    memory: Numbers


def routes_of(field: str, texts: list[str]) -> Routes:
    """Make the texts of a route's field ready for looking."""
    key = name_text(field.rpartition(".")[2])[:-1].encode()
    encoded = [text.encode() for text in texts]
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    size = 16
    while size < 3 * len(encoded):
        size *= 2
    table = np.full(size, NO_ROUTE, np.int64)
    routes = Routes(padded(key), padded(b"".join(encoded)), starts, table, np.zeros(2, np.int64))
    _fill_table(routes)
    return routes


@compiled
def _fill_table(routes: Routes) -> None:
    mask = len(routes.table) - 1
    texts = pointer_to(routes.texts)
    for number in range(len(routes.starts) - 1):
        found = hash_of(texts, routes.starts[number], routes.starts[number + 1])
        place = place_of(found, 0, mask + 1)
        while routes.table[place] != NO_ROUTE:
            place = (place + 1) & mask
        routes.table[place] = number


@compiled
def _number_of(data: Octets, at: int, end: int, routes: Routes) -> Word:
    """The number of a text, or NO_ROUTE."""
    texts, mask = pointer_to(routes.texts), len(routes.table) - 1
    place = place_of(hash_of(data, at, end), 0, mask + 1)
    while routes.table[place] != NO_ROUTE:
        number = routes.table[place]
        start = routes.starts[number]
        size = routes.starts[number + 1] - start
        if size == end - at and is_same(data, at, texts, start, size):
            return number
        place = (place + 1) & mask
    return NO_ROUTE


@compiled
def numbers_at(data: Octets, places: Numbers, routes: Routes, numbers: Numbers) -> None:
    """The numbers of texts that lie in some places; NO_ROUTE where a place is below zero."""
    pointer = pointer_to(data)
    for each in range(len(places)):
        start, size = places[each] >> 32, places[each] >> 1 & _SIZE
        numbers[each] = NO_ROUTE
        if places[each] >= 0:
            numbers[each] = _number_of(pointer, start, start + size, routes)


@compiled
def guess_routes(
    data: Octets, starts: Numbers, ends: Numbers, routes: Routes, numbers: Numbers
) -> None:
    """The number of the text that seems to be in the route's field of each record."""
    pointer, key, size = pointer_to(data), pointer_to(routes.key), len(routes.key) - PADDING
    for each in range(len(starts)):
        start, end = starts[each], ends[each]
        numbers[each] = NO_ROUTE
        at = _find_key(pointer, start, end, key, size, routes.memory)
        if at == INVALID:
            continue
        routes.memory[0], routes.memory[1] = at - start, end - at
        at = after_space(pointer, at + size)
        if pointer[at] != COLON:
            continue
        at = after_space(pointer, at + 1)
        if at < end and pointer[at] == QUOTE:
            then = text_end(pointer, at + 1, end)[0]
            if then != INVALID:
                numbers[each] = _number_of(pointer, at + 1, then, routes)


@compiled
def _find_key(data: Octets, start: int, end: int, key: Octets, size: int, memory: Numbers) -> Word:
    """Where a key is in a record, or INVALID."""
    last = end - size
    at = start + memory[0]
    if at <= last and is_same(data, at, key, 0, size):
        return at
    at = end - memory[1]
    if start <= at <= last and is_same(data, at, key, 0, size):
        return at
    first, second = key[0], key[1]
    for place in range(start, last + 1):
        is_begin = data[place] == first and data[place + 1] == second
        if is_begin and is_same(data, place, key, 0, size):
            return place
    return INVALID
