"""What every source must give: where the records of a feed come from.

A source knows its records by topic, partition and offset. It says what there is, and hands the
records of exact ranges to tasks; it neither plans windows nor writes files, and keeps no position
of its own: what was delivered stands in the feed's journal alone.

A feed names its source; Kafka is the one without a name:

    source: {plugin: tape, options: {directory: /data/tapes}}

What only some sources can do is a protocol of its own below. A caller asks for it with
`isinstance`, and does without where the answer is no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from penstock.errors import PenstockError
from penstock.model.ranges import OffsetRange
from penstock.model.spec import FeedSpec
from penstock.model.value import Value
from penstock.model.window import Available, Place

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.api.record_columns import RECORD_COLUMNS, TOPIC_COLUMN

__all__ = [
    "ANY_SIZE",
    "AT_WATERMARKS",
    "LEAST_READ",
    "MOST_KEPT",
    "RECORD_COLUMNS",
    "REPORT",
    "TOPIC_COLUMN",
    "CancelsReads",
    "ChecksAbsence",
    "ExportsLag",
    "HashesLastRecords",
    "KeepsValue",
    "OpensSource",
    "ReadFailed",
    "ReadRequest",
    "ReadTooMuch",
    "ResolvesStarts",
    "RunsTasks",
    "Source",
    "SourceTools",
    "SourceUnavailable",
    "Task",
    "TellsRetention",
]

REPORT = "report"  # the one column of what a task returns, of type binary
AT_WATERMARKS = "at the watermarks"  # the name of the read that hashes last records
LEAST_READ = 1_000  # records of one read that no source may call too much
MOST_KEPT = 4_096  # characters that a source may keep with a window
ANY_SIZE = 2**31 - 1  # as `largest_bytes`: no record is larger, so none may come without contents
_OF_ARROW = frozenset({"RECORD_COLUMNS", "TOPIC_COLUMN"})


class Task(Protocol):
    """Batches of records in, batches with the column `report` out.

    Runs where the source runs tasks, and must pickle by value: it is made on the driver and called
    on executors, once per attempt.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch], /) -> Iterable[pa.RecordBatch]:
        """Read all batches of one task."""
        ...


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """`RECORD_COLUMNS` and `TOPIC_COLUMN`: whoever asks for them has Arrow at hand."""
        if name not in _OF_ARROW:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("penstock.api.record_columns"), name)


class SourceUnavailable(PenstockError):
    """The source did not answer, or refused access. Nothing was read and nothing changed.

    A kind of source may have a class of its own, with a code and a piece of advice.
    """

    code = "SOURCE_UNAVAILABLE"
    remedy: ClassVar[str] = "Check that it runs and gives access; then run again."
    while_reading = False  # True: `look` had worked, so that it works again proves nothing

    def __init__(self, source: str, why: str) -> None:
        super().__init__(f"{source} did not answer: {why}.", f"Nothing was read. {self.remedy}")


class ReadFailed(PenstockError):
    """The reading job failed; whatever it staged is invisible and will be removed.

    Nothing counts of such a read. Some of its tasks may have run to their end, and some may still
    be running: what they wrote is told from other attempts by its name.
    """

    code = "READ_FAILED"

    def __init__(self, window: str, why: str) -> None:
        super().__init__(
            f"The job that reads window {window} failed: {why}.",
            "Nothing became visible and the watermark did not move. Remove the cause and run "
            "again. If records are gone from the source, the next run reports them as a gap.",
        )
        self.window, self.why = window, why


class ReadTooMuch(ReadFailed):
    """The source can hand out these records, but only a few at a time.

    `LEAST_READ` records or fewer are never too much. The caller tries again with fewer.
    """

    code = "READ_TOO_MUCH"


