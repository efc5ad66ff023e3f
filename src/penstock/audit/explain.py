"""Which offsets are missing, doubled or foreign, and in which file. Pure work for executors.

The journal knows every offset that was read, as runs; but of a file it knows only how many rows
it has and the sum of their hashes. So what is wrong with a file is the difference between the
recorded sum and the sum of what is found in it. A difference of one or two rows has one solution
among the offsets of its range, and that solution is searched for by its hash.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from penstock.audit.check_file import FileOrder
from penstock.audit.positions import NotOurs, PlaceName, Positions, open_parquet, rows_of
from penstock.audit.receipt import Fate, Offsets
from penstock.model.position_columns import offsets_in, position_hashes, runs_of
from penstock.model.ranges import OffsetRange, OffsetSet
from penstock.model.value import Value
from penstock.store.protocol import Store

_ALL = 1 << 64
MOST_CASES = 50  # files of one area that are worked out one by one; each costs a search


class RecordedRange(Value, frozen=True):
    """The offsets that were read from one range."""

    range: OffsetRange
    offsets: OffsetSet


class AreaOrder(Value, frozen=True):
    """Ranges that something is wrong with: all that was read, and all files that share it.

    `suspects` are the final names of the files that are not as recorded.
    """

    recorded: tuple[RecordedRange, ...]
    files: tuple[FileOrder, ...]
    suspects: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        """The size of its files, as recorded."""
        return sum(file.size_bytes for file in self.files)


class FileOffsets(Value, frozen=True):
    """What is wrong with one file, offset by offset. No file: missing from several together."""

    final: str
    offsets: tuple[Offsets, ...]


def explain_area(store: Store, order: AreaOrder) -> tuple[FileOffsets, ...]:
    """Read the files of an area again and work out what happened. Runs on executors."""
    return tuple(_Area(store, order).explain())


@dataclass(slots=True)
class _Case:
    """One suspect file: what is left to explain once the obvious is taken away."""

    order: FileOrder
    kept: Positions  # positions that were read in this area, each once
    doubled: Positions
    foreign: Positions  # positions that nobody read in this area
    missing: Positions = field(default_factory=Positions.none)
    is_solved: bool = False

    @property
    def count(self) -> int:
        """How many rows too few; negative when there are too many."""
        return self.order.evidence.count - len(self.kept)

    @property
    def hash_sum(self) -> int:
        """The sum of the hashes that are too few."""
        return (self.order.evidence.hash_sum - self.kept.evidence().hash_sum) % _ALL

    def solve(self, missing: Positions, extra: Positions) -> None:
        """Take a solution."""
        self.missing = missing
        self.foreign = Positions.joined([self.foreign, extra])
        self.is_solved = True


class _Area:
    def __init__(self, store: Store, order: AreaOrder) -> None:
        self._order = order
        self._places: dict[PlaceName, int] = {}
        self._read = Positions.joined(
            self._recorded(each.range, each.offsets) for each in order.recorded
        )
        found = {file.final: self._found(store, file) for file in order.files}
        self._kept = {final: here.once()[0].both(self._read) for final, here in found.items()}
        suspects = set(order.suspects)
        self._cases = [
            _Case(
                file,
                self._kept[file.final],
                found[file.final].once()[1],
                found[file.final].once()[0].without(self._read),
            )
            for file in order.files
            if file.final in suspects
        ]
        everywhere = Positions.joined(self._kept.values())
        self._nowhere = self._read.without(everywhere)

    def explain(self) -> Iterator[FileOffsets]:
        for case in self._cases[:MOST_CASES]:
            self._solve(case)
        together = self._solve_together([case for case in self._cases if not case.is_solved])
        for case in self._cases:
            offsets = [
                *self._told("missing", case.missing),
                *self._told("doubled", case.doubled),
                *self._told("foreign", case.foreign),
            ]
            if not case.is_solved:
                offsets += self._candidates(case)
            yield FileOffsets(case.order.final, tuple(offsets))
        if together:
            yield FileOffsets("", tuple(self._told("missing", together)))

    def _solve(self, case: _Case) -> None:
        """Try what explains most first; the last tries look at every offset of the area."""
        elsewhere = Positions.joined(
            kept for final, kept in self._kept.items() if final != case.order.final
        )
        twice = case.kept.both(elsewhere)
        others = (k for final, k in self._kept.items() if final != case.order.final)
        same = next((k for k in others if k.evidence() == case.order.evidence), None)
        if case.count == 0 and case.hash_sum == 0:
            case.solve(Positions.none(), Positions.none())
        elif same is not None and len(same):
            case.solve(same.without(case.kept), case.kept.without(same))
        else:
            self._search(case, self._nowhere, twice)
            if not case.is_solved:
                self._search(case, self._read.without(case.kept), case.kept)

    def _search(self, case: _Case, lost: Positions, extra: Positions) -> None:
        """Find rows that are lost, or too many, whose hashes add up to what is wrong."""
        for missing, surplus in ((lost, None), (None, extra), (lost, extra)):
            gone = missing or Positions.none()
            more = surplus or Positions.none()
            is_sum = (_sum(gone) - _sum(more)) % _ALL == case.hash_sum
            if len(gone) - len(more) == case.count and is_sum:
                case.solve(gone, more)
                return
        few = _few(case.count, case.hash_sum, lost, extra)
        if few is not None:
            case.solve(*few)

    def _solve_together(self, cases: list[_Case]) -> Positions:
        """What several files have lost together, when it cannot be told which lost what."""
        if len(cases) < 2:
            return Positions.none()
        count = sum(case.count for case in cases)
        hash_sum = sum(case.hash_sum for case in cases) % _ALL
        solved = count == len(self._nowhere) and hash_sum == _sum(self._nowhere)
        return self._nowhere if solved else Positions.none()

    def _candidates(self, case: _Case) -> Iterator[Offsets]:
        """The rows that are missing lie among these; which of them they are cannot be told."""
        lost = self._nowhere
        if len(lost) < case.count:
            lost = self._read.without(case.kept)
        if case.count > 0:
            yield from self._told("missing", lost, among=case.count)
        elif case.count < 0:
            yield from self._told("foreign", case.kept, among=-case.count)

    def _told(self, fate: Fate, found: Positions, among: int = 0) -> Iterator[Offsets]:
        """The offsets of each partition as runs, the first of them."""
        for (topic, partition), number in self._places.items():
            here = np.unique(found.offsets[found.places == number])
            if len(here):
                yield Offsets.of(fate, topic, partition, runs_of(here), among=among)

    def _recorded(self, covered: OffsetRange, offsets: OffsetSet) -> Positions:
        return self._positions(covered.topic, covered.partition, offsets_in(offsets), None)

    def _found(self, store: Store, order: FileOrder) -> Positions:
        """The positions in a file; none where it cannot be read."""
        file = store.open_read(order.final)
        if file is None:
            return Positions.none()
        parts = []
        with file:
            try:
                for each in rows_of(open_parquet(file)):
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
    """One or two rows lost or too many, or one of each; None when that explains nothing."""
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
    """The one position with this hash, or the two whose hashes add up to it."""
    if count == 1:
        one = found.only(found.hashes == np.uint64(hash_sum))
        return one if len(one) == 1 else None
    with np.errstate(over="ignore"):
        partners = np.uint64(hash_sum) - found.hashes
    two = found.only(np.isin(found.hashes, partners) & (found.hashes != partners))
    return two if len(two) == 2 else None
