"""Compares one file with what the journal recorded about it. Runs on executors."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from typing import BinaryIO, assert_never

import msgspec
import numpy as np

from penstock.api.file_format import FileFormat, FileReader
from penstock.api.store import Store
from penstock.audit.positions import (
    NotOurs,
    PlacedRows,
    count_of,
    open_rows,
    rows_by_offset,
    rows_of,
)
from penstock.errors import StoreUnavailable
from penstock.evidence.position_columns import positions
from penstock.model.evidence import Evidence
from penstock.model.manifest import QUARANTINE
from penstock.model.ranges import OffsetRange
from penstock.model.value import Value

# A smaller file is fetched once and read in memory; one that is larger in pieces of this size.
WHOLE_BYTES = 64 << 20
CHUNK_BYTES = 16 << 20
FOOTER = "penstock."


class FileOrder(Value, frozen=True, kw_only=True):
    """What the journal says about a live file.

    `window` is empty if the footer is not compared: for compacted and replayed files.
    `instead` is what is in its place, such as a link, which is not opened. `format` is that of its
    name; the driver finds it, and executors import it.
    """

    final: str
    format: FileFormat | None
    number: int = -1
    dataset: str = ""
    feed: str = ""
    window: str = ""
    size_bytes: int = 0
    checksum: str = ""
    evidence: Evidence = Evidence()
    ranges: tuple[OffsetRange, ...] = ()
    instead: str = ""


class PlaceRows(Value, frozen=True):
    """The rows of one partition in a file."""

    topic: str
    partition: int
    rows: Evidence


class FileFinding(Value, frozen=True, kw_only=True):
    """The result of reading a whole file. `size_bytes` is -1 when it is gone.

    `datasets` are those of the records in a quarantine file. `unreadable` says why
    its rows could not be read, `unanswered` why the store did not answer.
    """

    final: str
    size_bytes: int = -1
    checksum: str = ""
    places: tuple[PlaceRows, ...] = ()
    datasets: tuple[str, ...] = ()
    outside: int = 0
    footer: str = ""
    unreadable: str = ""
    unanswered: str = ""

    @property
    def is_gone(self) -> bool:
        """True when no file has that name."""
        return self.size_bytes < 0

    @property
    def rows(self) -> Evidence:
        """The evidence of all rows."""
        return Evidence.total(place.rows for place in self.places)

    def is_as(self, order: FileOrder) -> bool:
        """True when the file is what the journal recorded, byte by byte and row by row."""
        return (
            self.size_bytes == order.size_bytes
            and self.checksum == order.checksum
            and self.has_rows_of(order)
            and not self.footer
        )

    def has_rows_of(self, order: FileOrder) -> bool:
        """True when its rows are at the recorded positions, each once."""
        return not self.unreadable and not self.outside and self.rows == order.evidence


def check_file(store: Store, order: FileOrder) -> FileFinding:
    """Read a whole file: checksum, footer, positions. Runs on executors; may be repeated."""
    if order.instead:
        return FileFinding(final=order.final, unreadable=order.instead)
    try:
        file = store.open_read(order.final)
        if file is None:
            return FileFinding(final=order.final)
        with file:
            return _look_through(_fetched(file), order)
    except StoreUnavailable as error:
        return FileFinding(final=order.final, unanswered=str(error.__cause__ or error))


def _fetched(file: BinaryIO) -> BinaryIO:
    """The file in memory, unless it is large: its checksum and its rows come of the same bytes.

    Every read of a file far away is a request.
    """
    size_bytes = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size_bytes > WHOLE_BYTES:
        return file
    return io.BytesIO(b"".join(iter(lambda: file.read(CHUNK_BYTES), b"")))


def _look_through(file: BinaryIO, order: FileOrder) -> FileFinding:
    size_bytes, checksum = checksum_of(file)
    seen = FileFinding(final=order.final, size_bytes=size_bytes, checksum=checksum)
    counted = _Counted(order)
    try:
        opened = open_recorded(file, order, checksum)
        if tells_count_alone(order):
            places = _places_by_count(opened, order, is_unchanged=checksum == order.checksum)
        else:
            for rows in placed_rows(opened, order):
                counted.add(rows)
            places = counted.places()
    except NotOurs as error:
        return msgspec.structs.replace(seen, unreadable=str(error))
    return msgspec.structs.replace(
        seen,
        places=places,
        datasets=tuple(sorted(counted.datasets)),
        outside=counted.outside,
        footer=footer_words(order, opened.words),
    )


def placed_rows(opened: FileReader, order: FileOrder) -> Iterator[PlacedRows]:
    """The positions of all rows of a file, as far as its format tells them. Raises `NotOurs`."""
    if order.format is None:
        raise NotOurs("its format is not known")
    match order.format.traits.positions:
        case "every row":
            yield from rows_of(opened, with_dataset=order.dataset == QUARANTINE)
        case "offset":
            yield from rows_by_offset(opened, order.ranges)
        case "by count":
            raise NotOurs("its rows do not say which records they are")
        case _ as never:
            assert_never(never)


def tells_count_alone(order: FileOrder) -> bool:
    """True for a file whose rows say nothing of where they come from."""
    return order.format is not None and order.format.traits.positions == "by count"


def _places_by_count(
    opened: FileReader, order: FileOrder, *, is_unchanged: bool
) -> tuple[PlaceRows, ...]:
    """The rows of a file that only their number and the checksum of the file vouch for.

    Row n is the nth that was written: if all bytes are as they were written, all rows are.
    """
    count, wanted = count_of(opened), order.evidence.count
    if not is_unchanged:
        raise NotOurs(
            f"its {count} rows do not say which records they are, {wanted} were written, and only "
            "the bytes that were written prove them"
        )
    if count != wanted or len({each.place for each in order.ranges}) != 1:
        raise NotOurs(f"it has {count} rows, and {wanted} of one partition were written")
    first = order.ranges[0]
    return (PlaceRows(first.topic, first.partition, order.evidence),)


def open_recorded(file: BinaryIO, order: FileOrder, checksum: str = "") -> FileReader:
    """Open a live file to read positions; `checksum` is that of its bytes, if it is known.

    Also raises `NotOurs` for a changed file, if the reader of its format can crash on damage.
    """
    form = order.format
    is_fragile = form is not None and not form.traits.survives_damage
    if is_fragile and (checksum or checksum_of(file)[1]) != order.checksum:
        raise NotOurs("it was changed, and damaged files of this format are not opened")
    file.seek(0)
    return open_rows(file, form)


def checksum_of(file: BinaryIO) -> tuple[int, str]:
    """Size and checksum in the form of handles, read piece by piece."""
    digest = hashlib.sha256()
    size_bytes = 0
    while piece := file.read(CHUNK_BYTES):
        digest.update(piece)
        size_bytes += len(piece)
    return size_bytes, f"sha256:{digest.hexdigest()}"


class _Counted:
    """Adds up rows by partition, and counts those outside the recorded ranges."""

    def __init__(self, order: FileOrder) -> None:
        self._rows: dict[tuple[str, int], Evidence] = {}
        self._bounds = bounds_by_place(order.ranges)
        self._anywhere = not order.ranges
        self.datasets: set[str] = set()
        self.outside = 0

    def add(self, found: PlacedRows) -> None:
        """Add some rows."""
        place = (found.topic, found.partition)
        seen = positions(*place, found.offsets, found.rows)
        self._rows[place] = self._rows.get(place, Evidence()) + seen
        self.datasets.update(found.datasets)
        if not self._anywhere:
            inside = np.zeros(len(found.offsets), dtype=bool)
            for start, end in self._bounds.get(place, ()):
                inside |= (found.offsets >= start) & (found.offsets < end)
            self.outside += len(inside) - int(inside.sum())

    def places(self) -> tuple[PlaceRows, ...]:
        """The counts by partition."""
        return tuple(PlaceRows(*place, rows) for place, rows in sorted(self._rows.items()))


def bounds_by_place(
    ranges: tuple[OffsetRange, ...],
) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """The ranges by topic name and partition, as rows have them."""
    found: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for part in ranges:
        found.setdefault((part.topic, part.partition), []).append((part.start, part.end))
    return found


def footer_words(order: FileOrder, words: Mapping[str, str]) -> str:
    """How the footer differs from the journal; empty when they agree."""
    if not order.window or order.format is None or not order.format.traits.keeps_words:
        return ""
    said = {
        key.removeprefix(FOOTER): value for key, value in words.items() if key.startswith(FOOTER)
    }
    wanted = {"feed": order.feed, "window": order.window}
    if order.ranges:
        wanted["ranges"] = ",".join(
            sorted(f"{r.topic}/{r.partition}:{r.start}-{r.end}" for r in order.ranges)
        )
        said["ranges"] = ",".join(sorted(said.get("ranges", "").split(",")))
    wrong = [
        f"{name} {said.get(name) or 'nothing'} instead of {value}"
        for name, value in wanted.items()
        if said.get(name) != value
    ]
    return "; ".join(wrong)
