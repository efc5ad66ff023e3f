"""Conflicts by field: everything of one path that did not fit, and what would cure it. Pure."""

from collections.abc import Iterable

from penstock.model.read_ways import (
    IMPOSSIBLE_STEP,
    LONG_NAME,
    NO_ROOM,
    OTHER_PATHS,
    OUT_OF_RANGE,
    SEVERAL_KINDS,
    Conflict,
    ReadWays,
)
from penstock.model.schema import MAX_FIELDS
from penstock.model.value import Value

_NUMBERS = frozenset({"integer", "fraction", OUT_OF_RANGE})
_EXACT = frozenset({"integer", "fraction"})
_NUMBER_COLUMNS = frozenset({"int64", "double"})
_NESTED = frozenset({"object", "array"})
_NESTED_COLUMNS = frozenset({"struct", "list", "map"})
# Why a field gets no column, in words; and those causes that no type helps against.
_CAUSES = {
    NO_ROOM: f"the dataset has {MAX_FIELDS:,} fields with columns, and no more are learned",
    LONG_NAME: "its name is longer than 1,024 bytes",
    SEVERAL_KINDS: "no column can hold what is in it: a list of several kinds of items, only "
    "fields with values of several kinds, numbers that fit no column, too many levels or too "
    "many fields",
    OUT_OF_RANGE: "its numbers fit no column of numbers",
    OTHER_PATHS: "`types` has paths inside of it, and its values are not of that form",
    IMPOSSIBLE_STEP: "a step of `convert` cannot be done with it",
}
_INCURABLE = frozenset({NO_ROOM, LONG_NAME, OTHER_PATHS, IMPOSSIBLE_STEP})


class FieldConflict(Value, frozen=True):
    """One field of a dataset: its column, empty if it has none, and the kinds of other values.

    `records` are those with such a value, and the position is that of the first.
    """

    dataset: str
    path: str
    wanted: str
    found: tuple[str, ...]
    records: int
    topic: str
    partition: int
    offset: int
    cause: str = ""

    @property
    def is_new(self) -> bool:
        """True for a field that is only new, as far as can be told: it will get a column."""
        if self.wanted or self.cause:
            return False
        return len(self.found) == 1 or _NUMBERS.issuperset(self.found)

    @property
    def why(self) -> str:
        """Why the values are in `_rest`, in words."""
        if self.wanted:
            return "they do not fit its type"
        return _CAUSES.get(self.cause, self.cause) or "its values are of several kinds"

    @property
    def cure(self) -> str:
        """The type that holds all values of the field; empty if none does."""
        if not self.wanted and self.cause in _INCURABLE:
            return ""
        if self.wanted in _NESTED_COLUMNS or not _NESTED.isdisjoint(self.found):
            return "json"
        is_number = self.wanted in _NUMBER_COLUMNS and _EXACT.issuperset(self.found)
        return "double" if is_number else "string"


def field_conflicts(ways: ReadWays) -> tuple[FieldConflict, ...]:
    """The conflicts of a dataset, one per field, those of the most records first."""
    by_path: dict[str, list[Conflict]] = {}
    for each in ways.conflicts:
        by_path.setdefault(each.path, []).append(each)
    found = [_field(ways.dataset, path, some) for path, some in by_path.items()]
    return tuple(sorted(found, key=lambda each: (-each.records, each.path)))


def all_conflicts(ways: Iterable[ReadWays]) -> list[FieldConflict]:
    """The conflicts of several datasets, those of the most records first."""
    found = [conflict for each in ways for conflict in field_conflicts(each)]
    return sorted(found, key=lambda each: (-each.records, each.dataset, each.path))


def _field(dataset: str, path: str, conflicts: list[Conflict]) -> FieldConflict:
    """One field. What went to `_rest` before it got its column does not count any more."""
    with_column = [each for each in conflicts if each.wanted]
    counted = with_column or conflicts
    first = min(counted, key=lambda each: (each.topic, each.partition, each.offset))
    return FieldConflict(
        dataset,
        path,
        counted[0].wanted,
        tuple(sorted({each.found for each in counted})),
        sum(each.records for each in counted),
        first.topic,
        first.partition,
        first.offset,
        next((each.cause for each in counted if each.cause), ""),
    )
