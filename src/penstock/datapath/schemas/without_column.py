"""Why fields have no column after a window was learned from. Pure.

A field without a column is usually only new: its window has taught it, and the next has a column.
Here are those that learning has passed over, which stay in `_rest` for as long as nobody does
anything about it.
"""

from collections.abc import Collection, Iterable, Iterator, Set

import msgspec

from penstock.model.event_paths import ITEMS, path_below, steps_of
from penstock.model.pinned_types import TypeTree
from penstock.model.read_ways import (
    IMPOSSIBLE_STEP,
    LONG_NAME,
    MOST_CONFLICTS,
    NO_ROOM,
    OTHER_PATHS,
    OUT_OF_RANGE,
    SEVERAL_KINDS,
    Conflict,
    ReadWays,
)
from penstock.model.schema import MAX_FIELDS, DatasetSchema, Field, FieldType, count_fields

_NUMBERS = frozenset({"integer", "fraction"})


def with_causes(
    ways: ReadWays, known: DatasetSchema, types: TypeTree, impossible: Collection[str]
) -> ReadWays:
    """The ways of a dataset, with a cause for each field that `known`, just learned, passes over.

    `impossible` are the paths of fields that a step of `convert` cannot be done with.
    """
    if known.declared or all(each.wanted for each in ways.conflicts):
        return ways
    room = MAX_FIELDS - count_fields(known.fields)
    kinds: dict[str, set[str]] = {}
    for each in ways.conflicts:
        kinds.setdefault(each.path, set()).add(each.found)
    is_flood = len(ways.conflicts) >= MOST_CONFLICTS

    def judged(conflict: Conflict) -> Conflict:
        path = conflict.path
        if conflict.wanted or has_column(known.fields, path):
            return conflict
        cause = _outer_cause(path, room, types, impossible) or _cause(kinds[path], is_flood)
        if LONG_NAME in kinds[path]:
            cause = LONG_NAME
        return msgspec.structs.replace(conflict, cause=cause)

    return msgspec.structs.replace(ways, conflicts=tuple(map(judged, ways.conflicts)))


def _outer_cause(path: str, room: int, types: TypeTree, impossible: Collection[str]) -> str:
    """Why there is no column, whatever the values are."""
    if room <= 0:
        return NO_ROOM
    if path in impossible:
        return IMPOSSIBLE_STEP
    settled = types.at(path)
    return OTHER_PATHS if settled is not None and settled.container else ""


def _cause(kinds: Set[str], is_flood: bool) -> str:
    """Why values of these kinds have no column; empty if they are only new, or of several kinds.

    In a flood of new fields not all are sampled, so that later windows may teach them.
    """
    if kinds == {"array"} or (kinds == {"object"} and not is_flood):
        return SEVERAL_KINDS
    return OUT_OF_RANGE if kinds <= _NUMBERS and not is_flood else ""


def has_column(fields: Iterable[Field], path: str) -> bool:
    """True when a schema has a column for a path."""
    here: FieldType | None = None
    for step in steps_of(path):
        if step is None:
            here = None if here is None else here.item
        else:
            inside = fields if here is None else here.fields
            here = next((each.type for each in inside if each.name == step), None)
        if here is None:
            return False
    return True


def paths_beyond(grown: Iterable[Field], kept: tuple[Field, ...]) -> frozenset[str]:
    """The paths of fields that `grown` has, and `kept` has not; what lies inside them is not."""
    return frozenset(_beyond(grown, kept, ""))


def _beyond(grown: Iterable[Field], kept: tuple[Field, ...], path: str) -> Iterator[str]:
    known = {each.name: each.type for each in kept}
    for each in grown:
        below = path_below(path, each.name)
        if each.name not in known:
            yield below
            continue
        inside, before = each.type, known[each.name]
        while inside.item is not None and before.item is not None:
            inside, before, below = inside.item, before.item, below + ITEMS
        yield from _beyond(inside.fields, before.fields, below)