class ReadRequest(Value, frozen=True):
    """The records to hand out: those of `ranges`, of which no two are of one partition.

    `name` stands in messages: the window's id, mostly. `largest_bytes` is the size of the largest
    record of recent windows, 0 if nobody knows. A source may rely on it, and hand out a record
    that is much larger without its contents, with the partition `TOO_LARGE`: its task then reports
    nothing, and the caller reads again with `ANY_SIZE`. `tasks` are the ranges of each task: it
    gets all of them and no others. Empty: each range goes to a task as the source sees fit.
    """

    name: str
    ranges: tuple[OffsetRange, ...]
    largest_bytes: int = 0
    tasks: tuple[tuple[OffsetRange, ...], ...] = ()


class Source(Protocol):
    """Where the records of one feed come from.

    Driver only, and used by one thread, that of its feed. It is made without waiting for anything,
    since a journal is folded while Spark starts: the first call waits. Sources of other feeds are
    used at the same time, so what they share has to be safe for several threads.
    """

    @property
    def kind(self) -> str:
        """The name of this kind of source, such as `kafka`. The same in every run."""
        ...

    def look(self) -> Available:
        """What there is to read now. Asked afresh at every call, twice per window and while idle.

        `cluster_id` is the identity of the source, and every topic has an id that no topic of the
        same name had before. Offsets are those that may be read: committed, from the start of the
        log to its end. Partitions that cannot be read now are in `unreadable`, with a reason, and
        nowhere else; topics that are gone are absent. Changes nothing; safe to repeat. Raises
        `SourceUnavailable`.
        """
        ...

    def read(self, request: ReadRequest, task: Task) -> list[bytes]:
        """Run a task over exactly the records of some ranges; what successful attempts report.

        Called once per window, and again when something new was learned. Every range goes to one
        task as a whole, in the order of offsets; a task may get several, one after the other, in
        any order. Where the request has `tasks`, these are the tasks. Batches have the columns
        `RECORD_COLUMNS`, and `TOPIC_COLUMN` where the ranges are of several topics. Where the feed
        includes `timestamp_type`, a source that knows it adds a text column of that name. A task
        that fails may be tried again, and a slow one run twice: reports of one attempt each are
        returned, in any order.

        Offsets at which there is no record are skipped. If a record that was there is gone, the
        read fails: it never returns less than there was. Changes nothing in the source, and is
        safe to repeat: the same records come with the same hashes. Raises `ReadFailed`, or its
        kind `ReadTooMuch`, or `SourceUnavailable` if the source refused; tasks may still be running
        afterwards.
        """
        ...

    def close(self) -> None:
        """Let go of connections; does not wait, and does not fail. Safe to repeat."""
        ...


@dataclass(frozen=True, slots=True)
class SourceTools:
    """What a source is made with. `session` waits until Spark is up, and starts it in commands.

    `options` are those of the configuration, with secrets in place: below `source` of the feed, and
    below `kafka` for Kafka. The session is a `SparkSession`; its type is not named here, since this
    room is for all. Whoever does without it keeps commands quick. `tell` shows the user a sentence
    about what is waited for, once and within seconds. `options_now` gives the options with secrets
    as they are now, since a secret's file may be replaced while a feed runs; it raises
    `PenstockError` while one is missing. None: they do not change.
    """

    session: Callable[[], Any]
    options: Mapping[str, str] = field(default_factory=dict)
    tell: Callable[[str], None] = lambda _sentence: None
    options_now: Callable[[], Mapping[str, str]] | None = None


class OpensSource(Protocol):
    """What is behind the name of a kind of source. Driver only; called once per feed and run."""

    def __call__(self, feed: FeedSpec, tools: SourceTools, /) -> Source:
        """The source of one feed. Waits for nothing."""
        ...


@runtime_checkable
class RunsTasks(Protocol):
    """A source that knows how many of its tasks can run at once.

    Without it, no two ranges share files. Driver only; asked once per window.
    """

    def tasks_at_once(self) -> int:
        """How many tasks can run at once, 1 or more. Changes nothing."""
        ...


