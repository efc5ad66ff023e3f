"""What a file format must be: one value that writes files and reads them back in pieces.

A format is an entry point of the group `penstock.formats` that names a value, not a class: a
module-level object which pickles by reference, because plans carry it to executors. The writer, the
audit, a replay, `schema show --ddl` and the configuration ask it; nothing else knows a format.

    begin      on executors, once per file, in the attempt of one task
    refused    on executors, once per batch of rows, before any of them is written
    open       on executors and on the driver, once per file; reading may be repeated

The contract suite is `penstock.testing.contracts.file_format`. Formats differ in what the traits
say: Avro has its words in a header, so words are known when a file begins; JSON lines keep none,
nor types; text and SequenceFile hold the records as they came, without columns, and say of a row
at most which offset it has. The names of line formats end with their compression, so a name is
asked for by compression. The suite for formats without columns is
`penstock.testing.contracts.record_file_format`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

from penstock.model.bad_records import BadRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

PIECE_ROWS = 65_536
PIECE_BYTES = 16 << 20
# The columns of rows of a format without columns: a record's value and its key, as they came.
VALUE = "_value"
KEY = "_key"


class FileUnreadable(Exception):
    """Bytes that are not a whole file of the format; the text says why, in one line."""


@dataclass(frozen=True, slots=True)
class FormatTraits:
    """What others must know of a format.

    `positions`: what files say of where their rows come from. "every row": they hold the columns
    `_topic`, `_partition` and `_offset`. "offset": only `_offset`. "by count": nothing, so a row is
    known by its place among those that were written. Without all three columns, each file has rows
    of one Kafka partition only, each record is one row, and files are never compacted.
    `has_columns`: files hold the columns of the event; without it, they hold the values of records
    as they came, and rows to write have the columns `VALUE` and `KEY` instead. `keeps_words`: the
    words that a file was begun with come back. `is_written_at_once`: a writer takes much memory
    from its first row on, so rows wait on the task's disk until all of them are there, and one
    file is written at a time. `survives_damage`: opening any bytes is safe; without it, only a file
    with the recorded checksum is opened, because others may end the process. `has_end`: bytes that
    are not finished do not open; without it, they may open as a file with fewer rows, and only the
    size and the checksum that were recorded tell. `has_types`: files tell the types of their
    columns; a format without it is a `TypelessFileFormat`.
    """

    positions: Literal["every row", "offset", "by count"] = "every row"
    has_columns: bool = True
    keeps_words: bool = True
    is_written_at_once: bool = False
    survives_damage: bool = True
    has_end: bool = True
    has_types: bool = True

    @property
    def has_positions(self) -> bool:
        """True when every row says where it comes from, so that rows of any files can be mixed."""
        return self.positions == "every row"


@dataclass(frozen=True, slots=True)
class TableClause:
    """How a dialect of SQL names the format, such as `STORED AS ORC`.

    `types` are the kinds of columns that the dialect spells otherwise for such files; `kafka_ms` is
    Kafka's time, which is as a `timestamp_us` unless it is told apart. `names` gives
    the names that files have for columns, or for the members of a struct, where a format cannot
    write them all as they are.
    """

    words: str
    types: Mapping[str, str] = field(default_factory=dict)
    names: Callable[[Sequence[str]], Sequence[str]] = list


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write one file. `words` go into it, `advice` is what `FileFormat.advice` gave."""

    compression: str
    words: Mapping[str, str] = field(default_factory=dict)
    advice: object | None = None


class ByteStream(Protocol):
    """Where a file goes. What `write` raises is passed on."""

    def write(self, data: bytes, /) -> int:
        """Append bytes; returns how many."""
        ...


class FileWriter(Protocol):
    """A file being written. Used by one thread of one task attempt."""

    def write(self, rows: pa.Table) -> None:
        """Append rows, which keep their order; every call has the same columns."""
        ...

    def finish(self) -> None:
        """Write the rest. The file is whole then; the stream stays open."""
        ...


class FileReader(Protocol):
    """An open file. Used by one thread; whoever opened the bytes closes them."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of its rows."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """What the file says about itself; empty where the format keeps no words."""
        ...

    def pieces(
        self, columns: Sequence[str], most_rows: int = PIECE_ROWS, most_bytes: int = PIECE_BYTES
    ) -> Iterator[pa.RecordBatch]:
        """These columns of all rows in their order, at most `most_rows` at a time.

        A piece has about as many rows as take `most_bytes` in memory by the mean of those around
        them, and at least one. Nothing else of the file is held. Raises `FileUnreadable`; what the
        bytes' own `read` raises, such as `StoreUnavailable`, is passed on as it is.
        """
        ...


class FileFormat(Protocol):
    """A file format. Immutable; pickles by reference; safe to share between threads."""

    @property
    def name(self) -> str:
        """The word for it in configurations and journals: small letters."""
        ...

    @property
    def traits(self) -> FormatTraits:
        """What others must know of it."""
        ...

    @property
    def suffixes(self) -> Mapping[str, str]:
        """How names of files end, without the dot, by the word for each compression it takes.

        The first is the usual one of a format that does not take zstd.
        """
        ...

    @property
    def endings(self) -> tuple[str, ...]:
        """The ends of names by which its files are recognised, with the dot."""
        ...

    @property
    def table_clauses(self) -> Mapping[str, TableClause]:
        """The clause of `CREATE TABLE` by dialect; without one the dialect cannot read it."""
        ...

    def refused(self, rows: pa.RecordBatch, kafka_ms: npt.NDArray[np.int64]) -> Sequence[BadRecord]:
        """The rows that no file of this format can hold, each once, in order.

        `rows` have the event's columns, or `VALUE` and `KEY`, and `kafka_ms` Kafka's time of each,
        which becomes the column `_timestamp`. They go to the quarantine, alone.
        """
        ...

    def advice(
        self, dataset: tuple[str, str], rows: pa.RecordBatch, compression: str
    ) -> object | None:
        """How files of a dataset are best written, judged by some of its rows.

        `dataset` is the feed and the dataset. None: nothing to say, or too few rows; then later
        rows are shown. It may change the size and the speed of files, never what they hold.
        """
        ...

    def begin(self, stream: ByteStream, schema: pa.Schema, options: WriteOptions) -> FileWriter:
        """Begin a file in a stream. Bytes that are not finished must not open, see `has_end`."""
        ...

    def open(self, file: BinaryIO, as_dictionaries: Sequence[str] = ()) -> FileReader:
        """A file with what describes it read, and nothing else. Raises `FileUnreadable`.

        Of `as_dictionaries`, text columns with few distinct values may come as such.
        """
        ...


class TypelessFileFormat(FileFormat, Protocol):
    """A file format whose files do not tell the types of their columns, such as lines of JSON.

    What `open` gives has Penstock's own columns in their types, which is all that an audit asks
    for, and all others as texts.
    """

    def open_as(self, file: BinaryIO, schema: pa.Schema) -> FileReader:
        """A file whose rows come with the columns that were written, in the types of a schema."""
        ...

    def begin_as_read(
        self, stream: ByteStream, schema: pa.Schema, options: WriteOptions
    ) -> FileWriter:
        """Begin a file of rows as `open` gives them: texts of values are written as they are."""
        ...
