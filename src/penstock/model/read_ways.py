"""How the records of a dataset were read, and which values did not fit: counts, never values.

A decoder tells `ReadCounts` of a batch, in which records have numbers. A task adds them up and
turns numbers into positions. The entry of a window has one `ReadWays` for each dataset.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as replace_fields

from penstock.model.value import Value

MOST_CONFLICTS = 20  # of a dataset in a window; those of the most records are kept
MOST_IN_WINDOW = 500  # conflicts of all datasets of a window
MOST_REASONS = 5
MOST_MISFITS = 256  # that are counted in a batch or a task
LONGEST_PATH = 200  # characters of a path in an entry

# Why records are read by the reference. A bad record is counted by the code of its quarantine.
NO_COLUMN = "NO_COLUMN"  # a field without a column
NOT_FITTING = "NOT_FITTING"  # a value that its column cannot hold
OTHER_TYPE = "OTHER_TYPE"  # the schema has a type that the fast way does not read
OTHER_FORM = "OTHER_FORM"  # a form of writing that the fast way does not read

# Why a field has no column and gets none, as the entry has it; see `field_conflicts`.
NO_ROOM = "no room"  # the dataset has as many columns as are learned
LONG_NAME = "long name"  # also what is found there: values of any kind
SEVERAL_KINDS = "several kinds"  # lists of several kinds of items, or nested too deeply
OUT_OF_RANGE = "number out of range"  # numbers that fit no column
OTHER_PATHS = "other paths"  # `types` has paths inside of it, and its values are not of that form
IMPOSSIBLE_STEP = "impossible step"  # a step of `convert` cannot be done with it

Misfit = tuple[str, str, str]  # the path of a field, the type of its column or "", what was found
Misfits = dict[Misfit, tuple[int, int]]  # in how many records, and the number of the first


@dataclass(slots=True)
class ReadCounts:
    """How the records of one batch were read.

    fast, reference   how many records were read each way, bad ones included
    reasons           why records were read by the reference: how many, and the path of one field
    empty             values that say nothing and have no column, and were left out
    misfits           values that went to `_rest`: in how many records, and the number of the first
    """

    fast: int = 0
    reference: int = 0
    reasons: dict[str, tuple[int, str]] = field(default_factory=dict)
    empty: int = 0
    misfits: Misfits = field(default_factory=dict)

    def moved(self, by: int) -> "ReadCounts":
        """The same counts, of records whose numbers are higher."""
        misfits = {key: (records, first + by) for key, (records, first) in self.misfits.items()}
        return replace(self, misfits=misfits)

    def add_reason(self, reason: str, path: str = "", records: int = 1) -> None:
        """Count records that were read by the reference for one reason."""
        before, sample = self.reasons.get(reason, (0, path))
        self.reasons[reason] = (before + records, sample or path)

    def add_misfit(self, misfit: Misfit, first: int, records: int = 1) -> None:
        """Count records that have such a value in `_rest`; `first` is the number of one.

        Of many different ones only the first are counted: keys of an object may be data.
        """
        if misfit not in self.misfits and len(self.misfits) >= MOST_MISFITS:
            return
        before, earliest = self.misfits.get(misfit, (0, first))
        self.misfits[misfit] = (before + records, min(earliest, first))


class WayReason(Value, frozen=True, omit_defaults=True):
    """Why so many records were read by the reference, and the path of a field of one of them."""

    reason: str
    records: int
    path: str = ""


class Conflict(Value, frozen=True, omit_defaults=True):
    """Values of a field that did not fit its column, or that had none, and went to `_rest`.

    `wanted` is the kind of the column, empty if there was none; `found` the kind of the values in
    JSON. The position is that of the first record. `cause` says why the field gets no column; it is
    empty for one that is only new.
    """

    path: str
    wanted: str
    found: str
    records: int
    topic: str
    partition: int
    offset: int
    cause: str = ""

    @property
    def key(self) -> Misfit:
        """What was wanted and found, and where."""
        return (self.path, self.wanted, self.found)

    def __add__(self, other: "Conflict") -> "Conflict":
        """Both as one, with the earlier of the two positions."""
        first = min(self, other, key=lambda each: (each.topic, each.partition, each.offset))
        records, cause = self.records + other.records, self.cause or other.cause
        return replace_fields(first, records=records, cause=cause)


class ReadWays(Value, frozen=True, omit_defaults=True):
    """How the records of one dataset were read in a window, and what did not fit.

    `empty` counts values that say nothing and were left out, `rest` the rows with a `_rest`, and
    `rows` all rows that were written: of one record there may be none, or several.
    """

    dataset: str
    fast: int = 0
    reference: int = 0
    reasons: tuple[WayReason, ...] = ()
    empty: int = 0
    rest: int = 0
    conflicts: tuple[Conflict, ...] = ()
    rows: int = 0

    def __add__(self, other: "ReadWays") -> "ReadWays":
        """The sum of two parts of one dataset, within the bounds."""
        return ReadWays(
            self.dataset,
            self.fast + other.fast,
            self.reference + other.reference,
            most_reasons((*self.reasons, *other.reasons)),
            self.empty + other.empty,
            self.rest + other.rest,
            most_conflicts((*self.conflicts, *other.conflicts)),
            self.rows + other.rows,
        )


def cut_path(path: str) -> str:
    """A path as an entry has it: names of fields may be of any length."""
    return path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}..."


def most_reasons(reasons: Iterable[WayReason]) -> tuple[WayReason, ...]:
    """Equal reasons as one, those of the most records first."""
    reasons = tuple(reasons)
    if len(reasons) < 2:
        return reasons  # a journal is folded with thousands of these
    found: dict[str, WayReason] = {}
    for each in reasons:
        known = found.get(each.reason, WayReason(each.reason, 0))
        records, path = known.records + each.records, known.path or each.path
        found[each.reason] = WayReason(each.reason, records, path)
    ordered = sorted(found.values(), key=lambda each: (-each.records, each.reason))
    return tuple(ordered[:MOST_REASONS])


def most_conflicts(conflicts: Iterable[Conflict]) -> tuple[Conflict, ...]:
    """Equal conflicts as one, those of the most records first."""
    conflicts = tuple(conflicts)
    if len(conflicts) < 2:
        return conflicts
    found: dict[Misfit, Conflict] = {}
    for each in conflicts:
        found[each.key] = found[each.key] + each if each.key in found else each
    ordered = sorted(found.values(), key=lambda each: (-each.records, each.key))
    return tuple(ordered[:MOST_CONFLICTS])


def window_ways(parts: Iterable[ReadWays]) -> tuple[ReadWays, ...]:
    """The sums of all datasets of a window, with so few conflicts that its entry stays small."""
    ways = added_ways(parts)
    ranked = sorted(
        ((each.dataset, conflict) for each in ways for conflict in each.conflicts),
        key=lambda found: (-found[1].records, found[0], found[1].key),
    )
    kept = {(dataset, conflict.key) for dataset, conflict in ranked[:MOST_IN_WINDOW]}
    if len(kept) == len(ranked):
        return ways
    return tuple(
        replace_fields(
            each,
            conflicts=tuple(found for found in each.conflicts if (each.dataset, found.key) in kept),
        )
        for each in ways
    )


def added_ways(parts: Iterable[ReadWays]) -> tuple[ReadWays, ...]:
    """The sums of all datasets, by name."""
    found: dict[str, ReadWays] = {}
    for each in parts:
        found[each.dataset] = found[each.dataset] + each if each.dataset in found else each
    return tuple(found[dataset] for dataset in sorted(found))