@runtime_checkable
class HashesLastRecords(Protocol):
    """A source that can tell whether a log was cut and filled again below what was delivered.

    Without it that is not noticed. Driver only; asked once, when a feed is claimed.
    """

    def hashes(self, ranges: tuple[OffsetRange, ...]) -> Mapping[OffsetRange, int]:
        """The hash of the record at each of these single offsets, where there still is one.

        The same 64 bits as in the column `hash`, as a number that is not negative. Raises
        `ReadFailed`.
        """
        ...


@runtime_checkable
class ResolvesStarts(Protocol):
    """A source that can tell which of its records is the first at or after a time.

    Without it a feed cannot begin at a time. Driver only; asked once per partition, and the answer
    is written down in the journal.
    """

    def offset_at(self, topic: str, partition: int, time_ms: int) -> int:
        """The first offset at or after a time; the end of the log if none is so late.

        Raises `SourceUnavailable`.
        """
        ...


@runtime_checkable
class ReadsGroupOffsets(Protocol):
    """A source that knows how far its other readers are.

    Without it a feed cannot begin where another reader stopped. Driver only; asked when a feed
    first starts, and by commands.
    """

    def group_offsets(self, group: str) -> Mapping[Place, int]:
        """The next offset that a group of readers would read, of each partition that has one.

        Empty for a group that nobody knows. Changes nothing. Raises `SourceUnavailable`.
        """
        ...


@runtime_checkable
class KeepsValue(Protocol):
    """A source that keeps a short text with every window, such as a cursor or a figure.

    It stands in the window's entry. So it replaces the one before exactly when its window is
    decided, and a window that fails leaves no trace. Driver only, on the feed's thread.
    """

    def recall(self, kept: str) -> None:
        """What was kept with the last decided window; empty if there is none.

        Called after each claim of the feed, before anything is read.
        """
        ...

    def to_keep(self, ranges: tuple[OffsetRange, ...]) -> str:
        """What to keep with a window that was read, with these ranges. At most `MOST_KEPT` long.

        An empty text keeps what was kept before. The window may still fail, and others come then.
        """
        ...


@runtime_checkable
class TellsRetention(Protocol):
    """A source that knows how long its topics keep records.

    Without it nobody is warned by time before records expire. Driver only; asked every ten minutes
    about each topic, right after a look, on the feed's thread.
    """

    def retention_s(self, topics: Sequence[str]) -> Mapping[str, float]:
        """How long records of these topics are kept, in seconds.

        Topics that keep records for ever, and those whose settings may not be read, are left out.
        Raises `SourceUnavailable`.
        """
        ...


@runtime_checkable
class ChecksAbsence(Protocol):
    """A source that can tell a topic that is gone from one that it does not let us see.

    Without it a topic that was read before and is not listed counts as gone. Driver only; asked
    before a feed halts for that, on the feed's thread.
    """

    def check_absent(self, topics: Sequence[str]) -> None:
        """Return only if none of these topics is there. Changes nothing.

        Raises `SourceUnavailable` if we may not see one, or if one is there after all.
        """
        ...


@runtime_checkable
class CancelsReads(Protocol):
    """A source whose reads can be ended early, when they take too long or the run stops.

    Without it a read that does not come back keeps its feed until the process ends. Driver only;
    called from another thread than the feed's, also when nothing is read, and again and again until
    the read has failed: a first call may come before the read has begun.
    """

    def cancel_read(self, name: str) -> None:
        """End the read whose request has this name, and no other; it raises `ReadFailed`.

        The read that hashes last records is called `AT_WATERMARKS`. Does not wait for the end; its
        tasks end soon afterwards, and write nothing that counts.
        """
        ...


@runtime_checkable
class ExportsLag(Protocol):
    """A source that has a place where tools look up how far its readers are.

    Nobody reads it back. Driver only; called after each window, and a failure changes nothing.
    """

    def export_offsets(self, reader: str, offsets: Mapping[Place, int]) -> None:
        """Write down the next offset to read of each partition. Safe to repeat.

        Raises `SourceUnavailable`.
        """
        ...
