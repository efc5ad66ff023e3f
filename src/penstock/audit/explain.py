"""Works out which offsets are missing, doubled or foreign, and in which file. For executors.

The journal has every offset that was read, as runs; but for a file it has only the number of rows
and the sum of their hashes. The error of a file is the difference between the recorded sum and the
sum of its rows. A difference of one or two rows has one solution among the offsets of its range,
and that solution is searched by its hash.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from penstock.api.store import Store
from penstock.audit.check_file import FileOrder, open_recorded, placed_rows
from penstock.audit.positions import NotOurs, PlaceName, Positions
from penstock.audit.receipt import Fate, Offsets
from penstock.evidence.position_columns import offsets_in, position_hashes, runs_of
from penstock.model.evidence import MOST_ROW_NUMBERS
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value

_ALL = 1 << 64
ROUNDS = 2
MOST_CASES = 50  # files of one area that are worked out separately; each needs a search
# Positions of one area; beyond this its files are named and their offsets are not worked out.
# With 40 files, 3 of them wrong with 3 rows each, it took 100 s of processor time and 380 MiB.
MOST_POSITIONS = 2_000_000


class RecordedRange(Value, frozen=True):
    """The offsets that were read from one range, and the numbers of further rows of its records.

    Only the sum of such rows is recorded, so any record may have them. The records of a replay have
    a range of their own, which overlaps that of their window: they may have more rows, and each is
    in the quarantine as well as in a dataset.
    """

    range: OffsetRange
    offsets: OffsetSet
    rows: tuple[int, ...] = ()
    is_of_replay: bool = False

    @property
    def is_cut(self) -> bool:
        """True when there may be more row numbers than those that are recorded."""
        return len(self.rows) >= MOST_ROW_NUMBERS

    def positions(self, rows: int) -> int:
        """How many positions are possible, with `rows` row numbers besides the first."""
        return len(self.offsets) * (1 + rows)


class AreaOrder(Value, frozen=True):
    """Ranges with a difference: all offsets that were read, and all files that share them.

    `suspects` are the final names of the changed files.
    """

    recorded: tuple[RecordedRange, ...]
    files: tuple[FileOrder, ...]
    suspects: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        """The size of its files, as recorded."""
        return sum(file.size_bytes for file in self.files)


class FileOffsets(Value, frozen=True):
    """The offsets of one file that are wrong. No file: missing from several files as a group."""

    final: str
    offsets: tuple[Offsets, ...]


def explain_area(store: Store, order: AreaOrder) -> tuple[FileOffsets, ...]:
    """Read the files of an area again and work out the offsets. Runs on executors."""
    return tuple(_Area(store, order).explain())


@dataclass(slots=True)
class _Case:
    """One changed file, and the difference that is not explained yet."""

    order: FileOrder
    kept: Positions  # positions that were read in this area, each once
    doubled: Positions
    foreign: Positions  # positions that were not read in this area
    missing: Positions = field(default_factory=Positions.none)
    is_solved: bool = False

    @property
    def count(self) -> int:
        """How many rows are missing; negative when there are too many."""
        return self.order.evidence.count - len(self.kept)

    @property
    def hash_sum(self) -> int:
        """The sum of the hashes of the missing rows."""
        return (self.order.evidence.hash_sum - self.kept.evidence().hash_sum) % _ALL

    def solve(self, missing: Positions, extra: Positions) -> None:
        """Record a solution."""
        self.missing = missing
        self.foreign = Positions.joined([self.foreign, extra])
        self.is_solved = True


class _Area:
    def __init__(self, store: Store, order: AreaOrder) -> None:
        self._places: dict[PlaceName, int] = {}
        self._met: dict[PlaceName, set[int]] = {}  # row numbers found in the files
        self._recorded = order.recorded
        found = {file.final: self._found(store, file) for file in order.files}
        self._read = self._all_read(Positions.joined(found.values()))
        self._replayed = Positions.joined(
            self._at(each, row)
            for each in order.recorded
            if each.is_of_replay
            for row in (0, *each.rows)
        )
        self._refused = {file.final for file in order.files if file.dataset == QUARANTINE}
        self._kept: dict[str, Positions] = {}
        self._own: dict[str, Positions] = {}  # the positions of each file, if they are known
        self._cases: list[_Case] = []
        for file in order.files:
            each, doubled = found.pop(file.final).once()
            kept = self._kept[file.final] = each.both(self._read)
            if file.final in order.suspects:
                self._cases.append(_Case(file, kept, doubled, each.without(self._read)))
            elif kept.evidence() == file.evidence:
                self._own[file.final] = kept
        self._nowhere = self._read.without(Positions.joined(self._kept.values()))

    def explain(self) -> Iterator[FileOffsets]:
        """Work out each file; the result for one file helps with the others."""
        for _ in range(ROUNDS):
            for case in self._cases[:MOST_CASES]:
                if not case.is_solved:
                    self._solve(case)
        unsolved = [case for case in self._cases if not case.is_solved]
        together = self._solve_as_group(unsolved)
        for case in self._cases:
            offsets = [
                *self._first_runs("missing", case.missing),
                *self._first_runs("doubled", case.doubled),
                *self._first_runs("foreign", case.foreign),
            ]
            if not case.is_solved and not together:
                offsets += self._candidates(case)
            yield FileOffsets(case.order.final, tuple(offsets))
        if together:
            yield FileOffsets("", tuple(self._first_runs("missing", together)))

    def _solve(self, case: _Case) -> None:
        """Try the likely positions first; the last try covers every remaining offset."""
        final = case.order.final
        others = [kept for name, kept in self._kept.items() if name != final]
        same = next((kept for kept in others if kept.evidence() == case.order.evidence), None)
        if case.count == 0 and case.hash_sum == 0:
            case.solve(Positions.none(), Positions.none())
        elif same is not None and len(same):
            case.solve(same.without(case.kept), case.kept.without(same))
        else:
            owned = case.kept.both(self._of_others(final))
            self._search(case, self._nowhere, owned)
            self._search(case, self._nowhere, case.kept.both(Positions.joined(others)))
            self._search(case, self._lost_by(case), case.kept)
        if case.is_solved:
            self._own[final] = Positions.joined([case.kept.without(case.foreign), case.missing])

    def _of_others(self, final: str) -> Positions:
        """The positions that are known to belong to other files.

        A replayed record belongs to a quarantine file and to data files.
        """
        return Positions.joined(
            own.without(self._replayed) if self._is_both(final, name) else own
            for name, own in self._own.items()
            if name != final
        )

    def _is_both(self, final: str, other: str) -> bool:
        """True for a quarantine file and a data file, if anything was replayed."""
        return len(self._replayed) > 0 and (final in self._refused) != (other in self._refused)

    def _lost_by(self, case: _Case) -> Positions:
        """The positions a file may have lost: not in it, and not known to be in another."""
        return self._read.without(case.kept).without(self._of_others(case.order.final))

    def _search(self, case: _Case, lost: Positions, extra: Positions) -> None:
        """Find lost or additional rows whose hashes add up to the difference."""
        if case.is_solved:
            return
        none = Positions.none()
        for gone, more in ((lost, none), (none, extra), (lost, extra)):
            is_sum = (_sum(gone) - _sum(more)) % _ALL == case.hash_sum
            if len(gone) - len(more) == case.count and is_sum:
                case.solve(gone, more)
                return
        few = _few(case.count, case.hash_sum, lost, extra)
        if few is not None:
            case.solve(*few)

    def _solve_as_group(self, cases: list[_Case]) -> Positions:
        """The positions that several files have lost as a group, if they cannot be separated."""
        if len(cases) < 2:
            return Positions.none()
        count = sum(case.count for case in cases)
        hash_sum = sum(case.hash_sum for case in cases) % _ALL
        solved = count == len(self._nowhere) and hash_sum == _sum(self._nowhere)
        return self._nowhere if solved else Positions.none()

    def _candidates(self, case: _Case) -> Iterator[Offsets]:
        """The positions that contain the missing or additional rows."""
        if case.count >= 0:
            is_cut = any(each.is_cut for each in self._recorded)
            lost = self._first_rows() if is_cut else self._lost_by(case)
            yield from self._first_runs("missing", lost, among=max(case.count, 1))
        if case.count <= 0:
            yield from self._first_runs("foreign", case.kept, among=max(-case.count, 1))

    def _first_runs(self, fate: Fate, found: Positions, among: int = 0) -> Iterator[Offsets]:
        """The first offsets of each partition, as runs."""
        for (topic, partition), number in self._places.items():
            here = np.unique(found.offsets[found.places == number])
            if len(here):
                yield Offsets.of(fate, topic, partition, runs_of(here), among=among)

    def _all_read(self, found: Positions) -> Positions:
        """Every position that a row of these ranges can have, each once.

        For a range with more row numbers than are recorded, the row numbers of its files are tried
        as well. If they are too many, every row at an offset that was read counts as read: such a
        row is then never reported as foreign.
        """
        parts = []
        for each in self._recorded:
            parts += [self._at(each, row) for row in (0, *self._rows_of(each))]
            if each.is_cut:
                place = self._places[each.range.topic, each.range.partition]
                is_here = (found.places == place) & np.isin(found.offsets, offsets_in(each.offsets))
                parts.append(found.only(is_here))
        everything = Positions.joined(parts)
        may_repeat = any(each.is_cut or each.is_of_replay for each in self._recorded)
        return everything.once()[0] if may_repeat else everything

    def _first_rows(self) -> Positions:
        """The first row of every record: one position for each offset."""
        return Positions.joined(self._at(each, 0) for each in self._recorded)

    def _rows_of(self, each: RecordedRange) -> tuple[int, ...]:
        """The row numbers to try; only the recorded ones if there are too many."""
        if not each.is_cut:
            return each.rows
        met = self._met.get((each.range.topic, each.range.partition), set())
        rows = sorted({*each.rows, *met} - {0})
        return tuple(rows) if each.positions(len(rows)) <= MOST_POSITIONS else each.rows

    def _at(self, each: RecordedRange, row: int) -> Positions:
        offsets = offsets_in(each.offsets)
        place = each.range
        return self._positions(place.topic, place.partition, offsets, np.full(len(offsets), row))

    def _found(self, store: Store, order: FileOrder) -> Positions:
        """The positions in a file; empty if it cannot be read."""
        file = None if order.instead else store.open_read(order.final)
        if file is None:
            return Positions.none()
        parts = []
        with file:
            try:
                for each in placed_rows(open_recorded(file, order), order):
                    if each.rows is not None:
                        met = self._met.setdefault((each.topic, each.partition), set())
                        met.update(np.unique(each.rows).tolist())
                    parts.append(
                        self._positions(each.topic, each.partition, each.offsets, each.rows)
                    )
            except NotOurs:
                return Positions.none()
        return Positions.joined(parts)

    def _positions(
        self, topic: str, partition: int, offsets: np.ndarray, rows: np.ndarray | None
    ) -> Positions:
        number = self._places.setdefault((topic, partition), len(self._places))
        hashes = position_hashes(topic, partition, offsets, rows)
        return Positions(hashes, np.full(len(offsets), number, np.int32), offsets)


def _sum(found: Positions) -> int:
    return found.evidence().hash_sum


def _few(
    count: int, hash_sum: int, lost: Positions, extra: Positions
) -> tuple[Positions, Positions] | None:
    """One or two lost or additional rows, or one of each; None if no such solution exists."""
    none = Positions.none()
    if count in (1, 2):
        found = _adding_up(lost, count, hash_sum)
        return None if found is None else (found, none)
    if count in (-1, -2):
        found = _adding_up(extra, -count, -hash_sum % _ALL)
        return None if found is None else (none, found)
    if count == 0 and len(lost) and len(extra):
        with np.errstate(over="ignore"):
            wanted = extra.hashes + np.uint64(hash_sum)
        one = lost.only(np.isin(lost.hashes, wanted))
        if len(one) == 1:
            other = extra.only(np.isin(wanted, one.hashes))
            return one, other
    return None


def _adding_up(found: Positions, count: int, hash_sum: int) -> Positions | None:
    """The one position with this hash, or two positions whose hashes add up to it."""
    if count == 1:
        one = found.only(found.hashes == np.uint64(hash_sum))
        return one if len(one) == 1 else None
    with np.errstate(over="ignore"):
        partners = np.uint64(hash_sum) - found.hashes
    two = found.only(np.isin(found.hashes, partners) & (found.hashes != partners))
    return two if len(two) == 2 else None
