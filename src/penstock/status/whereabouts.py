"""Where a record or a file of a feed is, as values."""

from typing import Literal

from penstock.model.ranges import OffsetRange
from penstock.model.value import Value

RecordFate = Literal[
    "delivered",  # its rows are in live files
    "untold",  # it is in a live file whose rows do not say which records they are, or was filtered
    "quarantined",  # it waits in the quarantine
    "filtered",  # a rule of the configuration left it out, and it was counted
    "no_record",  # Kafka had no record at this offset
    "given_up",  # an operator accepted its loss, skipped it or dropped it
    "retired",  # its files were removed by retention
    "missing",  # it should be in a file, and is not: what an audit is for
    "not_read",  # the feed has not come to it
    "before_start",  # the feed began to read after it
    "never_read",  # the feed has never read this partition
]
FileState = Literal[
    "live",  # readers see it
    "pending",  # decided, and not yet visible
    "compacted",  # its rows are in other files now
    "retired",  # removed by retention
    "missing",  # it should be there, and is not
]
KNOWN_FATES = frozenset(
    {"delivered", "untold", "quarantined", "filtered", "no_record", "given_up", "retired"}
)


class EntryFacts(Value, frozen=True, kw_only=True):
    """An entry that did something to a file or a record; only operators give a reason."""

    kind: str
    entry: int
    at: str
    window: str = ""
    author: str = ""
    reason: str = ""


class FilePlace(Value, frozen=True, kw_only=True):
    """A file in which rows of a record are, or were. `row` is the place in the file, from 0.

    `number` tells several rows of one record apart. `delivered_by` is the entry whose file it is;
    `taken` are the entries that rewrote or removed the file before it, or this one. `problem` says
    why the row is not known.
    """

    dataset: str
    file: str
    state: FileState
    delivered_by: EntryFacts
    row: int | None = None
    number: int = 0
    taken: tuple[EntryFacts, ...] = ()
    problem: str = ""


class QuarantinePlace(Value, frozen=True, kw_only=True):
    """A record in the quarantine; `left_by` is the entry that took it out again."""

    dataset: str
    number: int = 0
    file: str = ""
    row: int | None = None
    reason: str = ""
    fingerprint: str = ""
    left_by: EntryFacts | None = None
    problem: str = ""


class Whereabouts(Value, frozen=True, kw_only=True):
    """What became of one record. A topic that was created again has several with one offset.

    `watermark` is the next offset that the feed reads of the partition.
    """

    topic: str
    topic_id: str
    partition: int
    offset: int
    fate: RecordFate
    watermark: int = 0
    decided_by: EntryFacts | None = None
    rows: tuple[FilePlace, ...] = ()
    quarantined: tuple[QuarantinePlace, ...] = ()


class BackupFile(Value, frozen=True, kw_only=True):
    """A file of a backup feed, and the entry that delivered it."""

    file: str
    state: FileState
    delivered_by: EntryFacts


class Backup(Value, frozen=True, kw_only=True):
    """The files of the backup feed that hold some ranges; `missing` are offsets that it lacks."""

    feed: str
    files: tuple[BackupFile, ...] = ()
    missing: tuple[OffsetRange, ...] = ()


class FileWhereabouts(Value, frozen=True, kw_only=True):
    """What is known of one data file. `taken_by` is the entry that rewrote or removed it."""

    file: str
    dataset: str
    state: FileState
    delivered_by: EntryFacts
    rows: int
    size_bytes: int
    ranges: tuple[OffsetRange, ...]
    schema: int = 0
    taken_by: EntryFacts | None = None
    into: tuple[str, ...] = ()
    backup: Backup | None = None
