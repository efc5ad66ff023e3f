"""Fields of several kinds where nearly all records agree: they get the column of the usual kind.

One `"n/a"` among the numbers of a first window must not cost the whole column. Where a field is in
conflict, the records are counted by the kind of its values; a record that has several kinds, in a
list, counts for none. A kind that at least nine of ten records have is taken, and what the others
have goes to `_rest`, as it would if they had come a window later. A field that is really mixed gets
no column still: the configuration can then settle its type freely, which is not possible for a
column that files have.
"""

from collections import Counter
from collections.abc import Sequence
from copy import deepcopy

from penstock.datapath.codec.json.inference import (
    CONFLICT,
    NOTHING,
    SCALARS,
    SeenField,
    number_kind,
    objects_of,
    says_nothing,
    see,
)
from penstock.datapath.codec.shared.limits import Limits
from penstock.datapath.codec.shared.value_types import JsonValue
from penstock.model.pinned_types import TypeTree
from penstock.model.schema import MAX_NESTING

USUAL_SHARE = 0.9
_SEVERAL = "several"

_Kinds = dict[int, set[str]]  # the kinds of the values of one record, by the id of the field


def see_usual(samples: Sequence[bytes], limits: Limits, types: TypeTree | None) -> SeenField:
    """Everything seen in the samples, of fields in conflict that of the usual kind."""
    settled = types or TypeTree()
    seen = see(samples, limits, settled)
    for _ in range(MAX_NESTING):  # an object that is settled shows conflicts inside of it
        conflicts = _conflicts(seen)
        tallies: dict[int, Counter[str]] = {id(field): Counter() for field in conflicts}
        if not tallies:
            break
        for members in objects_of(samples, limits):
            _count(seen, members, tallies)
        usual = deepcopy(settled)
        if not _settle(seen, usual, tallies):
            break
        settled = usual
        seen = see(samples, limits, settled)
    return seen


def _conflicts(seen: SeenField) -> list[SeenField]:
    """All fields in conflict, at any depth."""
    inside = [*seen.fields.values(), *([] if seen.item is None else [seen.item])]
    below = [field for each in inside for field in _conflicts(each)]
    return [seen, *below] if seen.kind == CONFLICT else below


def _count(seen: SeenField, members: JsonValue, tallies: dict[int, Counter[str]]) -> None:
    """Count one record for every field in conflict that it has."""
    kinds: _Kinds = {}
    _meet(seen, members, kinds)
    for field, met in kinds.items():
        if met == {"int64", "double"}:
            met.discard("int64")
        tallies[field][met.pop() if len(met) == 1 else _SEVERAL] += 1


def _meet(seen: SeenField, value: JsonValue, kinds: _Kinds) -> None:
    """Note the kinds of all values that lie in fields in conflict."""
    if seen.kind == CONFLICT:
        kind = _kind_of(value)
        if kind != NOTHING:
            kinds.setdefault(id(seen), set()).add(kind)
    elif isinstance(value, dict) and seen.kind == "struct":
        for name in seen.fields.keys() & value.keys():
            _meet(seen.fields[name], value[name], kinds)
    elif isinstance(value, list) and seen.item is not None:
        for item in value:
            _meet(seen.item, item, kinds)


def _kind_of(value: JsonValue) -> str:
    """The kind of column that a value asks for."""
    if says_nothing(value):
        return NOTHING
    if isinstance(value, dict):
        return "struct"
    if isinstance(value, list):
        return "list"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else number_kind(value)


def _settle(seen: SeenField, types: TypeTree, tallies: dict[int, Counter[str]]) -> bool:
    """Write the usual kinds into the types; False if there are none."""
    if seen.kind == CONFLICT:
        return _settle_one(types, tallies[id(seen)])
    found = False
    for name, field in seen.fields.items():
        if _conflicts(field):
            found |= _settle(field, types.fields.setdefault(name, TypeTree()), tallies)
    if seen.item is not None and _conflicts(seen.item):
        types.item = types.item or TypeTree()
        found |= _settle(seen.item, types.item, tallies)
    return found


def _settle_one(types: TypeTree, tally: Counter[str]) -> bool:
    """Settle one field, if nearly all records agree."""
    enough = USUAL_SHARE * tally.total()
    numbers = tally["int64"] + tally["double"]
    if numbers >= enough:
        types.type = SCALARS["double" if tally["double"] else "int64"]
        return True
    kind, records = max(tally.items(), key=lambda each: each[1])
    if records < enough or kind == _SEVERAL:
        return False
    if kind in SCALARS:
        types.type = SCALARS[kind]
    else:
        types.usual = kind
    return True
