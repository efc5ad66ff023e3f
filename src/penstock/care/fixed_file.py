"""The file of corrected records: which line is for which record, and what is wrong with it.

Only the places of the lines are kept in memory. A line is read again when its record is met.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from penstock.care.errors import FixedRefused, LineMistake
from penstock.care.record_lines import Contents as Contents
from penstock.care.record_lines import LineRefused, RecordLine, contents_of, decode_line
from penstock.model.manifest import RecordSet
from penstock.model.ranges import OffsetSet

LONGEST_LINE = 256 << 20
_POSITION = re.compile(
    r"(?P<topic>.+)/(?P<partition>[0-9]{1,10})/(?P<offset>[0-9]{1,19})", re.ASCII
)

Place = tuple[str, str, int, str, int]  # topic, topic id, partition, dataset, number of the row
RecordKey = tuple[Place, int]  # with the offset


@dataclass(frozen=True, slots=True)
class LinePlace:
    """Where a line lies in the file."""

    number: int
    start: int
    length: int


@dataclass(slots=True)
class FixedFile:
    """A file whose lines all name records that wait in the quarantine, each at most once."""

    path: str
    lines: dict[RecordKey, LinePlace] = field(default_factory=dict)

    def open(self) -> BinaryIO:
        """The file, to read lines of it; raises `FixedRefused`."""
        return _opened(self.path)

    def records(self) -> tuple[RecordSet, ...]:
        """The records that are named."""
        return record_sets(self.lines)

    def read(self, file: BinaryIO, key: RecordKey) -> RecordLine:
        """The line of a record, as it was when the file was opened."""
        at = self.lines[key]
        file.seek(at.start)
        try:
            line = decode_line(file.read(at.length))
        except LineRefused as error:
            raise FixedRefused(
                self.path, [LineMistake(at.number, f"it has changed meanwhile: {error}")]
            ) from error
        place, offset = key
        if _position_of(line) != (place[0], place[2], offset):
            raise FixedRefused(self.path, [LineMistake(at.number, "it has changed meanwhile")])
        return line


def record_sets(keys: Iterable[RecordKey]) -> tuple[RecordSet, ...]:
    """Records by their places."""
    offsets: dict[Place, list[int]] = {}
    for place, offset in keys:
        offsets.setdefault(place, []).append(offset)
    return tuple(
        RecordSet(topic, topic_id, partition, dataset, OffsetSet.of(found), row)
        for (topic, topic_id, partition, dataset, row), found in sorted(offsets.items())
    )


def open_fixed_file(path: str, waiting: tuple[RecordSet, ...]) -> FixedFile:
    """Read all lines once and find their records; raises `FixedRefused` with every mistake."""
    known: dict[tuple[str, int, int], list[RecordSet]] = {}
    for each in waiting:
        known.setdefault((each.topic, each.partition, each.row), []).append(each)
    found = FixedFile(path)
    mistakes: list[LineMistake] = []
    for at, raw in _lines(path):
        try:
            line = decode_line(raw)
            contents_of(line, Contents(None, None, None))
            key = _meant(line, known)
            if key in found.lines:
                raise LineRefused(f"{line.position} is on line {found.lines[key].number} already")
            found.lines[key] = at
        except LineRefused as error:
            mistakes.append(LineMistake(at.number, str(error), error.cause))
    if mistakes:
        raise FixedRefused(path, mistakes)
    if not found.lines:
        raise FixedRefused(path, [LineMistake(0, "it has no line")])
    return found


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise FixedRefused(path, [LineMistake(0, error.strerror or str(error))]) from error


def _lines(path: str) -> Iterator[tuple[LinePlace, bytes]]:
    """The lines that are not empty."""
    with _opened(path) as file:
        start, number = 0, 0
        while raw := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(raw) > LONGEST_LINE:
                why = f"it is longer than {LONGEST_LINE} bytes"
                raise FixedRefused(path, [LineMistake(number, why)])
            if raw.strip():
                yield LinePlace(number, start, len(raw)), raw
            start += len(raw)


def _position_of(line: RecordLine) -> tuple[str, int, int]:
    found = _POSITION.fullmatch(line.position)
    if found is None:
        raise LineRefused("its position is not of the form topic/partition/offset")
    return found["topic"], int(found["partition"]), int(found["offset"])


def _meant(line: RecordLine, known: dict[tuple[str, int, int], list[RecordSet]]) -> RecordKey:
    """The one record that a line means; raises `LineRefused`."""
    topic, partition, offset = _position_of(line)
    fits = [
        each
        for each in known.get((topic, partition, line.row), [])
        if holds(each.offsets, offset)
        and line.topic_id in (None, each.topic_id)
        and line.dataset in (None, each.dataset)
    ]
    row = f", row {line.row}," if line.row else ""
    if not fits:
        raise LineRefused(
            "does not wait in the quarantine: it was delivered or dropped already, or was never "
            "there",
            subject=f"{line.position}{row}",
        )
    if len(fits) > 1:
        raise LineRefused(
            "means several records: name topic_id and dataset", subject=f"{line.position}{row}"
        )
    (each,) = fits
    return (each.topic, each.topic_id, each.partition, each.dataset, each.row), offset


def holds(offsets: OffsetSet, offset: int) -> bool:
    """True when an offset is in a set."""
    index = bisect_right(offsets.runs, offset, key=lambda run: run[0]) - 1
    return index >= 0 and offset < offsets.runs[index][1]
