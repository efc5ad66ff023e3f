"""The entries of a feed's journal: one body per kind, in the envelope that all books share.

The kinds are a closed set. An entry says what was decided, not which code has to run: steps are
values from a closed set (`model/steps.py`), and there is no class path in an entry.
"""

from typing import TypeAlias

from penstock.model.envelope import Body, Common, Envelope, Sealed
from penstock.model.file_groups import FilePlan
from penstock.model.final_days import Frontier
from penstock.model.lanes import FILES
from penstock.model.manifest import Content, Group, ManifestRef
from penstock.model.ranges import OffsetRange, OffsetSet, TopicPartition
from penstock.model.read_ways import ReadWays
from penstock.model.value import Value
from penstock.model.window_cost import WindowCost

FORMAT = 5  # raised by every change of a class inside entries; see `upgrade_entries`


class Bind(Body, frozen=True, tag="bind"):
    """Entry 0: which cluster this feed reads; the envelope names feed, lake and incarnation.

    `files` is the format of its data files, for ever: no reader reads a directory with two.
    """

    cluster_id: str
    files: str = "parquet"


class PartitionStart(Value, frozen=True):
    """The first offset that will be read from one partition."""

    topic: str
    topic_id: str
    partition: int
    offset: int

    def __post_init__(self) -> None:
        if self.partition < 0 or self.offset < 0:
            raise ValueError(f"not a first offset: {self.offset} of partition {self.partition}")

    @property
    def place(self) -> TopicPartition:
        """The partition that starts."""
        return TopicPartition(self.topic_id, self.partition)


class Start(Body, frozen=True, tag="start"):
    """First offsets, resolved once: a restart must not resolve `latest` again."""

    partitions: tuple[PartitionStart, ...]


class Deciding(Body, frozen=True, kw_only=True):
    """A body with something to publish: its content is inline, packed, or in a manifest object.

    `packed` is the content as JSON, packed (`model/packing.py`); most folds never unpack it.
    """

    window: str
    groups: tuple[Group, ...]
    content: Content | None = None
    manifest: ManifestRef | None = None
    packed: bytes | None = None

    def __post_init__(self) -> None:
        given = [each for each in (self.content, self.manifest, self.packed) if each is not None]
        if len(given) != 1:
            raise ValueError("exactly one of content, packed and manifest must be given")


class LastRecord(Value, frozen=True):
    """The hash of the last record of a range, to detect a log that was rewritten.

    `timestamp_ms` is its own, `largest_ms` the largest of all records of the range, but for those
    that lie after the plan of their window: a wrong clock must not make days complete. -1 where
    there is none, and in formats before 5.
    """

    topic_id: str
    partition: int
    offset: int
    content_hash: int
    timestamp_ms: int = -1
    largest_ms: int = -1


class Counts(Value, frozen=True):
    """How many records were read, the bytes of their keys and values, and what became of them.

    `extra` are the additional rows of records that became several rows; they are counted too.
    No record was larger than `largest_bytes`, with its headers.
    """

    read: int = 0
    written: int = 0
    quarantined: int = 0
    filtered: int = 0
    read_bytes: int = 0
    largest_bytes: int = 0
    extra: int = 0

    @property
    def rows(self) -> int:
        """The number of rows: that of the records, plus the additional rows."""
        return self.read + self.extra

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.read + other.read,
            self.written + other.written,
            self.quarantined + other.quarantined,
            self.filtered + other.filtered,
            self.read_bytes + other.read_bytes,
            max(self.largest_bytes, other.largest_bytes),
            self.extra + other.extra,
        )


class Window(Deciding, frozen=True, kw_only=True, tag="window"):
    """A decided window: these ranges are delivered by these files, and by nothing else.

    `stops` names datasets that it parks, and why, until an operator accepts them. `directories` has
    the directory keys of datasets that no entry before it has recorded, and `settings` what the
    configuration says since this window (`FeedShape.settings`). `ways` says by dataset how records
    were read and what did not fit, as counts; it decides nothing. `config` is the digest of the
    configuration that shaped its rows (`RowConfig`), empty in older formats; `schemas` are the
    versions of the schemas of its files, and `reading` of those that records were read with, where
    they were converted. `cost` is what it took, None in older formats; `kept` are values that
    plug-ins keep with it, by what they are; `refused` counts its quarantined records by dataset and
    reason. None of the three decides anything. `file_plan` says which
    ranges share files, where these are cut, and how they are written. `finalized_at` is the newest
    `finalize` entry that it knows, and `late` the rows by dataset of days or hours that were final
    by then.
    """

    ranges: tuple[OffsetRange, ...]
    counts: Counts
    last_records: tuple[LastRecord, ...] = ()
    schemas: dict[str, int] = {}
    generation: int = 0
    planned_s: float = 0.0
    stops: dict[str, str] = {}
    directories: dict[str, tuple[str, ...]] = {}
    settings: dict[str, str] = {}
    ways: tuple[ReadWays, ...] = ()
    config: str = ""
    reading: dict[str, int] = {}
    cost: WindowCost | None = None
    kept: dict[str, str] = {}
    refused: dict[str, dict[str, int]] = {}
    file_plan: FilePlan = FilePlan()
    finalized_at: int = -1
    late: dict[str, int] = {}


class Gap(Body, frozen=True, tag="gap"):
    """An operator accepted that Kafka no longer has these offsets."""

    range: OffsetRange
    author: str
    reason: str


class Seek(Body, frozen=True, tag="seek"):
    """An operator moved a watermark over offsets that were never delivered."""

    topic: str
    topic_id: str
    partition: int
    from_offset: int
    to_offset: int
    author: str
    reason: str

    @property
    def place(self) -> TopicPartition:
        """The partition whose watermark moves."""
        return TopicPartition(self.topic_id, self.partition)


class Rebind(Body, frozen=True, tag="rebind"):
    """A topic was created again on purpose; reading of the new one starts at these offsets."""

    topic: str
    old_id: str
    new_id: str
    partitions: tuple[PartitionStart, ...]
    author: str
    reason: str


class Park(Body, frozen=True, tag="park"):
    """A lane of a dataset whose steps keep failing is set aside: its groups queue, others go on."""

    dataset: str
    number: int
    reason: str
    lane: str = FILES


class Unpark(Body, frozen=True, tag="unpark"):
    """What is parked of a dataset is tried again, with its queue in order.

    One lane, or all of them if none is named.
    """

    dataset: str
    author: str
    reason: str = ""
    lane: str = ""


class CorrectedFile(Value, frozen=True):
    """An object in the lake with corrected records, in the form of a quarantine's file."""

    key: str
    sha256: str
    size_bytes: int
    records: int


class Corrections(Value, frozen=True):
    """The author of a replay corrected its records: why, and the bytes that they have now.

    The files may also hold corrected records that could not be delivered all the same; these
    stay in the quarantine as they came.
    """

    reason: str
    files: tuple[CorrectedFile, ...]

    @property
    def records(self) -> int:
        """How many corrected records the files hold."""
        return sum(each.records for each in self.files)


class Replay(Deciding, frozen=True, kw_only=True, tag="replay"):
    """Quarantined records were decoded again and delivered; consumes `content.records`.

    `schemas` are the schema versions of its files, by dataset; `directories` as in a window. With
    `corrections` the rows were made of corrected bytes; the quarantine keeps the bytes that came.
    `consumed` is how many records that were, since the content may lie in a manifest. `config`,
    `finalized_at` and `late` as in a window.
    """

    author: str
    schemas: dict[str, int] = {}
    directories: dict[str, tuple[str, ...]] = {}
    corrections: Corrections | None = None
    consumed: int = 0
    config: str = ""
    finalized_at: int = -1
    late: dict[str, int] = {}


class Drop(Body, frozen=True, kw_only=True, tag="drop"):
    """An operator gave up quarantined records; consumes `content.records`."""

    content: Content
    author: str
    reason: str


class Replace(Deciding, frozen=True, kw_only=True, tag="replace"):
    """Staged files of the undone entry `number` were lost and derived again, same content."""

    number: int


class ConsumedGroups(Value, frozen=True):
    """Entries, by number, whose files of one dataset are consumed, all of them or some."""

    dataset: str
    entries: OffsetSet


class Consuming(Deciding, frozen=True, kw_only=True):
    """A body that consumes `content.inputs`: files of groups whose lanes were all done.

    `consumes` names these groups. It is proof that they were done, also when their markers are lost
    and when the content lies in a manifest. Formats 1 to 3 did not have it: None.
    """

    consumes: tuple[ConsumedGroups, ...] | None = None


class Compact(Consuming, frozen=True, kw_only=True, tag="compact"):
    """Files were rewritten into fewer files.

    `value_sum` is the sum of all values of its files, `input_sum` that of its inputs; None if they
    were not taken, as in formats before 5. `author` is who asked for it, and perhaps why; empty in
    these formats.
    """

    author: str = ""
    reason: str = ""
    value_sum: int | None = None
    input_sum: int | None = None


class Retire(Consuming, frozen=True, kw_only=True, tag="retire"):
    """Retention removes files, and delivers nothing."""

    author: str
    reason: str


class Finalize(Deciding, frozen=True, kw_only=True, tag="finalize"):
    """Days, or hours, of datasets are complete as of entry `as_of`, the one before this.

    `frontier` says how far. All that was decided of these datasets until then is visible; what any
    later entry adds before the frontier is late. The content names the directories that get
    their mark.
    """

    as_of: int
    frontier: Frontier
    datasets: tuple[str, ...]
    author: str


class Generation(Consuming, frozen=True, kw_only=True, tag="generation"):
    """Ranges were delivered again as a new generation; consumes old files and quarantine."""

    generation: int
    ranges: tuple[OffsetRange, ...]


FeedBody: TypeAlias = (
    Bind
    | Start
    | Window
    | Gap
    | Seek
    | Rebind
    | Park
    | Unpark
    | Replay
    | Drop
    | Replace
    | Compact
    | Retire
    | Finalize
    | Generation
)
AnyBody: TypeAlias = FeedBody | Common

Entry: TypeAlias = Envelope[FeedBody]
SealedEntry: TypeAlias = Sealed[FeedBody]
